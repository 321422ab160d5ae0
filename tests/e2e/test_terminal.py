"""What snippets and tools say reaches a terminal as text: nothing in it steers the terminal or forges a line."""

import ast
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from harness.front.cli.terminal import TerminalConsole, json_text, visible
from tests.architecture.source import modules, name, tree

ODD = "a\x1b[2Jb\x1b]0;title\x07c\rd\x9b31me\x7ff\u202eg\u200bh\ud83di"
SHOWN = "a\\u001b[2Jb\\u001b]0;title\\u0007c\\u000dd\\u009b31me\\u007ff\\u202eg\\u200bh\\ud83di"

WRITERS = {"echo", "secho", "print_exception", "print_exc"}


def test_controls_stand_as_escapes() -> None:
    """ESC, BEL, CR, C1, DEL, bidirectional and zero-width marks, surrogates; tab, line feed and joiners stay."""
    assert visible(ODD) == SHOWN
    assert visible("x\ty\nz 👩\u200d👩 é") == "x\ty\nz 👩\u200d👩 é"


def test_json_for_people_is_the_same_document() -> None:
    """Escaped for a terminal, and equal to what was given."""
    document = {"a\\": [ODD, "é"]}
    text = json_text(document)
    assert json.loads(text) == document
    assert "é" in text
    assert not any(character in text for character in "\x1b\x07\r\x9b\x7f\u202e\u200b\ud83d")


def test_a_console_writes_no_controls_but_its_own() -> None:
    """In a text, in a table, in a title: on a terminal with colours. (The library itself drops BEL and CR.)"""
    file = io.StringIO()
    console = TerminalConsole(file=file, force_terminal=True, color_system="standard", width=200)
    table = Table(title=ODD)
    table.add_column(ODD)
    table.add_row(ODD)
    console.print(f"[red]{visible('')}[/red]", ODD, table)
    written = file.getvalue()
    assert "a\\u001b[2Jb\\u001b]0;title" in written
    assert not any(character in written for character in "\x07\r\x9b\x7f\u202e\u200b\ud83d")
    assert "\x1b[2J" not in written


@pytest.mark.bubblewrap
def test_a_run_shows_hostile_texts_as_text(tmp_path: Path) -> None:
    """Printed, raised and returned: no control reaches standard output or error."""
    command = [sys.executable, "-m", "harness.front.cli.main"]
    subprocess.run([*command, "init"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    snippet = 'print("a\\x1b[2Jb\\x9b31m\\rc")\nraise ValueError("d\\x1b]0;t\\x07e")'
    ran = subprocess.run(
        [*command, "run", "contract.yaml", "-", "--backend", "bubblewrap"],
        cwd=tmp_path,
        input=snippet,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert ran.returncode == 4
    assert "a\\u001b[2Jb\\u009b31mc" in ran.stdout
    assert "ValueError: d\\u001b]0;te" in ran.stdout
    assert not any(character in ran.stdout + ran.stderr for character in "\x1b\x07\r\x9b")


def test_commands_write_through_the_terminal_module_alone() -> None:
    """`say`, `print_json` and `console()`: the ways that make texts visible."""
    others = [
        f"{name(path)}:{node.lineno}"
        for path in modules("harness")
        if "front/cli" in name(path) and path.name != "terminal.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Attribute) and node.func.attr in WRITERS)
            or (isinstance(node.func, ast.Name) and node.func.id in ("print", "Console"))
        )
    ]
    assert others == []
