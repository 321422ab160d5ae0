"""Bad contracts and bad snippets at the command line: exit 3 before anything starts, with place and way out."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.front.cli.main import main
from tests.e2e.host import Host, contract

BINDINGS = ("output", "budget", "permissions", "completion", "destination")


def refusal(host: Host, document: Any, snippet: bytes, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Exit status and the lines on the error output of `harness run`."""
    (host.folder / "contract.yaml").write_text(yaml.safe_dump(document), "utf-8")
    (host.folder / "snippet.py").write_bytes(snippet)
    files = [str(host.folder / name) for name in ("contract.yaml", "snippet.py", "harness.yaml")]
    with pytest.raises(SystemExit) as left:
        main(["run", files[0], files[1], "--host", files[2], "--backend", "bubblewrap"])
    said = capsys.readouterr().err.replace(str(host.folder) + "/", "")
    return int(left.value.code or 0), said.splitlines()


def changed(path: str, value: object) -> dict[str, Any]:
    """The good contract with one thing set, or taken away where `value` is None."""
    document = copy.deepcopy(contract(language="restricted"))
    *parents, last = path.split(".")
    place: Any = document
    for name in parents:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


CONTRACTS: dict[str, tuple[dict[str, Any], str]] = {
    **{f"without-{name}": (changed(name, None), f"`{name}` is missing") for name in BINDINGS},
    "unknown-key": (changed("colour", "red"), "`colour`"),
    "unknown-key-inside": (changed("budget.tokns", 3), "`tokns`"),
    "negative": (changed("budget.wall_seconds", -1), "wall_seconds"),
    "NaN": (changed("budget.wall_seconds", float("nan")), "wall_seconds"),
    "infinite": (changed("budget.wall_seconds", float("inf")), "wall_seconds"),
    "text": (changed("budget.iterations", "many"), "iterations"),
    "CEL-unknown-field": (
        {**changed("completion.success", "output.verson > 1"), "output": {"schema": {
            "type": "object", "properties": {"version": {"type": "integer"}}, "additionalProperties": False}}},
        "verson",
    ),
    "CEL-types": (changed("completion.success", "run.iteration == 'one'"), "completion.success"),
    "CEL-syntax": (changed("completion.success", "output.("), "completion.success"),
    "scope-over-nothing": (
        changed("permissions.tools", [{"tool": "echo", "scope": {"colour": "red"}}]), "colour",
    ),
    "tool-not-registered": (changed("permissions.tools", [{"tool": "ecko"}]), "`ecko`"),
}  # fmt: skip


@pytest.mark.parametrize(("document", "named"), CONTRACTS.values(), ids=CONTRACTS.keys())
def test_a_bad_contract(
    tmp_path: Path, document: dict[str, Any], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3; the fault names the file, what is wrong, and a way out; nothing ran and no run was recorded."""
    host = Host.at(tmp_path)
    status, lines = refusal(host, document, b"return {}", capsys)
    assert status == 3
    assert any(line.startswith("refused: ") and "contract.yaml" in line and named in line for line in lines), lines
    assert not (tmp_path / "results").exists()


SNIPPETS: dict[str, tuple[bytes, str]] = {
    "syntax-error-C06": (b"x = 1\nreturn (", "line 2"),
    "empty": (b"", "the snippet is empty"),
    "only-blanks": (b" \n\n", "the snippet is empty"),
    "1-MB": (b"x = 1\n" * 175_000, "the snippet has 1050000 bytes; at most 131072 are taken"),
    "fences-inside": (b"x = 1\n```python\nreturn x\n```", "line 2"),
    "import-os-A14": (b"import os\nos.system('id')\nreturn {}", "`os`"),
}


@pytest.mark.parametrize(("snippet", "named"), SNIPPETS.values(), ids=SNIPPETS.keys())
def test_a_bad_snippet(tmp_path: Path, snippet: bytes, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A14, C06, D16: the whole snippet is refused before its first line runs: exit 3, with the place."""
    status, lines = refusal(Host.at(tmp_path), contract(language="restricted"), snippet, capsys)
    assert status == 3
    assert any(line.startswith("refused: ") and named in line for line in lines), lines


GOOD: dict[str, bytes] = {
    "fences-around": b"```python\nreturn {'n': 1}\n```\n",
    "byte-order-mark": b"\xef\xbb\xbfreturn {'n': 1}\n",
    "CRLF": b"x = 1\r\nreturn {'n': x}\r\n",
}


@pytest.mark.bubblewrap
@pytest.mark.parametrize("snippet", GOOD.values(), ids=GOOD.keys())
def test_what_editors_and_models_add(tmp_path: Path, snippet: bytes) -> None:
    """A mark, line ends of another system and one pair of fences around the whole change nothing."""
    result = Host.at(tmp_path, setting="bubblewrap").run(snippet.decode("utf-8"), language="restricted")
    assert (result.exit_code, result.result) == (0, {"n": 1})
