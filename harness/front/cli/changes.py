"""What `policy diff` and `contract diff` print, and the exit status that a loosening gets."""

from collections.abc import Sequence

import click

from harness.contract.diff import Change, Direction
from harness.front.cli.options import print_json
from harness.front.cli.terminal import say

__all__ = ["EXIT_LOOSER", "deny_loosening", "show_changes"]

EXIT_LOOSER = 4

deny_loosening = click.option(
    "--deny-loosening", is_flag=True, help=f"Exit {EXIT_LOOSER} where a change lets more through."
)


def show_changes(changes: Sequence[Change], *, as_json: bool, deny: bool) -> int:
    """Print every change; the exit status."""
    looser = any(each.direction is Direction.LOOSER for each in changes)
    if as_json:
        print_json(
            {
                "looser": looser,
                "changes": [
                    {"key": each.key, "before": each.before, "after": each.after, "direction": each.direction.value}
                    for each in changes
                ],
            }
        )
    else:
        for each in changes:
            say(str(each))
        if not changes:
            say("nothing differs")
    return EXIT_LOOSER if deny and looser else 0
