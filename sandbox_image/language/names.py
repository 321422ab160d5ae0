"""Names that the language knows, as data: the checker on the host and the guards in the box read the same table.

A name in a snippet is one of: plain, private (starts with an underscore), special (two on both sides), guarded (plain
text, but what it gives depends on the object) or opaque (never read: frames, code, tracebacks).
"""

import re

__all__ = [
    "AUGMENT",
    "CHANGEABLE",
    "DEFINABLE",
    "GUARDED",
    "LIBRARY_PRIVATE",
    "MATCH",
    "OPAQUE",
    "OWN",
    "READ",
    "READABLE",
    "RESERVED",
    "STAR",
    "SUBSTITUTES",
    "SUPER",
    "TYPE",
    "VALUE",
    "WRITE",
    "is_special",
    "words",
]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


OWN, WRITE, AUGMENT, READ, MATCH = "<own>", "<write>", "<augment>", "<read>", "<match>"
STAR, TYPE, SUPER = "<star>", "<type>", "<super>"
"""Where the compiled snippet finds its guards: no source can spell these, so none can shadow or call them (A09)."""
VALUE = "__value__"
"""Where it finds the function that gives the value of a promise."""

OPAQUE = words(
    "tb_frame tb_next tb_lasti tb_lineno f_back f_builtins f_code f_generator f_globals f_lasti f_lineno f_locals "
    "f_trace f_trace_lines f_trace_opcodes co_code co_consts co_names co_varnames co_freevars co_cellvars "
    "co_filename co_lines co_positions co_exceptiontable gi_frame gi_code gi_yieldfrom cr_await cr_frame cr_code "
    "cr_origin ag_await ag_frame ag_code func_globals func_code get_stack print_stack"
)
"""What leads from a generator, coroutine, traceback or task to a frame, and from a frame to everything."""

GUARDED = {
    "format": "on a text its field paths read attributes",
    "format_map": "on a text its field paths read attributes",
    "mro": "on a class it walks to every other class",
    "obj": "on an AttributeError it is the object that a guard was hiding",
    "now": "on datetime it must be the run's clock, not the machine's",
    "utcnow": "on datetime it must be the run's clock, not the machine's",
    "get_loop": "on a task it is the box's own event loop",
    "__dict__": "on objects of the snippet's own classes alone",
    "__annotations__": "on functions and classes of the snippet alone",
    "__setattr__": "takes a computed name",
    "__delattr__": "takes a computed name",
}
"""Attribute → why it is looked at when it is used; the same names on other objects stay what they are (A07)."""

_OPERATORS = (
    "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor radd rsub rmul rmatmul rtruediv "
    "rfloordiv rmod rdivmod rpow rlshift rrshift rand ror rxor iadd isub imul imatmul itruediv ifloordiv imod ipow "
    "ilshift irshift iand ior ixor neg pos abs invert lt le eq ne gt ge"
)
_PROTOCOLS = (
    "init new post_init call len length_hint iter next reversed contains getitem setitem delitem missing enter exit "
    "aenter aexit aiter anext await hash bool int float complex index round trunc floor ceil str repr bytes format "
    "copy deepcopy init_subclass class_getitem set_name replace"
)
_COMMON = frozenset(f"__{name}__" for name in words(f"{_OPERATORS} {_PROTOCOLS}"))

DEFINABLE = _COMMON | words(
    "__slots__ __match_args__ __doc__ __get__ __set__ __delete__ __getattr__ __setattr__ __delattr__ __fspath__ "
    "__sizeof__ __dir__"
)
"""Special names that a class body may define."""

READABLE = _COMMON | words(
    "__name__ __qualname__ __module__ __doc__ __members__ __cause__ __context__ __suppress_context__ __notes__ "
    "__wrapped__ __version__ __match_args__ __slots__ __required_keys__ __optional_keys__ "
    "__total__"
)
"""Special attributes that lead nowhere on any object."""

CHANGEABLE = (_COMMON - {"__new__"}) | frozenset(("__name__", "__qualname__", "__doc__", "__wrapped__", "__cause__"))
"""Special attributes that may be set, on what the snippet made itself."""

SUBSTITUTES = {
    "__class__": "use type(x), or type(x).__name__ for its name",
    "__bases__": "use isinstance(x, Base) or issubclass(A, Base)",
    "__base__": "use isinstance(x, Base) or issubclass(A, Base)",
    "__mro__": "use isinstance(x, Base) or issubclass(A, Base)",
    "__subclasses__": "keep a list of your classes yourself",
    "__globals__": "name the variable itself",
    "__builtins__": "name the builtin itself",
    "__import__": "use an import statement",
    "__traceback__": "use str(e), or traceback.format_exc()",
    "__del__": "use try … finally, or a with block",
    "__reduce__": "use dataclasses.asdict or a method of your own",
    "__reduce_ex__": "use dataclasses.asdict or a method of your own",
    "__getstate__": "use dataclasses.asdict or a method of your own",
    "__setstate__": "use dataclasses.asdict or a method of your own",
    "__getattribute__": "use __getattr__, which is called for missing attributes",
    "__instancecheck__": "use isinstance(x, Base), or a function of your own",
    "__subclasscheck__": "use issubclass(A, Base), or a function of your own",
    "__file__": "a snippet is no file; what it needs stands in `inputs`",
    "__dict__": "use vars(x) on objects of your own classes",
    "__dataclass_fields__": "use dataclasses.fields(x)",
    "__self__": "keep the object in a variable",
    "__func__": "name the function itself",
    "__code__": "no way round: code is not data here",
    "__getattr__": "use getattr(x, name)",
    "__get__": "call the function itself",
    "tb_lineno": "use traceback.format_exc()",
    "tb_frame": "use traceback.format_exc()",
}
"""What to write instead of a name that is refused."""

LIBRARY_PRIVATE = words("_asdict _fields _replace _make _field_defaults _name_ _value_ _missing_ _generate_next_value_")
"""Names with an underscore that the standard library documents: named tuples and enums."""

RESERVED = re.compile(r"_[a-z][a-z_]*[a-z]_")
"""Names of this form are guards in other dialects of restricted Python; refused but for the documented ones (A09)."""


def is_special(name: str) -> bool:
    """Whether Python gives the name a meaning of its own: `__x__`."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")
