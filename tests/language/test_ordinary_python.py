"""Ordinary Python gives in both languages what Python gives: the constructs that models write, D01 to D21 among them."""

# ruff: noqa: E501 (a snippet stands on one line)

import pytest

from tests.language.inbox import PLAIN, RESTRICTED, run

WORKS = {
    "D01 an item is added to": ("counts = {}\ncounts['a'] = 0\ncounts['a'] += 1\nreturn counts", {"a": 1}),
    "D01 an attribute is added to": (
        "class C:\n    def __init__(self):\n        self.n = 1\nc = C()\nc.n += 2\nc.n",
        3,
    ),
    "D01 a nested item is added to": ("d = {'a': [1, 2]}\nd['a'][1] *= 5\nd", {"a": [1, 10]}),
    "D01 a slice is written": ("a = [1, 2, 3]\na[1:] = [9]\ndel a[0]\na", [9]),
    "D02 an annotated assignment": ("total: float = 0.0\ntotal += 1\ntotal", 1.0),
    "D02 an annotation alone": ("total: float\ntotal = 2\ntotal", 2),
    "D02 an annotation of an attribute": (
        "class C:\n    def __init__(self):\n        self.x: int = 4\nC().x",
        4,
    ),
    "D03 a dataclass": (
        "from dataclasses import dataclass, field\n@dataclass\nclass P:\n    x: int\n    y: int = 0\n"
        "    tags: list[str] = field(default_factory=list)\np = P(1)\np.y = 5\n[p.x, p.y, p.tags, P(1) == P(1, 0), repr(p)]",
        [1, 5, [], True, "P(x=1, y=5, tags=[])"],
    ),
    "D03 a frozen dataclass with slots and order": (
        "from dataclasses import dataclass, replace, asdict, FrozenInstanceError\n"
        "@dataclass(frozen=True, order=True, slots=True)\nclass P:\n    x: int\n    def __post_init__(self):\n"
        "        object.__setattr__(self, 'x', self.x * 2)\np = P(2)\ntry:\n    p.x = 1\n    said = 'nothing'\n"
        "except FrozenInstanceError:\n    said = 'frozen'\n[said, asdict(p), P(1) < P(2), replace(p, x=5).x, hash(p) == hash(P(2))]",
        ["frozen", {"x": 4}, True, 10, True],
    ),
    "D03 an exception of one's own": (
        "class E(Exception):\n    def __init__(self, code, text):\n        super().__init__(text)\n        self.code = code\n"
        "try:\n    raise E(7, 'no')\nexcept E as e:\n    found = [e.code, str(e), e.args]\nfound",
        [7, "no", ("no",)],
    ),
    "D03 an enum": (
        "from enum import Enum, IntEnum, Flag, StrEnum, auto\nclass C(Enum):\n    RED = 1\n    BLUE = auto()\n"
        "    @property\n    def low(self):\n        return self.name.lower()\nclass P(Flag):\n    R = auto()\n    W = auto()\n"
        "class S(StrEnum):\n    A = 'a'\n[C.RED.low, C(2).name, C['BLUE'].value, [c.name for c in C], (P.R | P.W).value, S.A + 'b',"
        " C.RED is C.RED, len(C)]",
        ["red", "BLUE", 2, ["RED", "BLUE"], 3, "ab", True, 2],
    ),
    "D03 an enum with values of its own making": (
        "from enum import Enum\nclass Planet(Enum):\n    EARTH = (5.97e24, 6.37e6)\n    def __init__(self, mass, radius):\n"
        "        self.mass = mass\n        self.radius = radius\n    @classmethod\n    def _missing_(cls, value):\n"
        "        return cls.EARTH\n[Planet.EARTH.mass, Planet('x').name]",
        [5.97e24, "EARTH"],
    ),
    "D03 a typed dict and a named tuple": (
        "from typing import NamedTuple, TypedDict, Optional\nclass T(TypedDict, total=False):\n    a: int\nclass N(NamedTuple):\n"
        "    x: int\n    y: Optional[int] = None\n    def both(self):\n        return [self.x, self.y]\nn = N(1)\n"
        "[T(a=1), n.both(), n._asdict(), N._fields, n._replace(y=2).y]",
        [{"a": 1}, [1, None], {"x": 1, "y": None}, ("x", "y"), 2],
    ),
    "D03 an abstract class": (
        "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def area(self): ...\nclass B(A):\n"
        "    def area(self):\n        return 4\ntry:\n    A()\n    said = ''\nexcept TypeError as e:\n    said = 'abstract' in str(e)\n"
        "[said, B().area()]",
        [True, 4],
    ),
    "D03 a generic class and a protocol": (
        "from typing import Generic, TypeVar, Protocol, runtime_checkable\nT = TypeVar('T')\nclass Box(Generic[T]):\n"
        "    def __init__(self, item: T) -> None:\n        self.item = item\n@runtime_checkable\nclass HasItem(Protocol):\n"
        "    item: int\n[Box[int](3).item, isinstance(Box(1), HasItem)]",
        [3, True],
    ),
    "D05 async functions": (
        "async def main():\n    async def one(x):\n        return x + 1\n    return [await one(1), await one(2)]\nreturn await main()",
        [2, 3],
    ),
    "D05 async with, async for, gather": (
        "import asyncio\nclass M:\n    async def __aenter__(self):\n        return 5\n    async def __aexit__(self, *a):\n"
        "        return False\nasync def numbers(n):\n    for i in range(n):\n        yield i\nout = []\nasync with M() as m:\n"
        "    async for i in numbers(3):\n        out.append(i + m)\nout += [x async for x in numbers(2)]\n"
        "out += await asyncio.gather(*[asyncio.sleep(0, i) for i in 'ab'])\nout",
        [5, 6, 7, 0, 1, "a", "b"],
    ),
    "D05 a coroutine as last value": ("async def main():\n    return 4\nmain()", 4),
    "D05 asyncio.run": (
        "import asyncio\nasync def main():\n    async with asyncio.TaskGroup() as g:\n        t = g.create_task(asyncio.sleep(0, 3))\n"
        "    return t.result()\nif __name__ == '__main__':\n    result = asyncio.run(main())\nreturn result",
        3,
    ),
    "D06 match on values": (
        "r = {'status': 'ok', 'n': [1, 2, 3]}\nmatch r['status']:\n    case 'ok':\n        y = 1\n    case _:\n        y = 2\n"
        "match r:\n    case {'n': [first, *rest], **others}:\n        z = [first, rest, others]\n[y, z]",
        [1, [1, [2, 3], {"status": "ok"}]],
    ),
    "D06 match on classes": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\ndef f(p):\n    match p:\n"
        "        case P(0, y=b) if b > 1:\n            return ['axis', b]\n        case P(x=a) | [a, _]:\n            return a\n"
        "        case int() | str() as v:\n            return v\n        case None:\n            return 'none'\n"
        "[f(P(0, 2)), f(P(3, 1)), f([7, 8]), f('s'), f(None)]",
        [["axis", 2], 3, 7, "s", "none"],
    ),
    "D07 nonlocal and global": (
        "total = 0\ndef counter():\n    n = 0\n    def step():\n        nonlocal n\n        global total\n        n += 1\n        total += 1\n"
        "        return n\n    return step\nc = counter()\nc()\nc()\n[c(), total]",
        [3, 3],
    ),
    "D09 the name of a type": (
        "try:\n    1 / 0\nexcept Exception as e:\n    t = type(e).__name__\nt",
        "ZeroDivisionError",
    ),
    "D09 names with an underscore": ("_tmp = 1\nfor _ in range(2):\n    _tmp += 1\n_, __x = 1, 2\n_tmp + __x", 5),
    "D09 private attributes of one's own": (
        "class A:\n    _count = 0\n    def __init__(self):\n        self._x = 1\n        self.__y = 2\n        A._count += 1\n"
        "    def _both(self):\n        return self._x + self.__y\nclass B(A):\n    def get(self):\n        return super()._both() + self._x\n"
        "b = B()\nb._x += 10\n[b.get(), A._count, b._both()]",
        [24, 1, 13],
    ),
    "D11 builtins": (
        "[sorted(zip([2, 1], 'ab'), key=lambda t: t[0], reverse=True), any(map(str.isdigit, 'a1')), sum([1, 2]), max([1], default=0),"
        " list(enumerate('a')), dict(a=1), divmod(7, 2), round(2.567, 1), list(reversed([1, 2])), list(filter(None, [0, 1])),"
        " isinstance(True, int), callable(len), hex(255), ord('a'), chr(98), abs(-1), pow(2, 3), bytes([65]), frozenset([1]),"
        " complex(1, 2), getattr('a', 'upper')(), hasattr([], 'append'), type(3) is int, issubclass(bool, int)]",
        [
            [(2, "a"), (1, "b")],
            True,
            3,
            1,
            [(0, "a")],
            {"a": 1},
            (3, 1),
            2.6,
            [2, 1],
            [1],
            True,
            True,
            "0xff",
            97,
            "b",
            1,
            8,
            b"A",
            frozenset([1]),
            1 + 2j,
            "A",
            True,
            True,
            True,
        ],
    ),
    "D12 a long range": ("sum(range(100000))", 4999950000),
    "D14 forms of import": (
        "from typing import List, Optional\nimport datetime as dt\nfrom collections.abc import Iterable\nimport urllib.parse\n"
        "import concurrent.futures\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "[dt.date(2024, 2, 29).isoformat(), isinstance([], Iterable), urllib.parse.quote('a b'),"
        " ThreadPoolExecutor is concurrent.futures.ThreadPoolExecutor]",
        ["2024-02-29", True, "a%20b", True],
    ),
    "D21 nested loops and comprehensions": (
        "d = {}\nfor i in range(3):\n    for j in range(i):\n        d.setdefault(i, {})[j] = [k for k in range(j + 1) if k != i]\n"
        "flat = [x for row in [[1, 2], [3]] for x in row]\n[d, flat, {k: v for k, v in zip('ab', [1, 2])}, i, j]",
        [{1: {0: [0]}, 2: {0: [0], 1: [0, 1]}}, [1, 2, 3], {"a": 1, "b": 2}, 2, 1],
    ),
    "B17 break, continue and return inside try": (
        "out = []\ndef f(n):\n    for i in range(n):\n        try:\n            if i == 1:\n                continue\n"
        "            if i == 3:\n                break\n            if i == 5:\n                return i\n            out.append(i)\n"
        "        finally:\n            out.append('f')\n    else:\n        out.append('else')\n    return 'end'\n[f(9), f(1), out]",
        ["end", "end", [0, "f", "f", 2, "f", "f", 0, "f", "else"]],
    ),
    "A04 formatting": (
        "'{:.2f} {name}'.format(3.1, name='a') + '{0[k]} {0}'.format({'k': 1}) + f'{1 + 1:>{3}}{\"x\"!r}' + '%s-%d' % ('a', 2)",
        "3.10 a1 {'k': 1}  2'x'a-2",
    ),
    "A07 fields called obj, format, now": (
        "class Row:\n    pass\nrow = Row()\nrow.obj = 1\nrow.obj += 1\nrow.format = 'csv'\nrow.now = 3\n[row.obj, row.format, row.now]",
        [2, "csv", 3],
    ),
    "walrus, star expressions, chained comparisons": (
        "if (n := 10) > 5:\n    m = n\nfirst, *rest = [1, 2, 3]\nf = lambda *a, k=1, **kw: (a, k, kw)\n"
        "[m, rest, 1 < 2 < 3, f(*rest, k=2, z=3), [y := 1, y + 1], [last := x for x in 'ab'], last]",
        [10, [2, 3], True, ((2, 3), 2, {"z": 3}), [1, 2], ["a", "b"], "b"],
    ),
    "generators": (
        "def g(n):\n    got = yield n\n    while got:\n        got = yield got * 2\n    return 'done'\ndef h():\n    r = yield from g(1)\n"
        "    yield r\ni = h()\n[next(i), i.send(4), i.send(0), sum(x * x for x in range(4))]",
        [1, 8, "done", 14],
    ),
    "decorators, properties, static and class methods": (
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n        inner.calls += 1\n        return f(*a, **k) * 2\n"
        "    inner.calls = 0\n    return inner\n@twice\ndef one(x: int = 1) -> int:\n    'Doc.'\n    return x\nclass A:\n    @property\n"
        "    def p(self):\n        return self._p\n    @p.setter\n    def p(self, v):\n        self._p = v\n    @staticmethod\n    def s():\n"
        "        return 's'\n    @classmethod\n    def c(cls):\n        return cls.__name__\n    @functools.cached_property\n    def q(self):\n"
        "        return 9\na = A()\na.p = 5\n[one(3), one.__name__, one.__doc__, one.calls, a.p, A.s(), a.c(), a.q]",
        [6, "one", "Doc.", 1, 5, "s", "A", 9],
    ),
    "special methods": (
        "class V:\n    def __init__(self, x):\n        self.x = x\n    def __add__(self, o):\n        return V(self.x + o.x)\n"
        "    def __eq__(self, o):\n        return isinstance(o, V) and self.x == o.x\n    def __hash__(self):\n        return hash(self.x)\n"
        "    def __repr__(self):\n        return f'V({self.x})'\n    def __len__(self):\n        return self.x\n    def __getitem__(self, i):\n"
        "        return i * 2\n    def __iter__(self):\n        return iter(range(self.x))\n    def __contains__(self, y):\n        return y == 1\n"
        "    def __call__(self, *a):\n        return a\n    def __enter__(self):\n        return self\n    def __exit__(self, *e):\n        return True\n"
        "    def __bool__(self):\n        return True\n    def __lt__(self, o):\n        return self.x < o.x\n    def __getattr__(self, name):\n"
        "        return 'no ' + name\nwith V(1) as w:\n    raise KeyError\n"
        "[repr(V(1) + V(2)), V(1) == V(1), len(V(3)), V(1)[4], list(V(3)), 1 in V(1), V(1)(2), w.x, sorted([V(2), V(1)])[0].x, w.zzz]",
        ["V(3)", True, 3, 8, [0, 1, 2], True, (2,), 1, 1, "no zzz"],
    ),
    "exceptions": (
        "log = []\ntry:\n    try:\n        {}['k']\n    except KeyError as e:\n        raise ValueError('bad') from e\n"
        "except (ValueError, TypeError) as e:\n    log += [str(e), repr(e.__cause__), type(e.__cause__).__name__]\nelse:\n    log += ['else']\n"
        "finally:\n    log += ['finally']\ntry:\n    raise ExceptionGroup('g', [ValueError(1)])\nexcept ExceptionGroup as g:\n"
        "    log += [len(g.exceptions)]\nassert log, 'empty'\nlog",
        ["bad", "KeyError('k')", "KeyError", "finally", 1],
    ),
    "a class that names itself": (
        "class Node:\n    made = []\n    def __init__(self, v, next: 'Node | None' = None):\n        self.v, self.next = v, next\n"
        "        Node.made.append(v)\n    def copy(self):\n        return Node(self.v, self.next)\nn = Node(1, Node(2)).copy()\n"
        "[Node.made, n.next.v, Node.__qualname__, repr(Node)]",
        [[2, 1, 1], 2, "Node", "<class '__main__.Node'>"],
    ),
    "recursion of functions at the top": (
        "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(80)",
        23416728348467685,
    ),
    "from __future__": (
        "'A docstring.'\nfrom __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    next: A | None = None\nA().next is None",
        True,
    ),
    "import star": ("from math import *\n[floor(pi), sqrt(16)]", [3, 4.0]),
    "return inside with and finally": (
        "try:\n    if True:\n        return 'early'\nfinally:\n    x = 1\nreturn 'late'",
        "early",
    ),
    "an if as last statement gives nothing": ("if True:\n    5", None),
    "a docstring alone": ("'just text'", "just text"),
    "del of a name": ("x = 1\ndel x\ntry:\n    x\nexcept NameError:\n    r = 'gone'\nr", "gone"),
    "global at the top": ("global x\nx = 4\nx", 4),
    "a lambda at the top": ("f = lambda: 1\n[f.__name__, f.__qualname__, f()]", ["<lambda>", "<lambda>", 1]),
    "print": ("import io\nout = io.StringIO()\nprint('a', 1, sep='-', end='!', file=out)\nout.getvalue()", "a-1!"),
    "a singleton by a metaclass": (
        "class Singleton(type):\n    _made = {}\n    def __call__(cls, *a, **k):\n        if cls not in cls._made:\n"
        "            cls._made[cls] = super().__call__(*a, **k)\n        return cls._made[cls]\nclass C(metaclass=Singleton):\n    pass\n"
        "C() is C()",
        True,
    ),
    "threads": (
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor, as_completed\nlock = threading.Lock()\nout = []\n"
        "def work(n):\n    with lock:\n        out.append(n)\n    return n * 2\nts = [threading.Thread(target=work, args=(i,)) for i in range(3)]\n"
        "[t.start() for t in ts]\n[t.join() for t in ts]\nwith ThreadPoolExecutor(max_workers=2) as pool:\n"
        "    found = list(pool.map(work, [10, 20])) + sorted(f.result() for f in as_completed([pool.submit(work, 5)]))\n[sorted(out), found]",
        [[0, 1, 2, 5, 10, 20], [20, 40, 10]],
    ),
}


@pytest.mark.parametrize("language", [PLAIN, RESTRICTED])
@pytest.mark.parametrize("name", WORKS)
def test_gives_what_python_gives(name, language):
    """The snippet's value is the one that Python has for the same text."""
    source, value = WORKS[name]
    assert run(source, language) == value
