"""Ways out of the language that only show when they are taken: computed names, stored methods, objects in between."""

# ruff: noqa: E501 (a snippet stands on one line)

import pytest

from tests.language.inbox import run

CLASS = "`__class__` cannot be used here; use type(x), or type(x).__name__ for its name"
MRO = "`mro` cannot be used here; no object gives it away"
OBJ = "`obj` of an AttributeError cannot be used here; use e.name or str(e)"

RAISED = {
    "A03 a computed name": ("getattr((), '__cl' + 'ass__')", CLASS),
    "A03 the class tree": ("type(()).mro()", MRO),
    "A03 the class tree by a computed name": ("getattr(type(()), 'm' + 'ro')()", MRO),
    "A03 the class tree by a metaclass": (
        "class M(type):\n    def f(cls): return super().mro()\nclass A(metaclass=M): pass\nA.f()",
        MRO,
    ),
    "A04 a stored bound method": ("f = '{0.__class__}'.format\nf(1)", CLASS),
    "A04 a computed text": ("s = '{0.__cla' + 'ss__}'\ns.format(1)", CLASS),
    "A04 a computed text in format_map": ("s = '{a.__cla' + 'ss__}'\ns.format_map({'a': 1})", CLASS),
    "A04 a computed method": ("s = '{0.__cla' + 'ss__}'\ngetattr(s, 'for' + 'mat')(1)", CLASS),
    "A04 the method of the class": ("list(map(str.format, ['{0.__class__}'], [1]))", CLASS),
    "A04 a string of one's own": (
        "class S(str):\n    def f(self): return super().format(1)\nS('{0.__class__}').f()",
        CLASS,
    ),
    "A04 a Formatter": ("import string\nstring.Formatter().format('{0.__class__}', 1)", CLASS),
    "A04 a partial function": ("import functools\nfunctools.partial(str.format, '{0.__class__}')(1)", CLASS),
    "A04 a method caller": ("import operator\noperator.methodcaller('format', 1)('{0.__class__}')", CLASS),
    "A07 the guarded object": ("try:\n    (1).missing\nexcept AttributeError as e:\n    error = e\nerror.obj", OBJ),
    "A07 by a computed name": (
        "try:\n    (1).missing\nexcept AttributeError as e:\n    error = e\ngetattr(error, 'o' + 'bj')",
        OBJ,
    ),
    "A07 from below": (
        "class E(AttributeError):\n    def get(self): return super().obj\nE('x', obj=1).get()",
        OBJ,
    ),
    "A10 attrgetter": (
        "import operator\nfrom tools import search\noperator.attrgetter('__globals__')(search)",
        "`__globals__` cannot be used here; name the variable itself",
    ),
    "A10 reduce over getattr": ("import functools\nfunctools.reduce(getattr, ['__class__', '__mro__'], ())", CLASS),
    "A10 update_wrapper": (
        "import functools\nfunctools.update_wrapper(lambda: 1, print, assigned=('__self__',))",
        "`assigned` and `updated` can name what functools names itself; set other attributes one by one",
    ),
    "A10 an annotation that is a text": (
        "import functools\n@functools.singledispatch\ndef f(x): pass\n@f.register\ndef g(x: '().__class__'): pass",
        "an annotation that is a text is not evaluated; write @f.register(int)",
    ),
    "A11 a module out of a list": (
        "import json\n[json][0].codecs",
        "module 'json (restricted)' has no attribute 'codecs'",
    ),
    "A11 by a computed name": (
        "import json\ngetattr(json, 'codecs')",
        "module 'json (restricted)' has no attribute 'codecs'",
    ),
    "A22 setattr on a module": (
        "import json\nsetattr(json, 'dumps', 1)",
        "attributes of others cannot be set; this is a module: keep what you need in a variable of your own",
    ),
    "A22 a module out of a list": (
        "import json\nm = [json][0]\nm.dumps = 1",
        "attributes of others cannot be set; this is a module: keep what you need in a variable of your own",
    ),
    "A22 a class of a module": (
        "import json\njson.JSONEncoder.default = 1",
        "attributes of others cannot be set; `JSONEncoder` is not a class of the snippet: derive one from it",
    ),
    "A22 the dictionary of a module": (
        "import json\nvars(json)['dumps'] = 1",
        "`__dict__` can be used on objects of your own classes; `module` is none of them",
    ),
    "a private attribute of others": (
        "import threading\nthreading.current_thread()._bootstrap",
        "names that start with an underscore belong to the one who made the object; `_MainThread` is not a class of the snippet: use its public methods",
    ),
    "a special method by setattr": (
        "class A: pass\nsetattr(A, '__del__', print)",
        "`__del__` cannot be used here; use try … finally, or a with block",
    ),
    "a class by object.__setattr__": ("class A: pass\nobject.__setattr__(A(), '__class__', int)", CLASS),
    "A01 type with three arguments": (
        "type('T', (), {'__del__': print})",
        "the special name `__del__` cannot be defined here; use try … finally, or a with block",
    ),
    "A01 a metaclass that is a function": (
        "def m(n, b, ns):\n    ns['__del__'] = print\n    return type(n, b, ns)\nclass A(metaclass=m): pass",
        "the special name `__del__` cannot be defined here; use try … finally, or a with block",
    ),
    "A01 make_dataclass": (
        "from dataclasses import make_dataclass\nmake_dataclass('X', [('a', int)], namespace={'__del__': 1})",
        "the special name `__del__` cannot be defined here; use try … finally, or a with block",
    ),
    "A12 code in the name of a field": (
        "from dataclasses import dataclass\ndataclass(type('A', (), {'__annotations__': {'a=print(1)': int}}))",
        "`a=print(1)` cannot be the name of a field here",
    ),
    "A12 code in the name of a field of make_dataclass": (
        "from dataclasses import make_dataclass\nmake_dataclass('A', [('a=print(1)', int)])",
        "`a=print(1)` cannot be the name of a field here",
    ),
    "A10 what a vetted class is derived from": (
        "import string\ndef f(): pass\nF = string.Formatter\nsuper(F, F()).get_field('0.__globals__', (f,), {})",
        "`super` begins above a class of your own; write super().name(…) in one of its methods",
    ),
    "A10 the same for a metaclass": (
        "import abc\nM = abc.ABCMeta\nsuper(M, M).__new__(M, 'X', (), {'__getattribute__': print})",
        "`super` begins above a class of your own; write super().name(…) in one of its methods",
    ),
    "A10 the same out of a text": (
        "import string\nF = string.Formatter\ntry:\n    eval('super(F, F())')\nexcept ValueError as e:\n    raise TypeError(str(e))",
        "eval() does not take the name `super`",
    ),
    "A01 a name that lies about itself": (
        "class L(str):\n    def __str__(self): return 'x'\ntype('T', (), {L('__getattribute__'): print})",
        "names of a class are texts, not `L`",
    ),
    "A01 a class out of an annotation": (
        "type[int]('T', (), {'__getattribute__': print})",
        "Type Type cannot be instantiated; use type() instead",
    ),
    "A04 a method handed over by an addition": (
        "class S(str): pass\nclass R:\n    def __radd__(self, other): return other(1)\ns = S('{0.__class__}')\ns.format += R()",
        "`format` cannot be used here; no object gives it away",
    ),
    "A12 fields out of a metaclass": (
        "from dataclasses import dataclass\nclass M(type):\n    def __getattr__(cls, name): return {}\nclass A(metaclass=M): pass\n"
        "@dataclass\nclass B(A): pass",
        "`B` has a metaclass of its own, and cannot be a dataclass here",
    ),
    "A12 fields out of an enum": (
        "from dataclasses import dataclass\nfrom enum import Enum\nclass F: name = 'a=print(1)'\n"
        "E = Enum('E', {'__dataclass_fields__': {'a': F()}})\n@dataclass\nclass B(E): pass",
        "the fields of `E` were not made by dataclasses",
    ),
    "the event loop behind a queue": (
        "import asyncio\nclass Q(asyncio.Queue):\n    def g(self): return self._get_loop()\nasync def m(): return Q().g()\nawait m()",
        "a class cannot be derived from `Queue` here; keep one in an attribute instead",
    ),
    "the event loop behind a task group": (
        "import asyncio\nclass G(asyncio.TaskGroup):\n    def g(self): return self._loop\nG().g()",
        "a class cannot be derived from `TaskGroup` here; keep one in an attribute instead",
    ),
    "the event loop behind a task group made by type": (
        "import asyncio\ntype('G', (asyncio.TaskGroup,), {'g': lambda self: self._loop})().g()",
        "a class cannot be derived from `TaskGroup` here; keep one in an attribute instead",
    ),
    "the event loop behind a task": (
        "import asyncio\nasync def m(): return asyncio.current_task().get_loop().subprocess_exec\nawait m()",
        "'Loop' object has no attribute 'subprocess_exec'",
    ),
}


@pytest.mark.parametrize("name", RAISED)
def test_is_refused_when_it_is_tried(name):
    """The snippet gets an exception that says what it cannot have and what to write instead."""
    source, sentence = RAISED[name]
    with pytest.raises((AttributeError, TypeError)) as caught:
        run(source)
    assert str(caught.value) == sentence


def test_a_star_import_gives_no_module():
    """A11: `from uuid import *` binds what the façade lists, and `os` is not in it."""
    assert (
        run("from uuid import *\ntry:\n    os\nexcept NameError as e:\n    said = str(e)\nsaid")
        == "name 'os' is not defined"
    )


def test_annotations_are_a_copy():
    """A12: what dataclasses write code of cannot be changed behind their back."""
    source = "from dataclasses import dataclass\nclass A:\n    x: int = 1\nA.__annotations__['y=print(1)'] = int\nlist(dataclass(A).__annotations__)"
    assert run(source) == ["x"]


def test_an_alias_or_a_computed_name_finds_no_tool():
    """A23: a tool that is not listed has no name in the box, however it is spelt; the host decides by identity besides."""
    with pytest.raises(NameError) as caught:
        run("f = delete_user\nf(id=1)")
    assert str(caught.value) == "name 'delete_user' is not defined"
