"""Ways out that need two or three of the language's own parts together; each was open once, or is open in others."""

# ruff: noqa: E501 (a snippet stands on one line)

import pytest

from tests.language.inbox import run

CLASS = "`__class__` cannot be used here; use type(x), or type(x).__name__ for its name"
DEL = "the special name `__del__` cannot be defined here; use try … finally, or a with block"

WAYS = {
    "A04 a format string behind a generic alias": ("type(list[int])('{0.__class__}', int).format(1)", CLASS),
    "A12 code in a field's name, by a typed dict": (
        "from dataclasses import dataclass\nfrom typing import TypedDict\ndataclass(TypedDict('T', {'a=print(1)': int}))",
        "`a=print(1)` cannot be the name of a field here",
    ),
    "A12 code in a field's name, by a class of fields": (
        "from dataclasses import field\nclass F(type(field())):\n    name = 'a=print(1)'",
        "a class cannot be derived from `Field` here; keep one in an attribute instead",
    ),
    "A22 a class of a module made a dataclass": (
        "import collections, dataclasses\ndataclasses.dataclass(collections.Counter)",
        "attributes of others cannot be set; `Counter` is not a class of the snippet: derive one from it",
    ),
    "A22 a class of a module given an order": (
        "import collections, functools\nfunctools.total_ordering(collections.UserDict)",
        "attributes of others cannot be set; `UserDict` is not a class of the snippet: derive one from it",
    ),
    "a field of a dataclass renamed": (
        "from dataclasses import dataclass, fields\n@dataclass\nclass P:\n    x: int\nfields(P)[0].name = '__class__'",
        "attributes of others cannot be set; `Field` is not a class of the snippet: use its public methods",
    ),
    "a special name through vars": (
        "class A: pass\na = A()\nvars(a)['__reduce_ex__'] = print",
        "`__reduce_ex__` cannot be used here; use dataclasses.asdict or a method of your own",
    ),
    "the positions of a match, computed": (
        "C = type('C', (), {'__match_args__': ('__class__',)})\nmatch C():\n    case C(x): x",
        CLASS,
    ),
    "the positions of a match, of an enum": (
        "from enum import Enum\nE = Enum('E', {'A': 1, '__match_args__': ('__class__',)})\nmatch E.A:\n    case E(x): x",
        CLASS,
    ),
    "the class of classes, through cls": (
        "class C:\n    @classmethod\n    def f(cls): return cls.__class__\nC.f()('T', (), {'__del__': 1})",
        DEL,
    ),
    "the class of classes, through a comparison": (
        "class S:\n    def __eq__(self, other):\n        self.other = other\n        return True\ns = S()\ntype(int) == s\ns.other('T', (), {'__del__': 1})",
        DEL,
    ),
    "the class of classes, through typing": (
        "import typing\ntyping.get_origin(typing.Type[int])('T', (), {'__del__': 1})",
        DEL,
    ),
    "a call inside eval": ("eval('getattr(1, \"__class__\")')", CLASS),
    "a frame that is no snippet's, through eval": (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as pool:\n    pool.submit(eval, 'work_item').result()",
        "name 'work_item' is not defined",
    ),
    "the event loop behind a mixed enum": (
        "import asyncio, enum\nE = enum.Enum('E', [('A', 3)], type=asyncio.Queue)\nE.A._get_loop",
        "names that start with an underscore belong to the one who made the object; `E` is not a class of the snippet: use its public methods",
    ),
    "the stream that is redirected, renamed": (
        "import contextlib\nclass R(contextlib.redirect_stdout):\n    _stream = 'modules'",
        "function() argument 'code' must be code, not str",
    ),
    "a traceback through a context manager": (
        "class C:\n    def __enter__(self): pass\n    def __exit__(self, kind, error, trace):\n        getattr(trace, 'tb_' + 'frame')\nwith C():\n    1 / 0",
        "`tb_frame` cannot be used here; use traceback.format_exc()",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_is_closed(way):
    """The snippet gets an exception that says what it cannot have."""
    source, sentence = WAYS[way]
    with pytest.raises((AttributeError, TypeError, NameError)) as caught:
        run(source)
    assert str(caught.value) == sentence


def test_how_an_object_is_copied_is_said_by_its_class():
    """An attribute that looks like a method of copying is one that is copied."""
    source = "import copy, json, types\nn = types.SimpleNamespace(__reduce_ex__=lambda p: (lambda: json, ()))\ncopy.copy(n) == n"
    assert run(source) is True


def test_wrapping_copies_no_special_name():
    """functools.wraps takes over a function's attributes, and none that Python would look for."""
    source = (
        "import functools, types\n"
        "wrapped = types.SimpleNamespace(__reduce_ex__=print, __name__='f', kept=1)\n"
        "made = functools.update_wrapper(functools.partial(print), wrapped, assigned=())\n"
        "[made.kept, hasattr(made, '__wrapped__')]"
    )
    assert run(source) == [1, True]


def test_self_is_trusted_only_where_nothing_binds_it_anew():
    """A method whose `self` is something else gets the guard at every use."""
    source = (
        "import threading\n"
        "class C:\n"
        "    def f(self):\n"
        "        def change():\n"
        "            nonlocal self\n"
        "            self = threading.current_thread()\n"
        "        change()\n"
        "        return self._target\n"
        "C().f()"
    )
    with pytest.raises(AttributeError) as caught:
        run(source)
    assert str(caught.value) == (
        "names that start with an underscore belong to the one who made the object; "
        "`_MainThread` is not a class of the snippet: use its public methods"
    )


def test_a_method_called_with_something_else_as_self():
    """The guard at a method's start is there for callers that pass another object."""
    source = "class C:\n    def f(self): return self._x\nC.f(print)"
    with pytest.raises(AttributeError) as caught:
        run(source)
    assert str(caught.value) == (
        "names that start with an underscore belong to the one who made the object; "
        "`builtin_function_or_method` is not a class of the snippet: use its public methods"
    )
