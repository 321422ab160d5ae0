"""`harness policy`: the policy line by line with reasons, and what a change of it lets through."""

from pathlib import Path
from typing import Any

import click

from harness.contract.load import load_policy
from harness.contract.policy import BUILT_IN, Policy
from harness.contract.policy_diff import policy_diff
from harness.contract.policy_lines import explain_policy
from harness.front.cli.changes import deny_loosening, show_changes
from harness.front.cli.options import json_option, print_json
from harness.front.cli.terminal import say
from harness.sandbox.isolation import WALLS
from harness.sandbox.seccomp import RULES
from harness.sandbox.spec import SETTINGS, SandboxSpec

__all__ = ["diff", "explain", "policy"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def policy() -> None:
    """Explain and compare policies."""


@policy.command()
@click.argument("file", required=False, type=FILE)
@json_option
def explain(file: Path | None, as_json: bool) -> None:
    """Every line that holds, with its source, its reason and its threat: the policy in FILE, else the built-in one."""
    chosen = load_policy(file) if file is not None else BUILT_IN
    document = _document(chosen)
    if as_json:
        print_json(document)
        return
    say(f"policy {chosen.policy}, version {chosen.version}\n")
    for part in ("policy", "box", "walls", "system_calls"):
        say(f"# {part.replace('_', ' ')}")
        for line in document[part]:
            threat = f"; without it: {line['threat']}" if line.get("threat") else ""
            say(f"{line['key']} = {_text(line['value'])} [{line['source']}]: {line['reason']}{threat}")
        say("")


@policy.command()
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@deny_loosening
@json_option
def diff(before: Path, after: Path, deny_loosening: bool, as_json: bool) -> int:
    """What got looser and what stricter from BEFORE to AFTER."""
    changes = policy_diff(load_policy(before), load_policy(after))
    return show_changes(changes, as_json=as_json, deny=deny_loosening)


def _document(chosen: Policy) -> dict[str, Any]:
    usual = SandboxSpec()
    return {
        "id": chosen.policy,
        "version": chosen.version,
        "policy": [
            {"key": each.key, "value": each.value, "source": each.source, "reason": each.reason, "threat": each.threat}
            for each in explain_policy(chosen)
        ],
        "box": [
            {
                "key": each.name,
                "value": getattr(usual, each.name),
                "source": "default, narrowed by the contract's budget",
                "reason": each.reason,
                "threat": each.threat,
            }
            for each in SETTINGS
        ],
        "walls": [
            {
                "key": wall.name,
                "value": wall.holds,
                "source": "always",
                "reason": f"docker: {wall.docker}; bubblewrap: {wall.bubblewrap}",
                "threat": wall.threat,
            }
            for wall in WALLS
        ],
        "system_calls": [
            {"key": rule.names, "value": rule.stage.value, "source": "always", "reason": rule.reason, "threat": ""}
            for rule in RULES
        ],
    }


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "not limited" if value is None else str(value)
