"""`harness demo`: the main job on the demo's own files, every step shown."""

import asyncio
import importlib.resources
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.rule import Rule
from rich.syntax import Syntax

from harness.api import Harness
from harness.core.errors import EnvironmentUnavailable
from harness.front.cli.options import backend_option, console
from harness.front.cli.run import Submission, execute
from harness.front.cli.show import show_result
from harness.front.demo.tools import DATABASE_VARIABLE, build_database
from harness.report import RunResult

__all__ = ["demo", "run_demo"]

FILES = ("contract.yaml", "harness.yaml", "snippet.py")


@click.command()
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="Where to work; a new temporary one.")
@backend_option
def demo(folder: Path | None, backend: str | None) -> int:
    """Run a snippet against a real database, and show stubs, calls, budget and result."""
    place = folder or Path(tempfile.mkdtemp(prefix="harness-demo-"))
    result = run_demo(place, backend or "", console())
    return result.exit_code


def run_demo(folder: Path, backend: str, out: Console) -> RunResult:
    """Lay the demo's files into `folder`, run them, print every step. Raises EnvironmentUnavailable."""
    if find_spec("vega_datasets") is None:
        raise EnvironmentUnavailable("the demo's data set is not installed", hint="pip install --no-deps vega_datasets")
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        text = importlib.resources.files("harness.front.demo").joinpath(name).read_text("utf-8")
        (folder / name).write_text(text, "utf-8")
    database = folder / "airports.db"
    database.unlink(missing_ok=True)
    rows = build_database(database)
    os.environ[DATABASE_VARIABLE] = str(database)
    out.print(f"a database of {rows} airports: {escape(str(database))}")
    harness = Harness.from_file(folder / "harness.yaml", backend=backend)
    source = (folder / "snippet.py").read_text("utf-8")
    out.print(Rule("what the box finds under `tools`", align="left"))
    out.print(Syntax(harness.stubs(folder / "contract.yaml"), "python", background_color="default"))
    out.print(Rule("the snippet", align="left"))
    out.print(Syntax(source, "python", background_color="default"))
    out.print(Rule("the run", align="left"))
    result = asyncio.run(execute(harness, Submission(folder / "contract.yaml", source, {})))
    show_result(out, result)
    out.print(f"[dim]everything lies in {escape(str(folder))}[/dim]")
    return result
