"""Live progress: what a run is doing, as a person sees it."""

import asyncio
import io
import time

from rich.console import Console

from harness import tool
from harness.front.cli.live import picture, watching
from tests.run.making import document, harness


@tool(effect="read", timeout_s=5)
def slow(number: int) -> int:
    """Takes its time."""
    time.sleep(0.3)
    return number


def script(box):
    """A fast call, and one that is still under way."""
    box.call("nothing")
    box.call("slow", number=1)
    box.result(10)


def test_a_terminal_shows_calls_gauges_and_checks(tmp_path):
    """While the call is at work; afterwards nothing of it is left but the report."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system=None)
    seen = []

    async def work():
        made = harness(tmp_path, (slow,), script)
        contract = document(tools=["slow"], checks={"postconditions": [{"id": "big", "expect": "output > 5"}]})
        async with made, made.session(contract) as session:
            async with watching(console, session.progress):
                running = asyncio.ensure_future(session.run("1"))
                await asyncio.sleep(0.25)
                seen.append(session.progress())
                await running
            seen.append(session.progress())
            await session.finish()

    asyncio.run(work())
    during, after = seen
    assert (during.iteration, during.live) == (1, True)
    assert [(line.tool, line.decision, line.state) for line in during.calls] == [
        ("nothing", "deny", "DENIED"),
        ("slow", "allow", "DISPATCHED"),
    ]
    assert [check["status"] for check in after.checks] == ["passed"]
    assert (after.iteration, after.live) == (1, False)
    text = out.getvalue()
    assert "iteration 1 (running)" in text
    assert "DISPATCHED" in text
    assert "of 50" in text


def test_no_terminal_no_picture(tmp_path):
    """A pipe gets nothing."""
    out = io.StringIO()

    async def work():
        async with watching(Console(file=out, force_terminal=False), lambda: 1 / 0):
            await asyncio.sleep(0)

    asyncio.run(work())
    assert out.getvalue() == ""


def test_a_picture_escapes_what_comes_from_outside(tmp_path):
    """A tool name that looks like markup is text."""
    made = harness(tmp_path, (), lambda box: (box.call("[bold]x"), box.result(10)))

    async def work():
        async with made, made.session(document()) as session:
            await session.run("1")
            return session.progress()

    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(picture(asyncio.run(work())))
    assert "[bold]x" in console.file.getvalue()
