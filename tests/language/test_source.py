"""The text of a snippet: what is mended silently, what is refused, and that nothing in it can break the checker."""

import time

import pytest

from harness.core.errors import SnippetRefused
from tests.language.inbox import PLAIN, RESTRICTED, checked, faults, run

BOTH = pytest.mark.parametrize("language", [PLAIN, RESTRICTED])
DEEP = "line 1: the snippet is nested too deeply (split long expressions and deep blocks into parts)"
MENDED = {
    "a byte order mark": "\ufeffx = 1\nx + 1",
    "CRLF": "x = 1\r\nx + 1\r\n",
    "CR": "x = 1\rx + 1\r",
    "fences": "```python\nx = 1\nx + 1\n```",
    "fences without a language": "\n```\nx = 1\nx + 1\n```\n\n",
    "fences of tildes": "~~~py\nx = 1\nx + 1\n~~~",
    "a fence and a mark and CRLF": "\ufeff```python\r\nx = 1\r\nx + 1\r\n```\r\n",
}
REFUSED = {
    "nothing": ("", "line 1: the snippet is empty (write Python that ends with `return value`)"),
    "blank lines": (" \n\t\n", "line 1: the snippet is empty (write Python that ends with `return value`)"),
    "a comment alone": ("# soon", "line 1: the snippet is empty (write Python that ends with `return value`)"),
    "an empty fence": ("```python\n```", "line 1: the snippet is empty (write Python that ends with `return value`)"),
    "a megabyte": (
        "x = 1\n" * 170_000,
        "line 1: the snippet has 1020000 bytes; at most 131072 are taken"
        " (pass data through `inputs`, or read it with a tool)",
    ),
    "a null byte": ("x = 1\nprint('a\0')", "line 2:9: the source holds a null byte (remove it)"),
    "half a character": (
        "x = '\ud800'",
        "line 1:6: the source holds a lone surrogate, which is no character (remove it)",
    ),
    "C06 a syntax error": ("x = 1\ny=", "line 2:3: invalid syntax (look at `y=`)"),
    "an unexpected indent": ("  x = 1\ny=", "line 1:2: unexpected indent (look at `x = 1`)"),
    "a fence in the middle": (
        "x = 1\n```\nmore",
        "line 2:1: a Markdown fence is no Python (send the code alone)",
    ),
    "yield at the top": ("yield 1", "line 1:1: 'yield' outside function (put it into a function)"),
    "yield in a loop at the top": (
        "for x in 'ab':\n    y = yield x",
        "line 2:9: 'yield' outside function (put it into a function)",
    ),
    "nonlocal at the top": (
        "nonlocal x",
        "line 1:1: nonlocal declaration not allowed at module level (put it into a function)",
    ),
    "return in a class": ("class A:\n    return 1", "line 2:5: 'return' outside function (look at `return 1`)"),
    "await in a plain function": (
        "def f():\n    await g()",
        "line 2:5: 'await' outside async function (look at `await g()`)",
    ),
    "break outside a loop": ("break", "line 1:1: 'break' outside loop (look at `break`)"),
    "a thousand minus signs": ("-" * 100_000 + "1", DEEP),
    "a long sum": ("+".join(["1"] * 50_000), DEEP),
    "a long chain": ("x" + ".a" * 60_000, DEEP),
    "many calls": ("f" + "()" * 60_000, DEEP),
    "many lambdas": ("lambda: " * 10_000 + "1", DEEP),
    "many branches": ("if 1: pass\n" + "elif 1: pass\n" * 8_000, DEEP),
    "many comprehensions": (
        "[" * 40 + "x" + " for x in y]" * 40,
        "line 1:17: blocks are nested deeper than 16 levels (put the inner ones into a function)",
    ),
    "many blocks": (
        "".join(" " * depth + "if 1:\n" for depth in range(200)) + " " * 200 + "pass",
        "line 101:1: too many levels of indentation (look at `if 1:`)",
    ),
}


@BOTH
@pytest.mark.parametrize("name", MENDED)
def test_is_mended_and_keeps_its_line_numbers(name, language):
    """It runs, and what is wrong in its third line is told of its third line."""
    assert run(MENDED[name], language) == 2
    lines = checked(MENDED[name], language).source.split("\n")
    given = MENDED[name].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert [line.index("x + 1") for line in lines if "x + 1" in line] == [0]
    assert lines.index("x + 1") == given.index("x + 1")


@BOTH
@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_one_sentence(name, language):
    """Refused with the place and the way out; the checker itself never fails."""
    source, sentence = REFUSED[name]
    assert faults(source, language) == [sentence]


def test_a_snippet_that_was_checked_is_not_checked_again():
    """The same text under the same rules gives the same object, at once; under other rules it is looked at anew."""
    source = "import math\n" + "\n".join(f"x{n} = math.sqrt({n})" for n in range(100))
    first = checked(source)
    started = time.perf_counter()
    again = [checked(source) for _ in range(20)]
    assert (time.perf_counter() - started) / 20 < 0.001
    assert all(each is first for each in again)
    assert checked(source, PLAIN) is not first
    assert faults(source, imports=("json",)) == [
        "line 1:8: module `math` is not in the contract's imports (allowed: json)"
    ]


def test_checking_runs_nothing(monkeypatch):
    """A12: neither the snippet nor a module that it names is executed or imported."""
    monkeypatch.setattr("builtins.__import__", None)
    for source in ("import antigravity\nantigravity", "1 / 0", "raise SystemExit", "print('x')"):
        checked(source, PLAIN)
    with pytest.raises(SnippetRefused):
        checked("import this_module_does_not_exist_either")


def test_the_digest_is_of_the_mended_text():
    """Two spellings of the same text have one digest, in either language."""
    assert checked("\ufeffx = 1\r\n").digest == checked("x = 1\n", PLAIN).digest
    assert len(checked("x = 1\n").digest) == 64


def test_a_function_is_asynchronous_only_where_its_top_awaits():
    """What has `await` inside functions alone stays an ordinary function."""
    assert checked("async def f():\n    await g()\nf()").uses_await is False
    assert checked("await f()").uses_await is True
    assert checked("x = [y async for y in f()]").uses_await is True
