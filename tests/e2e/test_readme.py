"""The README's example, taken from its text and run as written."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)


@pytest.mark.bubblewrap
def test_the_example_of_the_readme_is_accepted(tmp_path: Path) -> None:
    """Tool, contract and snippet of the README run through the command, and the version comes back."""
    tool, snippet = blocks("python")[:2]
    (tmp_path / "tools.py").write_text(tool)
    (tmp_path / "contract.yaml").write_text(blocks("yaml")[0])
    (tmp_path / "snippet.py").write_text(snippet)
    (tmp_path / "harness.yaml").write_text("tools: [{python: tools.py}]\n")
    command = [sys.executable, "-m", "harness.front.cli.main"]
    checked = subprocess.run(
        [*command, "check", "contract.yaml", "snippet.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (checked.stdout, checked.returncode) == ("ok\n", 0), checked.stderr
    ran = subprocess.run(
        [*command, "run", "contract.yaml", "snippet.py", "--json", "--backend", "bubblewrap"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["result"] == {"version": 2}


def test_the_commands_of_the_readme_exist() -> None:
    """`make demo` and `make test` are targets."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    named = set(re.findall(r"^\$ make (\w+)", "\n".join(blocks("console")), re.M))
    assert named == {"demo", "test"}
    assert named <= targets


def test_every_linked_file_of_the_readme_exists() -> None:
    """A link that leads nowhere is a promise that nobody keeps."""
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text("utf-8"))
    local = [link for link in links if not link.startswith("http")]
    assert [link for link in local if not (ROOT / link).exists()] == []
