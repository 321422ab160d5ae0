"""Waiting for a person with the real command and a real box: pause, show, decide with a key of ssh-keygen, resume."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.approvals.hooks import hook
from tests.e2e.test_cli import harness

pytestmark = pytest.mark.bubblewrap

TOOLS = '''
from pathlib import Path

from harness import tool


@tool(effect="destructive", preview="remove {name}")
def remove(name: str) -> str:
    """Remove a thing for good."""
    with open(Path(__file__).parent / "acts", "a") as file:
        file.write(name + "\\n")
    return name


@tool(effect="write", preview="write {name}", approval="always")
def write(name: str) -> str:
    """Write a thing."""
    with open(Path(__file__).parent / "acts", "a") as file:
        file.write(name + "\\n")
    return name


@tool(effect="read")
def tell(text: str) -> int:
    """Tell the host what the snippet sees."""
    with open(Path(__file__).parent / "notes", "a") as file:
        file.write(text + "\\n")
    return len(text)
'''
CONTRACT: dict[str, Any] = {
    "contract": "things",
    "version": 1,
    "output": {"schema": {"type": "array"}},
    "budget": {
        "tokens": 0,
        "cost_usd": "0",
        "wall_seconds": 30,
        "retries": 0,
        "iterations": 1,
        "calls": 20,
        "output_bytes": 100_000,
    },
    "permissions": {"tools": [{"tool": "remove"}, {"tool": "write"}, {"tool": "tell"}]},
    "completion": {"success": "size(output) >= 1"},
    "destination": [{"to": "file:results/${run.id}.json"}],
    "sandbox": {"language": "restricted", "imports": ["asyncio", "datetime", "random", "time", "threading", "uuid"]},
}
GATHER = """
import asyncio, datetime, random, time, uuid
from tools import remove, tell, write

seen = [random.random(), time.time(), str(uuid.uuid4()), datetime.datetime.now().isoformat()]
await tell(repr(seen))
done = await asyncio.gather(remove("a"), write("b"), write("c"), return_exceptions=True)
[*seen, *[each if isinstance(each, str) else type(each).__name__ for each in done]]
"""
THREADS = """
import threading
from tools import write

done = []
def work(name):
    done.append(write(name))
threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
for each in threads: each.start()
for each in threads: each.join()
sorted(done)
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with two gated tools and an approver whose key lies in `boss`."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "boss")], check=True)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "contract.json").write_text(json.dumps(CONTRACT))
    policy = {
        "policy": "things",
        "version": 1,
        "approvers": [{"name": "boss", "keys": [(tmp_path / "boss.pub").read_text().strip()]}],
    }
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    (tmp_path / "harness.yaml").write_text("tools:\n  - python: tools.py\npolicy: policy.json\n")
    return tmp_path


def ran(host: Path, *arguments: str, stdin: str = "") -> tuple[int, Any]:
    """Exit status and JSON document of a command."""
    status, out, err = harness(*arguments, "--json", cwd=host, stdin=stdin)
    assert out, err
    return status, json.loads(out)


def submit(host: Path, snippet: str, backend: str = "bubblewrap") -> tuple[int, Any]:
    return ran(host, "run", "contract.json", "-", "--backend", backend, stdin=snippet)


def acts(host: Path) -> list[str]:
    return (host / "acts").read_text().split() if (host / "acts").exists() else []


BACKENDS = [pytest.param("bubblewrap"), pytest.param("docker", marks=pytest.mark.docker)]


