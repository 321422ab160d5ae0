"""The command where its standard streams are closed, full, gone or of another encoding."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.ledger.audit import verify

pytestmark = pytest.mark.bubblewrap

COMMAND = f"{sys.executable} -m harness.front.cli.main"
RUN = f"{COMMAND} run contract.yaml snippet.py --backend bubblewrap"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder as `harness init` writes it."""
    subprocess.run(f"{COMMAND} init", cwd=tmp_path, shell=True, check=True, capture_output=True, timeout=60)
    return tmp_path


def shell(line: str, cwd: Path, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Exit status, standard output and error of a line of bash."""
    ran = subprocess.run(["bash", "-c", line], cwd=cwd, env=env, capture_output=True, encoding="utf-8", timeout=120)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere(host: Path, closed: str) -> None:
    """The run ends as ever, and no print ever lands in the journal that got the free number."""
    status, _, error = shell(f"{RUN} --json {closed}", host)
    assert (status, error) == (0, "")
    assert [json.loads(path.read_text()) for path in host.glob("results/*.json")] == [
        {"missing": ["pears"], "total": 52}
    ]
    assert verify(host / ".harness/journal.db") == []


def test_a_snippet_from_a_closed_stdin_is_empty(host: Path) -> None:
    """Refused like an empty one."""
    status, _, error = shell(f"{COMMAND} run contract.yaml - <&-", host)
    assert (status, error.splitlines()[0].partition(" (")[0]) == (3, "refused: line 1: the snippet is empty")


@pytest.mark.parametrize("form", ["--json", ""])
def test_a_full_disk_under_the_output_is_said_once(host: Path, form: str) -> None:
    """Exit 1 with one sentence, and the result is delivered all the same."""
    said = "error: the output cannot be written: No space left on device\n"
    assert shell(f"{RUN} {form} >/dev/full", host) == (1, "", f"{said}  hint: what has run is in `harness runs list`\n")
    assert len(list(host.glob("results/*.json"))) == 1


@pytest.mark.parametrize("form", ["--json", ""])
def test_a_reader_that_goes_away_is_said_once(host: Path, form: str) -> None:
    """Exit 1 with one sentence, no traceback."""
    status, _, error = shell(f"{RUN} {form} | true; echo ${{PIPESTATUS[0]}} >&2", host)
    assert status == 0
    assert error == (
        "error: the output cannot be written: Broken pipe\n  hint: what has run is in `harness runs list`\n1\n"
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_encoding_shows_every_character(host: Path, encoding: str) -> None:
    """As itself where the encoding has it, else as an escape; JSON is the same document in each."""
    (host / "snippet.py").write_text('print("é 😀")\nreturn {"missing": ["é 😀"], "total": 1}\n', "utf-8")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(host), "LC_ALL": "POSIX", "PYTHONUTF8": "0"}
    env |= {"PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": encoding}
    ran = subprocess.run(f"{RUN} --json", shell=True, cwd=host, env=env, capture_output=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout.decode(encoding))["result"] == {"missing": ["é 😀"], "total": 1}
    ran = subprocess.run(RUN, shell=True, cwd=host, env=env, capture_output=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, b"")
    shown = "é 😀".encode(encoding, "backslashreplace")
    assert ran.stdout.count(shown) == 2


def test_wrong_usage_is_a_document_too(host: Path) -> None:
    """With `--json` standard output holds one document whatever happens."""
    status, out, error = shell(f"{COMMAND} run nowhere.yaml snippet.py --json", host)
    assert (status, error) == (2, "")
    assert json.loads(out) == {
        "refused": True,
        "exit_code": 2,
        "faults": [
            {
                "code": "usage",
                "message": "Invalid value for 'CONTRACT': File 'nowhere.yaml' does not exist.",
                "hint": "",
                "file": "",
                "line": 0,
                "column": 0,
                "key": "",
            }
        ],
    }
