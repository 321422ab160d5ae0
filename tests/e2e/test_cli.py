"""The command: what it prints, and the exit status that goes with each ending."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap


def harness(*arguments: str, cwd: Path, stdin: str = "") -> tuple[int, str, str]:
    """Exit status, standard output and error of the command."""
    ran = subprocess.run(
        [sys.executable, "-m", "harness.front.cli.main", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        input=stdin,
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder as `harness init` writes it."""
    assert harness("init", ".", cwd=tmp_path)[0] == 0
    return tmp_path


def run_json(host: Path, snippet: str, *more: str) -> tuple[int, Any]:
    """Exit status and document of `harness run` over a snippet on standard input."""
    status, out, err = harness(
        "run", "contract.yaml", "-", "--json", "--backend", "bubblewrap", *more, cwd=host, stdin=snippet
    )
    return status, json.loads(out or err)


def test_what_init_writes_checks_and_runs(host: Path) -> None:
    """The next two commands that it names work as they stand."""
    assert harness("check", "contract.yaml", "snippet.py", cwd=host)[:2] == (0, "ok\n")
    status, out, _ = harness("run", "contract.yaml", "snippet.py", "--json", cwd=host)
    assert (status, json.loads(out)["result"]) == (0, {"missing": ["pears"], "total": 52})


def test_init_overwrites_nothing(host: Path) -> None:
    """A second init in the same folder is wrong usage and changes no file."""
    before = (host / "tools.py").read_bytes()
    assert harness("init", ".", cwd=host)[0] == 2
    assert (host / "tools.py").read_bytes() == before


ENDINGS = {
    "accepted": ("return {'missing': [], 'total': 1}", 0, ("accepted", "contract_passed")),
    "success-false": ("return {'missing': [], 'total': 0}", 4, ("rejected", "contract_failed")),
    "output-invalid": ("return {'total': 1}", 4, ("rejected", "output_invalid")),
    "nothing": ("x = 1", 4, ("rejected", "output_missing")),
    "raises": ("1 / 0", 4, ("rejected", "snippet_failed")),
    "endless": ("while True: pass", 5, ("rejected", "budget_exhausted")),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_each_ending_has_its_exit_status(host: Path, name: str) -> None:
    """Outcome, reason and exit status go together."""
    snippet, wanted, ending = ENDINGS[name]
    text = (host / "contract.yaml").read_text().replace("wall_seconds: 30", "wall_seconds: 2")
    (host / "contract.yaml").write_text(text)
    status, document = run_json(host, snippet)
    assert (status, document["outcome"], document["reason"]["code"]) == (wanted, *ending)


def test_a_refused_snippet_names_rule_line_and_way_out(host: Path) -> None:
    """A14, D16: exit 3 before anything starts, as JSON with every fault."""
    status, document = run_json(host, "x = 1\nimport os\n")
    assert (status, document["refused"]) == (3, True)
    (fault,) = document["faults"]
    assert (fault["line"], bool(fault["message"]), bool(fault["hint"])) == (2, True, True)


def test_wrong_usage_exits_2(host: Path) -> None:
    """An input that is not of the form name=value never starts a run."""
    assert harness("run", "contract.yaml", "snippet.py", "--input", "x", cwd=host)[0] == 2


def test_a_missing_engine_exits_7(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E10: the engine that was asked for does not answer; the sentence says what to do."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{host}/nothing.sock")
    status, _, err = harness("run", "contract.yaml", "snippet.py", "--backend", "docker", cwd=host)
    assert status == 7
    assert "hint:" in err


def test_the_record_is_whole_until_someone_edits_it(host: Path) -> None:
    """F15: `audit verify` passes after a run and names the place after an edit."""
    assert run_json(host, "return {'missing': [], 'total': 1}")[0] == 0
    assert harness("audit", "verify", cwd=host)[:2] == (0, "the record is whole\n")


def test_tools_and_contract_are_explained(host: Path) -> None:
    """`tools list` and `contract explain` say what there is."""
    status, out, _ = harness("tools", "list", "--json", cwd=host)
    assert (status, [tool["name"] for tool in json.loads(out)["tools"]]) == (0, ["list_stock"])
    status, out, _ = harness("contract", "explain", "contract.yaml", cwd=host)
    assert status == 0
    assert "list_stock" in out