@pytest.mark.parametrize("language", ["restricted", "plain"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gathered_turn_is_one_bundle_which_the_command_shows_and_decides(
    host: Path, backend: str, language: str
) -> None:
    """F05: the process that asked is gone; the decision is signed, the run goes on, chance and clocks are the same."""
    contract = {**CONTRACT, "sandbox": {**CONTRACT["sandbox"], "language": language}}
    (host / "contract.json").write_text(json.dumps(contract))
    status, paused = submit(host, GATHER, backend)
    assert (status, paused["reason"]["code"]) == (6, "paused")
    (bundle,) = ran(host, "approvals", "list")[1]
    assert [call["preview"] for call in bundle["calls"]] == ["remove a", "write b", "write c"]
    reference = bundle["reference"]
    assert harness("approvals", "decide", reference, "--all", "--key", "boss", cwd=host)[0] == 2
    status, decided = ran(
        host, "approvals", "decide", reference, "--approve", "1.2", "--deny", "1.4", "--all", "--key", "boss"
    )
    assert (status, decided["code"], acts(host)) == (0, "taken", [])
    status, result = ran(host, "resume", paused["run"], "--backend", backend)
    assert (status, result["reason"]["code"]) == (0, "contract_passed"), result
    (seen,) = (host / "notes").read_text().splitlines()
    assert (repr(result["result"][:4]), result["result"][4:]) == (seen, ["a", "b", "ApprovalRejected"])
    assert sorted(acts(host)) == ["a", "b"]
    status, shown = ran(host, "runs", "show", paused["run"])
    assert [call["state"] for call in shown["asked"][0]["calls"]] == ["used", "used", "denied"]
    assert (shown["status"], shown["asked"][0]["decided_by"], shown["attempt"]) == ("ended", "boss", 2)
    assert ran(host, "runs", "list")[1][0]["run"] == paused["run"]
    assert harness("audit", "verify", cwd=host)[0] == 0


def test_threads_wait_in_one_bundle_and_happen_once(host: Path) -> None:
    """Three threads block in gated calls; nothing of the paused run is left on the machine."""
    status, paused = submit(host, THREADS)
    assert status == 6, paused
    (bundle,) = ran(host, "approvals", "list")[1]
    assert len(bundle["calls"]) == 3
    assert ran(host, "approvals", "decide", bundle["reference"], "--all", "--key", "boss")[0] == 0
    status, result = ran(host, "resume", paused["run"], "--backend", "bubblewrap")
    assert (status, result["result"], sorted(acts(host))) == (0, ["a", "b", "c"], ["a", "b", "c"])


def test_a_cancelled_run_ends_with_8(host: Path) -> None:
    """What it asked is withdrawn; it is not resumed any more."""
    _, paused = submit(host, GATHER)
    status, cancelled = ran(host, "cancel", paused["run"])
    assert (status, cancelled["reason"]["code"]) == (8, "cancelled")
    assert ran(host, "approvals", "list")[1] == []
    assert harness("resume", paused["run"], cwd=host)[0] == 1


SLOW = """
import random, time
from tools import note
first = note("one")
seen = [random.random(), time.time()]
time.sleep(2)
second = note("two")
[*seen, first, second]
"""


def test_a_host_that_is_killed_is_resumed_in_another_process(host: Path) -> None:
    """F10: SIGKILL in the middle of a real box; the effect before it is not made again, and the rest happens."""
    tools = (host / "tools.py").read_text()
    written = TOOLS.split('@tool(effect="write"')[1].split("@tool")[0]
    note = written.replace(', approval="always"', "").replace("def write", "def note")
    (host / "tools.py").write_text(tools + '\n\n@tool(effect="write"' + note)
    contract = {**CONTRACT, "permissions": {"tools": [{"tool": "note"}]}}
    (host / "contract.json").write_text(json.dumps(contract))
    (host / "snippet.py").write_text(SLOW)
    command = [sys.executable, "-m", "harness.front.cli.main", "run", "contract.json", "snippet.py"]
    process = subprocess.Popen([*command, "--backend", "bubblewrap"], cwd=host, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while acts(host) != ["one"]:
        assert time.monotonic() < until, "the first effect did not come"
        time.sleep(0.02)
    time.sleep(0.3)
    process.kill()
    process.wait(20)
    (run,) = ran(host, "runs", "list")[1]
    assert run["status"] == "running"
    status, result = ran(host, "resume", run["run"], "--backend", "bubblewrap")
    assert (status, result["result"][2:]) == (0, ["one", "two"]), result
    assert acts(host) == ["one", "two"]
    assert harness("audit", "verify", cwd=host)[0] == 0


def test_a_held_box_goes_on_where_it_was(host: Path) -> None:
    """hold_seconds: frozen, then thawed by the decision; no second attempt."""
    contract = {**CONTRACT, "approval": {"hold_seconds": 30}}
    (host / "contract.json").write_text(json.dumps(contract))
    (host / "snippet.py").write_text(GATHER)
    command = [sys.executable, "-m", "harness.front.cli.main", "run", "contract.json", "snippet.py", "--json"]
    process = subprocess.Popen([*command, "--backend", "bubblewrap"], cwd=host, stdout=subprocess.PIPE)
    until = time.monotonic() + 60
    waiting: list[Any] = []
    while not waiting:
        assert time.monotonic() < until, "nothing was asked"
        time.sleep(0.2)
        if (host / ".harness" / "journal.db").exists():
            waiting = ran(host, "approvals", "list")[1]
    status, _ = ran(host, "approvals", "decide", waiting[0]["reference"], "--all", "--approve", "1.2", "--key", "boss")
    assert status == 0
    out, _ = process.communicate(timeout=60)
    result = json.loads(out)
    assert (process.returncode, result["result"][4:]) == (0, ["a", "b", "c"]), result
    assert ran(host, "runs", "show", result["run"])[1]["attempt"] == 1


def test_a_command_that_pauses_has_told_people_before_it_ends(host: Path) -> None:
    """The event goes to the host's hook beside the run, and is not lost where the process ends at once."""
    with hook() as listener:
        policy = json.loads((host / "policy.json").read_text())
        (host / "policy.json").write_text(json.dumps({**policy, "private_hosts": ["127.0.0.1"]}))
        with (host / "harness.yaml").open("a") as file:
            file.write(f"announce: {listener.url}\n")
        assert submit(host, GATHER)[0] == 6
        ((_, _, event),) = listener.told
    assert event["data"]["reference"] == ran(host, "approvals", "list")[1][0]["reference"]


def test_a_mapped_table_is_one_decision(host: Path) -> None:
    """`.map(rows)` puts a whole table to one decision, with its totals."""
    snippet = 'from tools import write\nwrite.map([{"name": str(n)} for n in range(20)])\n'
    _, paused = submit(host, snippet)
    (bundle,) = ran(host, "approvals", "list")[1]
    assert (len(bundle["calls"]), bundle["totals"]["write"]["calls"]) == (20, 20)
    assert ran(host, "approvals", "decide", bundle["reference"], "--all", "--key", "boss")[0] == 0
    status, result = ran(host, "resume", "--backend", "bubblewrap")
    assert (status, result["run"], len(result["result"])) == (0, paused["run"], 20)
    assert sorted(acts(host), key=int) == [str(n) for n in range(20)]
