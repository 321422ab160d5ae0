"""The builtins of a restricted snippet, as data: real ones, those that look at names, and those that are refused.

The checker on the host reads the same table. Standard library only.
"""

import builtins

from sandbox_image.language.names import words

__all__ = ["EXCEPTIONS", "REAL", "REFUSED", "VETTED"]

REAL = words(
    "abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate "
    "filter float format frozenset hasattr hash hex id int isinstance issubclass iter len list map max memoryview "
    "min next object oct ord pow print property range repr reversed round set slice sorted staticmethod str sum "
    "super tuple zip Ellipsis NotImplemented"
)
"""Python's own: values in, values out. `hasattr` tells one bit."""

VETTED = words("delattr dir eval getattr globals setattr type vars")
"""Ours in their place: they take computed names or text, or give dictionaries of objects."""

EXCEPTIONS = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
)
"""Every exception class that Python has."""

REFUSED = {
    "open": "there are no files: what you need stands in `inputs` or comes from a tool, and results go out by `return`",
    "exec": "write the code itself",
    "compile": "write the code itself; for patterns use re.compile",
    "input": "nobody is there to type: what the caller gave stands in `inputs`",
    "breakpoint": "use print(…): what is printed is shown to you",
    "help": "use print(x.__doc__)",
    "exit": "use `return value` to end the snippet",
    "quit": "use `return value` to end the snippet",
    "locals": "name the variables, or keep them in a dict",
    "copyright": "there is no such thing here",
    "credits": "there is no such thing here",
    "license": "there is no such thing here",
    "__import__": "use an import statement",
    "__builtins__": "name the builtin itself",
    "__build_class__": "use a class statement",
    "__loader__": "there is no such thing here",
    "__spec__": "there is no such thing here",
    "__file__": "a snippet is no file; what it needs stands in `inputs`",
}
"""Builtin → what to write instead."""
