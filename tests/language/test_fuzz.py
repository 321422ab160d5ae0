"""The checker against text that nobody wrote: it refuses or compiles, and fails in no other way."""

# ruff: noqa: E501 (a snippet stands on one line)

import ast
import random
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.errors import SnippetRefused
from tests.language.inbox import PLAIN, RESTRICTED, checked

WORDS = [
    *"def class if elif else while for in try except finally with as return yield await async lambda not and or".split(),  # noqa: SIM905
    *"is del global nonlocal import from raise assert pass break continue match case None True False print open".split(),  # noqa: SIM905
    *"type self __class__ __del__ _x x y json math 0 1 1.5 'a' f'{x}' f'{x!r:>{y}}' ( ) [ ] { } : , . ; = :=".split(),  # noqa: SIM905
    *"+= -> == < + - * ** / // % @ ~ | & ... # \\ \" ''' ` ? $".split(),  # noqa: SIM905
    *("\n", "\n\n", "\n    ", "\n\t", "\t"),
]
SEEDS = (
    "import json\nx: int = 0\nfor k, v in {'a': 1}.items():\n    x += v\nreturn json.dumps({'x': x})\n",
    "class A:\n    def __init__(self, n):\n        self.n = n\n        self._m = n\n    async def f(self):\n        return await g(self._m)\n",
    "match r:\n    case {'a': [first, *rest]} if first:\n        y = rest\n    case A(x=1) | None:\n        pass\n",
    "try:\n    print('{0.a} {x[b]}'.format(p, x=y))\nexcept (A, B) as e:\n    raise C from e\nfinally:\n    del x\n",
    "async with a as b, c:\n    z = [i async for i in b if (n := i) > 0]\nlambda *a, k=1, **kw: (yield)\n",
)
LIBRARY = Path(sysconfig.get_path("stdlib"))
FILES = ("json/decoder.py", "dataclasses.py", "asyncio/tasks.py", "fractions.py")
BOTH = pytest.mark.parametrize("language", [PLAIN, RESTRICTED])
BOUNDED = settings(
    max_examples=100, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def judge(source: str, language: object) -> None:
    """Check a text: what comes is a compiled snippet, or faults each with a code, a sentence and a place in it."""
    try:
        found = checked(source, language)  # type: ignore[arg-type]
    except SnippetRefused as refused:
        lines = source.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
        for fault in refused.faults:
            assert fault.code.isidentifier()
            assert fault.message
            assert fault.hint
            assert "\n" not in fault.message + fault.hint
            assert fault.code == "more" or 1 <= fault.place.line <= lines
    else:
        assert found.code
        assert ast.parse(found.source) is not None


@BOTH
@BOUNDED
@given(source=st.text(max_size=200))
def test_any_text(language, source):
    """Characters of every kind."""
    judge(source, language)


@BOTH
@BOUNDED
@given(words=st.lists(st.sampled_from(WORDS), max_size=40))
def test_words_of_python_in_any_order(language, words):
    """Python's own words, most of them in the wrong place."""
    judge(" ".join(words), language)


@BOTH
@BOUNDED
@given(seed=st.sampled_from(SEEDS), cuts=st.lists(st.integers(0, 300), max_size=6), word=st.sampled_from(WORDS))
def test_snippets_that_were_cut_and_stitched(language, seed, cuts, word):
    """Real snippets with pieces taken out and words put in."""
    text = seed
    for cut in cuts:
        at = cut % (len(text) + 1)
        text = text[:at] + word + text[at + cut % 7 :]
    judge(text, language)


@BOTH
@pytest.mark.parametrize("name", FILES)
def test_real_files_and_files_without_some_lines(language, name):
    """Modules of the standard library, whole and with lines missing."""
    lines = (LIBRARY / name).read_text().splitlines()
    judge("\n".join(lines[:2000]), language)
    draw = random.Random(name)
    for _ in range(3):
        at = draw.randrange(len(lines))
        judge("\n".join(lines[max(0, at - 150) : at]), language)
