"""Checked code in a real runner, in both languages: calls awaited or not, ends, failures, chance and time."""

# ruff: noqa: E501 (a snippet stands on one line)

import base64

import pytest

from harness.language.check import check
from sandbox_image.language.modules import STANDARD
from tests.gateway.rig import TOOLS, play
from tests.language.inbox import PLAIN, RESTRICTED
from tests.sandbox_image.test_calls import NUMBERS, VALUES
from tests.sandbox_image.test_snippets import ENDS

BOTH = pytest.mark.parametrize("language", [PLAIN, RESTRICTED])
NO_TEXT = {"an empty snippet"}
"""Refused before it reaches a box."""


def boxed(source, language, serve=TOOLS, **changes):
    """How a checked snippet ends in a box."""
    found = check(source, language=language, imports=STANDARD, tools=frozenset(TOOLS))
    code = base64.b64encode(found.code).decode("ascii")
    return play(source, serve, code=code, language=language.value, imports=list(STANDARD), **changes)


@pytest.mark.parametrize("name", VALUES)
def test_calls_in_every_way(name):
    """C01, C03: each way in which Python can call gives the same through guards and façades."""
    source, value = VALUES[name]
    ended = boxed(f"from tools import *\n{source}", RESTRICTED)
    assert (ended.failed, ended.result) == (None, value)


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "math"])
def test_operators_on_a_call_without_await(name):
    """C03: a promise is its value for guarded code too."""
    expression, value = NUMBERS[name]
    ended = boxed(f"from tools import *\nx = slow(6)\nawait echo('y')\nreturn {expression}", RESTRICTED)
    assert (ended.failed, ended.result) == (None, value)


SEEN_THROUGH = {
    "is None": ("p is None", False),
    "is not None": ("p is not None and nothing is None", True),
    "the type": ("[type(p) is dict, type(p).__name__, isinstance(p, dict)]", [True, "dict", True]),
    "a comparison of types": ("type(p) == dict", True),
    "format": ("text.format(1, k=2)", "1-2"),
    "format of a promise": ("'{0[n]} {1}'.format(p, text)", "3 {}-{k}"),
    "an attribute by name": ("getattr(text, 'upper')()", "{}-{K}"),
    "a field called like a guard": ("[p['now'], p['obj']]", [8, 9]),
    "vars and dir": ("'keys' in dir(p)", True),
    "a match": ("f(p)", 3),
    "a match on nothing": ("f(nothing)", "nothing"),
    "a match on a text": ("f(text)", "text"),
}


@BOTH
@pytest.mark.parametrize("name", SEEN_THROUGH)
def test_what_looks_at_the_object_itself_sees_the_value(name, language):
    """C03, D06: `is`, `match`, `type` and formatting get the value of a call that nobody awaited."""
    expression, value = SEEN_THROUGH[name]
    source = (
        "from tools import *\ndef f(x):\n    match x:\n        case {'n': n}:\n            return n\n        case None:\n            return 'nothing'\n"
        "        case str():\n            return 'text'\n        case _:\n            return 'other'\n"
        f"p, nothing, text = slow({{'n': 3, 'now': 8, 'obj': 9}}), slow(None), slow('{{}}-{{k}}')\nawait echo('y')\nreturn {expression}"
    )
    ended = boxed(source, language)
    assert (ended.failed, ended.result) == (None, value)


@BOTH
@pytest.mark.parametrize("name", [name for name in ENDS if name not in NO_TEXT])
def test_every_end(name, language):
    """D05: what a snippet ends with is its result, in either language."""
    source, result, none = ENDS[name]
    ended = boxed(source, language)
    assert (ended.failed, ended.result, ended.none) == (None, result, none)


