"""Ways out of the language that the check names before anything runs: kind (a), with the line and the way on."""

# ruff: noqa: E501 (a snippet stands on one line)

import pytest

from tests.language.inbox import faults

IMPORTS = ("json", "math")

REFUSED = {
    "A01 a method that fires later": (
        "from tools import send_mail\nclass T:\n    def __del__(self): send_mail(to='x', body='late')\nkeep = [T()]",
        ["line 3:5: the special method `__del__` cannot be defined (use try … finally, or a with block)"],
    ),
    "A01 by assignment in the body": (
        "class T:\n    __del__ = print",
        ["line 2:5: the special method `__del__` cannot be defined (use try … finally, or a with block)"],
    ),
    "A01 by assignment to the class": (
        "class T: pass\nT.__del__ = print",
        ["line 2:1: the attribute `__del__` is not available (use try … finally, or a with block)"],
    ),
    "A01 by a loop in the body": (
        "class T:\n    for __del__ in [print]: pass",
        ["line 2:9: the special method `__del__` cannot be defined (use try … finally, or a with block)"],
    ),
    "A01 by an import in the body": (
        "class T:\n    import math as __del__",
        ["line 2:12: the special name `__del__` cannot be defined (use try … finally, or a with block)"],
    ),
    "A02 native code": (
        "import ctypes\nctypes.CDLL(None).system(b'id')",
        [
            "line 1:8: module `ctypes` is not in the contract's imports (there is no native code here; allowed: json, math)"
        ],
    ),
    "A04 a field path": (
        "'{0.__class__.__mro__}'.format(1)",
        ["line 1:1: a format field reads the attribute `__class__` (use type(x), or type(x).__name__ for its name)"],
    ),
    "A04 a field path in format_map": (
        "'{a.__init__}'.format_map({'a': 1})",
        ["line 1:1: a format field reads the attribute `__init__` (use the object's public methods)"],
    ),
    "A04 a field path in a specification": (
        "'{0:{1.__class__}}'.format(1, 2)",
        ["line 1:1: a format field reads the attribute `__class__` (use type(x), or type(x).__name__ for its name)"],
    ),
    "A06 except*": (
        "try:\n    f()\nexcept* ValueError:\n    pass",
        [
            "line 3:1: except* is not allowed: its groups have confused types before (use `except`, and for a group look at e.exceptions)"
        ],
    ),
    "A07 by a pattern": (
        "match 1:\n    case AttributeError(obj=o):\n        pass",
        [
            "line 2:10: a pattern cannot read the attribute `obj` (match the object, and read the attribute below the case)"
        ],
    ),
    "A09 a parameter called like a guard": (
        "def f(_getattr_, /):\n    return x.secret",
        ["line 1:7: names of the form `_getattr_` are reserved (call it `getattr`)"],
    ),
    "A10 operator where it is not listed": (
        "import operator",
        ["line 1:8: module `operator` is not in the contract's imports (allowed: json, math)"],
    ),
    "A11 a module behind a module": (
        "import json\njson.codecs.builtins.exec('1')",
        [
            "line 2:1: module `json` has no `codecs` in the restricted language (it has: JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads)"
        ],
    ),
    "A11 from a module": (
        "from json import codecs",
        [
            "line 1:18: module `json` has no `codecs` in the restricted language (it has: JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads)"
        ],
    ),
    "A11 under another name": (
        "import json as j\nj.codecs",
        [
            "line 2:1: module `json` has no `codecs` in the restricted language (it has: JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads)"
        ],
    ),
    "A12 builtins of a module": (
        "import math\nmath.__builtins__['exec']('1')",
        ["line 2:1: the attribute `__builtins__` is not available (name the builtin itself)"],
    ),
    "A14 the whole program": (
        "from tools import search\nsearch('a')\nimport os\nos.system('ls')",
        [
            "line 3:8: module `os` is not in the contract's imports (there are no files and no processes; time and chance come from `time` and `random`; allowed: json, math)"
        ],
    ),
    "A18 the class tree": (
        "[].__class__.__base__.__subclasses__()",
        [
            "line 1:1: the attribute `__subclasses__` is not available (keep a list of your classes yourself)",
            "line 1:1: the attribute `__base__` is not available (use isinstance(x, Base) or issubclass(A, Base))",
            "line 1:1: the attribute `__class__` is not available (use type(x), or type(x).__name__ for its name)",
        ],
    ),
    "A19 the canary": (
        "().__class__",
        ["line 1:1: the attribute `__class__` is not available (use type(x), or type(x).__name__ for its name)"],
    ),
    "A22 a module is written to": (
        "import json\njson.dumps = lambda *a, **k: 'evil'",
        ["line 2:1: `dumps` of the module `json` cannot be set (keep what you need in a variable of your own)"],
    ),
    "a frame behind a generator": (
        "(x for x in [1]).gi_frame",
        ["line 1:1: the attribute `gi_frame` is not available (use the object's public methods)"],
    ),
    "a frame behind an exception": (
        "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__",
        ["line 4:5: the attribute `__traceback__` is not available (use str(e), or traceback.format_exc())"],
    ),
    "the globals of a function": (
        "def f(): pass\nf.__globals__",
        ["line 2:1: the attribute `__globals__` is not available (name the variable itself)"],
    ),
    "the code of a function": (
        "def f(): pass\nf.__code__",
        ["line 2:1: the attribute `__code__` is not available (no way round: code is not data here)"],
    ),
    "the import function": ("__import__('os')", ["line 1:1: `__import__` is not available (use an import statement)"]),
    "the builtins": ("__builtins__", ["line 1:1: `__builtins__` is not available (name the builtin itself)"]),
    "exec": ("exec('1')", ["line 1:1: `exec` is not available (write the code itself)"]),
    "open": (
        "open('/etc/passwd')",
        [
            "line 1:1: `open` is not available (there are no files: what you need stands in `inputs` or comes from a tool, and results go out by `return`)"
        ],
    ),
    "an attribute that answers for all": (
        "class A:\n    def __getattribute__(self, n): return 1",
        [
            "line 2:5: the special method `__getattribute__` cannot be defined (use __getattr__, which is called for missing attributes)"
        ],
    ),
    "A10 super that is handed on": (
        "x = super",
        ["line 1:5: `super` can only be called (write super().name(…))"],
    ),
    "A10 super as a base": (
        "class S(super): pass",
        ["line 1:9: `super` can only be called (write super().name(…))"],
    ),
    "a class that says it is another": (
        "class A:\n    __class__ = property(lambda s: int)",
        ["line 2:5: the special method `__class__` cannot be defined (use type(x), or type(x).__name__ for its name)"],
    ),
    "every fault, in the order of the text": (
        "import os\nx = ().__class__\nopen('a')",
        [
            "line 1:8: module `os` is not in the contract's imports (there are no files and no processes; time and chance come from `time` and `random`; allowed: json, math)",
            "line 2:5: the attribute `__class__` is not available (use type(x), or type(x).__name__ for its name)",
            "line 3:1: `open` is not available (there are no files: what you need stands in `inputs` or comes from a tool, and results go out by `return`)",
        ],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_its_place_and_a_way_on(name):
    """Nothing runs, and the sentence says line, column, what, and what to write instead."""
    source, sentences = REFUSED[name]
    assert faults(source, imports=IMPORTS) == sentences
