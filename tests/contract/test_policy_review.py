"""A policy as a reviewer reads it: every line with source, reason and threat; what a change lets through."""

from pathlib import Path
from typing import Any

import pytest

from harness.contract.diff import Direction
from harness.contract.load import load_policy
from harness.contract.policy import BUILT_IN, Ceilings, Policy
from harness.contract.policy_diff import policy_diff
from harness.contract.policy_lines import LINES, explain_policy
from harness.front.cli.main import main

LOOSER, STRICTER, OTHER = Direction.LOOSER, Direction.STRICTER, Direction.OTHER
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA"


def test_every_key_has_a_line() -> None:
    """No key of the policy without a reason and a threat, and no line without its key."""
    fields = set(Policy.model_fields) - {"policy", "version", "ceilings", "approval"}
    wanted = fields | {f"ceilings.{name}" for name in Ceilings.model_fields}
    wanted |= {f"approval.{name}" for name in ("read", "write", "destructive")}
    assert set(LINES) == wanted
    assert [key for key, line in LINES.items() if not (line.reason and line.threat)] == []
    assert {each.key for each in explain_policy(BUILT_IN)} == wanted


def test_a_line_says_where_it_stands(tmp_path: Path) -> None:
    """What the file states has file and line, everything else is the default."""
    file = tmp_path / "policy.yaml"
    file.write_text("policy: ours\nversion: 2\nceilings:\n  memory_mb: 512\nlanguages: [restricted]\n")
    found = {each.key: (each.value, each.source) for each in explain_policy(load_policy(file))}
    assert found["ceilings.memory_mb"] == (512, f"{file}:4")
    assert found["languages"] == (["restricted"], f"{file}:5")
    assert found["ceilings.pids"] == (128, "default")


def policy(**stated: Any) -> Policy:
    """A policy that states one thing."""
    return Policy.model_validate({"policy": "p", "version": 1, **stated})


PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, Direction]]]] = {
    "ceiling-up": ({}, {"ceilings": {"calls": 30_000}}, [("ceilings.calls", LOOSER)]),
    "ceiling-down": ({}, {"ceilings": {"cost_usd": "1"}}, [("ceilings.cost_usd", STRICTER)]),
    "import-more": ({"imports": ["json"]}, {"imports": ["json", "re"]}, [("imports.re", LOOSER)]),
    "import-less": ({"imports": ["json", "re"]}, {"imports": ["re"]}, [("imports.json", STRICTER)]),
    "tools-all": ({"tools": ["a"]}, {}, [("tools", LOOSER)]),
    "tools-some": ({}, {"tools": ["a"]}, [("tools", STRICTER)]),
    "tool-more": ({"tools": ["a"]}, {"tools": ["a", "b"]}, [("tools.b", LOOSER)]),
    "approval-down": ({}, {"approval": {"destructive": "none"}}, [("approval.destructive", LOOSER)]),
    "approval-up": ({}, {"tool_approval": {"pay": "always"}}, [("tool_approval.pay", STRICTER)]),
    "approver-more": ({}, {"approvers": [{"name": "ann", "keys": [KEY]}]}, [("approvers.ann", LOOSER)]),
    "fewer-people": ({"approvals_needed": 2}, {}, [("approvals_needed", LOOSER)]),
    "grants": ({}, {"grants": True}, [("grants", LOOSER)]),
    "masks": ({}, {"mask_unlabelled": True}, [("mask_unlabelled", STRICTER)]),
    "caller-line": ({}, {"callers": {"repair": ["ann"]}}, [("callers.repair", STRICTER)]),
    "caller-line-gone": ({"callers": {"repair": ["ann"]}}, {}, [("callers.repair", LOOSER)]),
    "caller-more": (
        {"callers": {"repair": ["ann"]}}, {"callers": {"repair": ["ann", "bob"]}}, [("callers.repair.bob", LOOSER)],
    ),
    "secret-more": ({}, {"secrets": {"DB": {"fields": ["destination"]}}}, [("secrets.DB", LOOSER)]),
    "secret-everywhere": (
        {"secrets": {"DB": {"hosts": ["db"]}}}, {"secrets": {"DB": {}}}, [("secrets.DB.hosts", LOOSER)],
    ),
    "private": ({}, {"private_hosts": ["10.0.0.1"]}, [("private_hosts.10.0.0.1", LOOSER)]),
    "read-age": ({}, {"max_read_age": "1h"}, [("max_read_age", STRICTER)]),
    "default-language": (
        {"languages": ["restricted", "plain"]}, {"languages": ["plain", "restricted"]}, [("languages[0]", LOOSER)],
    ),
    "claims": ({}, {"claims": {"ann": {"tenant": "acme"}}}, [("claims", OTHER)]),
    "nothing": ({}, {}, []),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), PAIRS.values(), ids=PAIRS.keys())
def test_a_change_says_what_it_does(
    before: dict[str, Any], after: dict[str, Any], expected: list[tuple[str, Direction]]
) -> None:
    """Looser, stricter, or for a person to judge; the other way round it is the opposite."""
    there = policy_diff(policy(**before), policy(**after))
    back = policy_diff(policy(**after), policy(**before))
    assert [(each.key, each.direction) for each in there] == expected
    opposite = {LOOSER: STRICTER, STRICTER: LOOSER, OTHER: OTHER}
    assert sorted(each.direction for each in back) == sorted(opposite[direction] for _, direction in expected)


def command(*arguments: str) -> int:
    """Exit status of the command line."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0)


def test_loosening_is_denied_where_that_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`harness policy diff --deny-loosening` exits 4 for a looser policy, 0 for a stricter one."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text("policy: p\nversion: 1\n")
    new.write_text("policy: p\nversion: 2\nceilings: {pids: 500}\n")
    assert command("policy", "diff", str(old), str(new)) == 0
    assert capsys.readouterr().out == "ceilings.pids: 128 → 500 (looser)\n"
    assert command("policy", "diff", str(old), str(new), "--deny-loosening") == 4
    assert command("policy", "diff", str(new), str(old), "--deny-loosening") == 0


def test_contracts_are_compared_the_same_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`harness contract diff` needs no host, and has the same switch."""
    text = (
        "contract: c\nversion: {0}\noutput: {{schema: {{type: object}}}}\n"
        "budget: {{tokens: 0, cost_usd: '0', wall_seconds: {1}, retries: 0, iterations: 1}}\n"
        "permissions: {{tools: []}}\ncompletion: {{success: 'true'}}\ndestination: [{{to: 'file:x.json'}}]\n"
    )
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(text.format(1, 10))
    new.write_text(text.format(1, 20))
    assert command("contract", "diff", str(old), str(new), "--deny-loosening") == 4
    assert "budget.wall_seconds" in capsys.readouterr().out
    assert command("contract", "diff", str(new), str(old), "--deny-loosening") == 0


def test_explain_prints_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    """The policy, the box's numbers, the walls and the system calls, each line with its reason."""
    assert command("policy", "explain") == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.startswith("# ")] == [
        "# policy", "# box", "# walls", "# system calls",
    ]  # fmt: skip
    assert "memory_mb = 256 [default, narrowed by the contract's budget]: " in said
