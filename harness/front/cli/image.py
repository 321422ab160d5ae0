"""`harness image`: the image of the box."""

import click

from harness.front.cli.options import json_option, print_json
from harness.front.cli.terminal import say
from harness.sandbox.endpoint import find_endpoint
from harness.sandbox.image import build_image

__all__ = ["build", "image"]


@click.group()
def image() -> None:
    """Build the image of the box."""


@image.command()
@click.option("--base", default="", help="Build on this image, and on no other.")
@click.option("--from-host", is_flag=True, help="Build on this host's Python, and on nothing else.")
@json_option
def build(base: str, from_host: bool, as_json: bool) -> None:
    """Build it once, or find the one that was built of the same inputs."""
    if base and from_host:
        raise click.UsageError("give --base or --from-host, not both")
    made = build_image(find_endpoint(), base=base, from_host=from_host)
    if as_json:
        print_json({"image": made.id, "origin": made.origin.value, "base": made.base, "note": made.note})
        return
    say(f"{made.id} ({made.origin.value}, on {made.base})")
    if made.note:
        say(made.note, err=True)
