"""Where a budget went: by tool, by iteration, by model, with what is left of each limit."""

import asyncio
import json
from decimal import Decimal
from pathlib import Path

from click.testing import CliRunner

from harness import tool
from harness.front.cli.runs import report
from tests.run.making import document, harness


@tool(effect="read", cost=lambda value: {"tokens": value, "cost_usd": Decimal("0.001")})
def ask(amount: int) -> int:
    """Reports its cost."""
    return amount


def test_the_report_adds_up(tmp_path):
    """Two iterations, three calls of which one is refused, one charge."""
    scripts = iter(
        [
            lambda box: (box.call("ask", amount=5), box.call("nothing"), box.result(1)),
            lambda box: (box.call("ask", amount=7), box.result(10)),
        ]
    )

    async def work():
        made = harness(tmp_path, (ask,), lambda box: next(scripts)(box))
        budget = {"tokens": 10_000, "cost_usd": "1"}
        async with made, made.session(document(tools=["ask"], budget=budget)) as session:
            await session.run("1")
            session.charge("gpt-4o", {"input_tokens": 1000, "output_tokens": 100})
            await session.run("2")
            return await session.finish()

    result = asyncio.run(work())
    spending = result.to_json()["spending"]
    assert spending["by_tool"] == {
        "ask": {"calls": 2, "cost_usd": "0.002", "tokens": 12, "refused": 0},
        "nothing": {"calls": 1, "refused": 1},
    }
    assert [(each["iteration"], each["calls"]) for each in spending["by_iteration"]] == [(1, 2), (2, 1)]
    assert [(each["iteration"], each["tokens"], each["cost_usd"]) for each in spending["charges"]] == [
        (1, 1100, "0.0035")
    ]
    assert spending["headroom"]["tokens"] == {"left": 8888, "share": 0.8888, "metered": "charged"}
    assert spending["headroom"]["cost_usd"] == {"left": "0.9945", "share": 0.9945, "metered": "charged"}
    assert spending["headroom"]["iterations"] == {"left": 3, "share": 0.6, "metered": "host"}


def test_the_command_shows_it(tmp_path, monkeypatch):
    """`harness runs report RUN`, as tables and as JSON."""
    made = harness(tmp_path, (ask,), lambda box: (box.call("ask", amount=5), box.result(10)))
    result = made.run_sync(document(tools=["ask"], budget={"tokens": 100, "cost_usd": "1"}), "1")
    monkeypatch.chdir(tmp_path)
    Path("harness.yaml").write_text("tools: []\nstore: .harness\n")
    shown = CliRunner().invoke(report, [result.run, "--json"], standalone_mode=False)
    assert json.loads(shown.stdout) == result.to_json()["spending"]
    tables = CliRunner().invoke(report, [result.run], standalone_mode=False).stdout
    assert [title for title in ("by tool", "by iteration", "charged", "left") if title in tables.splitlines()] == [
        "by tool",
        "by iteration",
        "left",
    ]