@BOTH
def test_a_failure_shows_the_snippets_own_lines(language):
    """The traceback holds no line of a guard or a façade, whether they raised or handed on."""
    source = "import functools\nclass A:\n    def f(self):\n        self._x = {}\n        return functools.reduce(getattr, ['k'], self._x['k'])\n\nA().f()"
    failed = boxed(source, language).failed
    assert failed.type == "KeyError"
    assert failed.line == 5
    lines = failed.traceback.splitlines(keepends=True)
    assert "".join(line for line in lines if line.strip(" ~^\n")) == (
        "Traceback (most recent call last):\n"
        '  File "<snippet>", line 7, in <module>\n    A().f()\n'
        "  File \"<snippet>\", line 5, in f\n    return functools.reduce(getattr, ['k'], self._x['k'])\n"
        "KeyError: 'k'\n"
    )


def test_a_refusal_at_run_time_is_a_failure_with_its_way_on():
    """A03: what a guard refuses ends the snippet like any error of its own, with the line and what to write."""
    failed = boxed("x = ()\ngetattr(x, '__cl' + 'ass__')", RESTRICTED).failed
    assert (failed.type, failed.line) == ("Forbidden", 2)
    assert failed.message == "`__class__` cannot be used here; use type(x), or type(x).__name__ for its name"


DRAWS = (
    "import random, uuid, time, secrets, datetime, calendar\nfrom datetime import datetime as dt, date\nfrom tools import echo\n"
    "a = [random.random(), random.randint(1, 10**9), random.Random().random(), str(uuid.uuid4()), str(uuid.uuid1()), secrets.token_hex(4),"
    " random.SystemRandom().random(), secrets.choice(range(10**6))]\n"
    "b = [time.time(), time.monotonic(), time.perf_counter(), dt.now().isoformat(), dt.now(datetime.timezone.utc).isoformat(),"
    " datetime.datetime.utcnow().isoformat(), date.today().isoformat(), dt.today().isoformat(), time.strftime('%H:%M:%S'), time.ctime(),"
    " time.localtime().tm_sec, time.gmtime().tm_sec, time.time_ns()]\n"
    "r = random.Random(7)\nreturn [a, b, r.random(), isinstance(dt.now(), dt), dt(2024, 1, 1) < dt.now(), type(dt.now()).__name__]"
)
NOON = 1_800_000_000_000_000
"""A time of the host, in microseconds: 2027-01-15, long from the machine's."""


@BOTH
def test_the_same_seed_draws_the_same(language):
    """A replay sees the same numbers, ids and times; another seed or another time gives others."""
    first = boxed(DRAWS, language, chance={"seed": "ab" * 16, "now_us": NOON, "tick_us": 1})
    again = boxed(DRAWS, language, chance={"seed": "ab" * 16, "now_us": NOON, "tick_us": 1})
    other = boxed(DRAWS, language, chance={"seed": "cd" * 16, "now_us": NOON + 86_400_000_000, "tick_us": 1})
    assert (first.failed, again.failed, other.failed) == (None, None, None)
    assert first.result == again.result
    (draws, times, known, *facts), (other_draws, other_times, other_known, *_) = first.result, other.result
    assert facts == [True, True, "datetime"]
    assert known == other_known
    assert not [1 for mine, others in zip(draws, other_draws, strict=True) if mine == others]
    assert [str(each) for each in times[3:8]] == [each for each in times[3:8] if each.startswith("2027-01-15")]
    assert [each[:10] for each in other_times[3:8]] == ["2027-01-16"] * 5


@BOTH
def test_clocks_stand_still_between_answers_and_follow_them(language):
    """Each look is one tick later; an answer brings the host's time; sleeping is a call that the host answers."""
    source = (
        "import time\nfrom tools import echo\na = [time.time_ns() // 1000 for _ in range(3)]\necho('x')\nb = time.time()\ntime.sleep(0.02)\n"
        "c = time.time()\nreturn [[n - a[0] for n in a], b > 1_700_000_000, c - b >= 0.02]"
    )
    ended = boxed(source, language, chance={"seed": "00" * 16, "now_us": 5_000_000, "tick_us": 3})
    assert (ended.failed, ended.result) == (None, [[0, 3, 6], True, True])
    assert [tool for _, tool, _ in ended.calls] == ["echo", "harness.sleep"]
