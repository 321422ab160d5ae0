"""Ending what runs, with real signals and processes: `harness cancel`, Ctrl-C once and twice, SIGTERM of a service.

Boxes gone, control groups gone, journal true, exit code 8.
"""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.e2e.test_approvals import ran
from tests.e2e.test_operations import groups, until

pytestmark = pytest.mark.bubblewrap

TOOLS = '''
import time
from pathlib import Path

from harness import tool

HERE = Path(__file__).parent


@tool(effect="write", timeout_s=300, preview="slow")
def slow() -> int:
    """Begin, and take five minutes."""
    (HERE / "begun").touch()
    time.sleep(300)
    return 1


@tool(effect="write", timeout_s=300, preview="stuck")
async def stuck() -> int:
    """Begin, and hold up the whole host."""
    (HERE / "begun").touch()
    for _ in range(3000):
        time.sleep(0.1)
    return 1
'''
CONTRACT: dict[str, Any] = {
    "contract": "slow",
    "version": 1,
    "output": {"schema": {}},
    "budget": {"tokens": 0, "cost_usd": "0", "wall_seconds": 300, "retries": 0, "iterations": 1},
    "permissions": {"tools": [{"tool": "slow"}, {"tool": "stuck"}]},
    "completion": {"success": "true"},
    "destination": [{"to": "file:results/${run.id}.json"}],
}
COMMAND = (sys.executable, "-m", "harness.front.cli.main")
Process = subprocess.Popen[bytes]


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with tools that take their time."""
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "harness.yaml").write_text("tools: [{python: tools.py}]\nsandbox: {backend: bubblewrap}\n")
    (tmp_path / "contract.json").write_text(json.dumps(CONTRACT))
    (tmp_path / "slow.py").write_text("from tools import slow\nreturn slow()\n")
    (tmp_path / "stuck.py").write_text("from tools import stuck\nreturn stuck()\n")
    return tmp_path


@pytest.fixture
def begin(host: Path) -> Iterator[Callable[..., tuple[Process, list[psutil.Process]]]]:
    """Start a command whose snippet is in the midst of an effect; the process, and those of its boxes."""
    begun: list[Process] = []

    def start(
        *words: str, said: bytes = b"", client: Callable[[Process], None] | None = None
    ) -> tuple[Process, list[psutil.Process]]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([*COMMAND, *words], cwd=host, **pipes)  # type: ignore[call-overload]
        begun.append(process)
        if said:
            process.stdin.write(said)
            process.stdin.flush()
        if client is not None:
            client(process)
        assert until((host / "begun").exists, 60)
        return process, psutil.Process(process.pid).children(recursive=True)

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def nothing_left(process: Process, boxes: list[psutil.Process]) -> bool:
    """Whether neither a process of its boxes nor a control group is left; boxes die with a host in a moment."""
    assert boxes
    return until(lambda: not any(box.is_running() for box in boxes), 10) and groups(process.pid) == []


def told(host: Path) -> tuple[str, str, list[str]]:
    """What the journal tells: status, reason and the calls' states."""
    (run,) = ran(host, "runs", "list")[1]
    shown = ran(host, "runs", "show", run["run"])[1]
    return shown["status"], shown["reason"], [call["state"] for call in shown["calls"]]


def test_a_live_run_is_cancelled_from_another_process(host: Path, begin: Any) -> None:
    """F10: its own process ends with 8 within its look at the fence; the effect in flight is UNKNOWN everywhere."""
    process, boxes = begin("run", "contract.json", "slow.py", "--json")
    (run,) = ran(host, "runs", "list")[1]
    status, cancelled = ran(host, "cancel", run["run"])
    assert (status, cancelled["reason"]["code"], cancelled["calls"][0]["state"]) == (8, "cancelled", "UNKNOWN")
    out, _ = process.communicate(timeout=60)
    document = json.loads(out)
    assert (process.returncode, document["reason"]["code"]) == (8, "cancelled")
    assert told(host) == ("ended", "cancelled", ["UNKNOWN"])
    assert nothing_left(process, boxes)
    assert ran(host, "audit", "verify")[0] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_one_signal_ends_a_run_in_order(host: Path, begin: Any, number: signal.Signals) -> None:
    """The record says so, and that nobody saw how the effect in flight ended."""
    process, boxes = begin("run", "contract.json", "slow.py", "--json")
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["reason"]["code"]) == (8, "cancelled")
    assert told(host) == ("ended", "cancelled", ["UNKNOWN"])
    assert nothing_left(process, boxes)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_two_signals_end_at_once(host: Path, begin: Any, number: signal.Signals) -> None:
    """Even where the host itself hangs: exit 8, no box, no control group; the run is left as by a killed host, and what
    it did can be found out or cancelled."""
    process, boxes = begin("run", "contract.json", "stuck.py", "--json")
    process.send_signal(number)
    assert process.stderr.readline().endswith(b"once more ends at once\n")
    process.send_signal(number)
    assert process.wait(30) == 8
    assert nothing_left(process, boxes)
    assert told(host)[::2] == ("running", ["DISPATCHED"])
    (run,) = ran(host, "runs", "list")[1]
    assert ran(host, "cancel", run["run"])[0] == 8
    assert told(host) == ("ended", "cancelled", ["UNKNOWN"])


def message(number: int, method: str, **params: Any) -> bytes:
    """One request of an MCP client."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


WHO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
SAID = (
    message(1, "initialize", **WHO)
    + b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
    + message(2, "tools/call", name="harness_run_slow", arguments={"snippet": "from tools import slow\nreturn slow()"})
)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_service_over_pipes_ends_in_order(host: Path, begin: Any, number: signal.Signals) -> None:
    """Its client hears how the run ended before the pipe does."""
    process, boxes = begin("mcp", "contract.json", said=SAID)
    process.send_signal(number)
    assert process.wait(60) == 8
    answers = [json.loads(line) for line in process.stdout.read().splitlines()]
    (answer,) = [each["result"]["structuredContent"] for each in answers if each.get("id") == 2]
    assert (answer["reason"], answer["outcome"]) == ("cancelled", "unresolved")
    assert told(host) == ("ended", "cancelled", ["UNKNOWN"])
    assert nothing_left(process, boxes)


def test_a_service_over_http_ends_in_order(host: Path, begin: Any) -> None:
    """While a client waits for an answer on an open connection."""
    process, boxes = begin("mcp", "contract.json", "--http", "127.0.0.1:0", "--unverified", client=ask_over_http)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 8
    assert told(host) == ("ended", "cancelled", ["UNKNOWN"])
    assert nothing_left(process, boxes)
    (line,) = [line for line in ANSWERS.get(timeout=60).splitlines() if line.startswith("data: {")]
    answer = json.loads(line.removeprefix("data: "))["result"]["structuredContent"]
    assert (answer["reason"], answer["outcome"]) == ("cancelled", "unresolved")


def ask_over_http(process: Process) -> None:
    """Send the call in a thread, which waits for its answer."""
    address = process.stderr.readline().split()[-1].decode()
    threading.Thread(target=post, args=(address,)).start()


ANSWERS: queue.SimpleQueue[str] = queue.SimpleQueue()


def post(address: str) -> None:
    """Say who asks, then call."""
    head = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with httpx2.Client(timeout=120, trust_env=False, headers=head) as client:
        for said in SAID.splitlines():
            answer = client.post(address, content=said)
            client.headers["mcp-session-id"] = answer.headers.get("mcp-session-id", "")
    ANSWERS.put(answer.text)
