"""Idioms that models write: each gives in the restricted language what it gives in plain Python, to the last value."""

# ruff: noqa: E501 (a snippet stands on one line)

import pytest

from tests.language.inbox import PLAIN, RESTRICTED, run

IDIOMS = {
    "types of types": "isinstance(int, type), isinstance(3, type), issubclass(bool, int), type(int) is type, type(3) == int, str(type(type))",
    "type in annotations": "def f(x: type, y: type[int] | None = None) -> type: return x\nf(int)",
    "types as keys": "{int: 1, type('a'): 2}[str]",
    "a metaclass of an abstract class": "from abc import ABC, ABCMeta\nclass M(ABCMeta):\n    def __new__(m, n, b, d): return super().__new__(m, n, b, d)\nclass A(metaclass=M): pass\ntype(A()).__name__",
    "attributes from keywords": "class A:\n    def __init__(self, **k): self.__dict__.update(k)\nA(x=3).x",
    "the class of self": "class A:\n    def f(self): return self.__class__.__name__, type(self).__name__, self.__class__(), isinstance(self, self.__class__)\nA().f()[0]",
    "a singleton by __new__": "class A:\n    _inst = None\n    def __new__(cls, *a):\n        if cls._inst is None: cls._inst = super().__new__(cls)\n        return cls._inst\nA() is A()",
    "a list of one's own": "class L(list):\n    def __init__(self, *a):\n        super().__init__(*a)\n        self._n = 1\nL([1])._n",
    "context managers": "from contextlib import contextmanager, suppress\n@contextmanager\ndef c():\n    yield 1\nwith c() as x, suppress(ValueError): pass\nx",
    "a class in a class": "class A:\n    class B:\n        _z = 2\n    def g(self): return self.B._z\nA().g()",
    "a decorator that is a class": "import functools\nclass D:\n    def __init__(self, f):\n        functools.update_wrapper(self, f)\n        self._f = f\n    def __call__(self, *a): return self._f(*a)\n@D\ndef f(x): return x\nf(3)",
    "private attributes of another of one's own": "class A:\n    def __init__(self): self._v = 1\n    def __eq__(self, other): return self._v == other._v\nA() == A()",
    "json with default": "import json, datetime\njson.dumps({'a': datetime.date(2024,1,1)}, default=str)",
    "a json encoder": "import json\nclass E(json.JSONEncoder):\n    def default(self, o): return 'x'\njson.dumps(object(), cls=E)",
    "a thread of one's own": "import threading\nclass T(threading.Thread):\n    def __init__(self):\n        super().__init__()\n        self._out = None\n    def run(self): self._out = 5\nt=T(); t.start(); t.join(); t._out",
    "an exception with a private attribute": "class E(Exception):\n    def __init__(self, m, *, code=1):\n        super().__init__(m); self._code = code\ntry: raise E('x', code=2)\nexcept E as e: r = e._code\nr",
    "an ordered dict of one's own": "from collections import OrderedDict\nclass LRU(OrderedDict):\n    def __init__(self, n): super().__init__(); self._n = n\n    def __getitem__(self, k):\n        self.move_to_end(k); return super().__getitem__(k)\nl=LRU(2); l['a']=1; l['a']",
    "containers": "from collections import deque, Counter, defaultdict\nd = defaultdict(lambda: defaultdict(int)); d['a']['b'] += 1\n[dict(d['a']), Counter('aab').most_common(1), deque([1,2], maxlen=1)[0]]",
    "a global counter": "n = 0\ndef f():\n    global n\n    n += 1\nf(); f(); n",
    "sys.exit that is caught": "import sys\ntry: sys.exit(3)\nexcept SystemExit as e: r = e.code\nr",
    "times with a zone": "from datetime import datetime, timedelta, timezone\n(datetime(2024,1,1,tzinfo=timezone.utc)+timedelta(days=1)).isoformat()",
    "partial and reduce": "from functools import partial, reduce\nimport operator\n[partial(pow, 2)(3), reduce(operator.mul, [1,2,3])]",
    "methods of texts": "'a,b'.split(',') + ['%s' % 1, 'x'.center(3), 'A'.casefold()]",
    "bytes": "b'ab'.hex(), bytes.fromhex('6162'), int.from_bytes(b'a','big')",
    "finally after return": "def f():\n    try: return 1\n    finally: pass\nf()",
    "stars": "def f(*args, **kwargs): return args, kwargs\nf(*[1], **{'a': 2})",
    "merged dicts": "{'a': 1} | {'b': 2}, {**{'a': 1}, 'c': 3}, [*range(2)]",
    "typing by star": "from typing import *\ndef f(x: Dict[str, List[int]], y: 'Optional[int]' = None) -> Tuple[int, ...]: return ()\nf({})",
    "kinds of parameters": "def f(a, /, b, *, c): return a+b+c\nf(1, 2, c=3)",
    "assert": "try:\n    assert False, 'no'\nexcept AssertionError as e: r = str(e)\nr",
    "what an exception tells": "try: 1/0\nexcept Exception as e: r = (type(e).__name__, e.args, repr(e), str(e.__class__.__name__))\nr",
    "is a name defined": "x=1\n'x' in globals(), 'y' in globals()",
    "itertools by star": "from itertools import *\nlist(batched('abc', 2)) if 'batched' in globals() else list(islice(count(), 2))",
    "self of a lambda": "class A:\n    def f(self): return (lambda self: self._x)(self)\n    _x = 3\nA().f()",
    "setattr in a loop": "class A: pass\na = A()\nfor k, v in {'x': 1, '_y': 2}.items(): setattr(a, k, v)\na._y, vars(a)",
    "slots": "class A:\n    __slots__ = ('x', '_y')\n    def __init__(self): self.x = 1; self._y = 2\nA()._y",
    "class variables of a dataclass": "from dataclasses import dataclass, field\nfrom typing import ClassVar\n@dataclass\nclass A:\n    n: ClassVar[int] = 0\n    _p: int = field(default=1, repr=False)\nA()._p",
    "an abstract property": "from abc import ABC, abstractmethod\nclass A(ABC):\n    @property\n    @abstractmethod\n    def x(self): ...\nclass B(A):\n    x = 3\nB().x",
    "an attribute deleted": "class A:\n    def __init__(self): self._c = 1\n    def clear(self): del self._c\na=A(); a.clear(); hasattr(a, '_c')",
    "an iterator class": "class It:\n    def __init__(self): self.i = 0\n    def __iter__(self): return self\n    def __next__(self):\n        self.i += 1\n        if self.i > 2: raise StopIteration\n        return self.i\nlist(It())",
    "how a class shows itself": "class A: pass\nstr(A), repr(type(A())), f'{A}'",
}


@pytest.mark.parametrize("name", IDIOMS)
def test_means_the_same(name):
    """One source, two languages, one value, which is not nothing."""
    value = run(IDIOMS[name], RESTRICTED)
    assert value == run(IDIOMS[name], PLAIN)
    assert value is not None
