"""`harness init`: a working host file, a tool, a contract and a snippet to start from."""

import importlib.resources
from pathlib import Path

import click

from harness.front.cli.terminal import say

__all__ = ["FILES", "init"]

FILES = ("harness.yaml", "tools.py", "contract.yaml", "snippet.py")


@click.command()
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Write the files into FOLDER; nothing that is there is overwritten."""
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise click.UsageError(f"{', '.join(there)} in `{folder}` would be overwritten; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    source = importlib.resources.files("harness.front.starter")
    for name in FILES:
        (folder / name).write_text(source.joinpath(name).read_text("utf-8"), "utf-8")
    change = "" if folder == Path(".") else f"cd {folder} && "
    say(f"wrote {', '.join(FILES)} into {folder}")
    say("next:")
    say(f"  {change}harness check contract.yaml snippet.py")
    say(f"  {change}harness run contract.yaml snippet.py")
