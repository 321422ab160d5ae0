"""A contract in plain words, the differences of two, and the tool contract's digest."""

import dataclasses
from typing import Any

import pytest

from harness.contract.diff import Direction, diff
from harness.contract.effective import bind
from harness.contract.explain import QUESTIONS, explain
from harness.contract.load import load_contract, load_policy
from harness.contract.model import BINDINGS
from harness.contract.policy import BUILT_IN
from harness.contract.tool import ToolContract
from harness.core.call import Approval, Effect, Idempotency
from tests.contract.making import ANN, FULL, READ, TOOLS, UPDATE, document

SMALL_TEXT = """\
small, version 1 ({digest})
Run for ann.

1. What must come back?
   An object.
   - n: a whole number
   Nothing else.

2. How much may it spend?
   At most:
   - 0 tokens of models
   - 0 dollars
   - 10 seconds by the clock
   - 0 retries
   - 1 iterations, one snippet each
   - 20,000 calls of tools  (ceiling of the policy)
   - 300 seconds of computing in the box  (ceiling of the policy)
   - 1,024 MiB of memory  (ceiling of the policy)
   - 128 processes and threads  (ceiling of the policy)
   - 256 MiB of work files  (ceiling of the policy)
   - 10,000,000 bytes of printed text  (ceiling of the policy)
   - 8,000,000 bytes of result  (ceiling of the policy)
   - 500,000,000 bytes of journal  (ceiling of the policy)
   Whatever is exceeded ends the run; 0 means none.

3. What may it touch?
   - read_record: reads, without asking
       tenant is always `acme`
   Labelled fields arrive masked.
   Python: restricted, with `json`.
   Nothing else exists in the box.

4. When does it stop?
   It succeeds where output.n > 0
   It ends in any case after 1 iterations.

5. Where does the result go?
   - file:results/${{run.id}}.json, as json
   Only an accepted result is delivered; the snippet writes nothing itself.
"""


def test_the_five_questions_are_answered_in_order() -> None:
    """Every word that a person has to agree to, with the ceilings that the policy adds."""
    effective = bind(load_contract(document(sandbox={"imports": ["json"]})), BUILT_IN, ANN, TOOLS)
    assert explain(effective) == SMALL_TEXT.format(digest=effective.digest[:12])
    assert len(QUESTIONS) == len(BINDINGS)


def test_everything_that_a_contract_says_is_explained() -> None:
    """Scopes, approvals, limits of calls, checks, stops, escalations, destinations, non-goals."""
    secrets = {"RESULTS_DB": {"fields": ["destination"]}, "OPS_HOOK": {"fields": ["webhook"]}}
    rules = load_policy({"policy": "p", "version": 1, "destinations": ["file", "postgresql"], "secrets": secrets})
    text = explain(bind(load_contract(document(FULL)), rules, ANN, TOOLS))
    for line in (
        "Goal: bring record 42 to the reviewed text and announce it",
        "Wanted by support-lead, under the policy `p`.",
        "   - confidence: a number, may be left out",
        "   - 50,000 tokens of models",
        "   - read_record: reads, without asking, at most 50 times",
        "       tenant is always `${principal.tenant}`",
        "   - update_record: writes, after a person has said yes, every time",
        "       record_id is one of `42`, `43`",
        "   It must not change any other tenant (held by permissions).",
        "   It stops after 3 equal outputs.",
        "   Before it starts: starts-at-8, by read_record: result.version == params.expected_version",
        "   Around its effects: other-records-untouched, by changed_since: result.ids.all(i, i in [42, 43])",
        "   It asks support-oncall “record 42 moved on: repair the newer version?” where "
        "checks['starts-at-8'].status == 'failed'",
        "   - file:results/${run.id}.json, as json, kept for 2,592,000 seconds",
    ):
        assert line in text.splitlines()


def one_change(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, Direction]:
    """The only change between two documents."""
    (change,) = diff(load_contract(before), load_contract(after))
    return change.key, change.direction


def grants(**over: Any) -> dict[str, Any]:
    """The small contract with one grant, changed."""
    return document(permissions={"tools": [{"tool": "read_record", "scope": {"tenant": "acme"}, **over}]})


def box(said: dict[str, Any]) -> dict[str, Any]:
    """The small contract with what it says of its box."""
    return document(sandbox=said)


BOXES: list[tuple[dict[str, Any], dict[str, Any], str, Direction]] = [
    ({"language": "restricted"}, {"language": "plain"}, "sandbox.language", Direction.LOOSER),
    ({"language": "plain"}, {"language": "restricted"}, "sandbox.language", Direction.STRICTER),
    ({"language": "restricted"}, {}, "sandbox.language", Direction.LOOSER),
    ({}, {"language": "plain"}, "sandbox.language", Direction.LOOSER),
    ({"language": "plain"}, {}, "sandbox.language", Direction.STRICTER),
    ({}, {"language": "restricted"}, "sandbox.language", Direction.STRICTER),
    ({"imports": ["json"]}, {"imports": ["json", "re"]}, "sandbox.imports.re", Direction.LOOSER),
    ({"imports": ["json", "re"]}, {"imports": ["re"]}, "sandbox.imports.json", Direction.STRICTER),
    ({"imports": ["json"]}, {}, "sandbox.imports", Direction.LOOSER),
    ({}, {"imports": []}, "sandbox.imports", Direction.STRICTER),
    ({}, {"runtime": "runsc"}, "sandbox.runtime", Direction.OTHER),
]
CHECKED = document(checks={"postconditions": [{"id": "six", "expect": "1 == 1"}]})
"""Unstated is what the policy says, which may be more."""


@pytest.mark.parametrize(
    ("before", "after", "key", "direction"),
    [
        (document(), document(budget={**document()["budget"], "tokens": 5}), "budget.tokens", Direction.LOOSER),
        (document(budget={**document()["budget"], "calls": 5}), document(), "budget.calls", Direction.LOOSER),
        (grants(calls=5), grants(calls=4), "permissions.tools.read_record.calls", Direction.STRICTER),
        (grants(), grants(approval="always"), "permissions.tools.read_record.approval", Direction.STRICTER),
        (grants(), document(permissions={"tools": []}), "permissions.tools.read_record", Direction.STRICTER),
        (document(permissions={"tools": []}), grants(), "permissions.tools.read_record", Direction.LOOSER),
        (grants(), grants(scope={}), "permissions.tools.read_record.scope.tenant", Direction.LOOSER),
        (
            grants(),
            grants(scope={"tenant": ["acme", "other"]}),
            "permissions.tools.read_record.scope.tenant",
            Direction.OTHER,
        ),
        (
            grants(),
            grants(scope={"tenant": "acme", "record_id": [1]}),
            "permissions.tools.read_record.scope.record_id",
            Direction.STRICTER,
        ),
        (document(), document(completion={"success": "true"}), "completion.success", Direction.OTHER),
        (document(), document(version=2), "version", Direction.OTHER),
        (document(), CHECKED, "checks.postconditions.six", Direction.STRICTER),
        (CHECKED, document(), "checks.postconditions.six", Direction.LOOSER),
        *((box(before), box(after), key, way) for before, after, key, way in BOXES),
    ],
)
def test_a_change_is_named_with_its_direction(before: dict, after: dict, key: str, direction: Direction) -> None:
    """Looser, stricter, or for a person to judge."""
    assert one_change(before, after) == (key, direction)


def test_the_order_of_grants_is_no_change() -> None:
    """Lists of named things are compared by name."""
    two = [{"tool": "read_record"}, {"tool": "update_record"}]
    first, second = (load_contract(document(permissions={"tools": each})) for each in (two, two[::-1]))
    assert diff(first, second) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"description": "x"},
        {"effect": Effect.READ},
        {"approval": Approval.ALWAYS},
        {"timeout_s": 1.0},
        {"scope": ("text",)},
        {"errors": {}},
        {"data": {"text": "pii"}},
        {"precondition": "args.record_id > 0"},
        {"preview": "x"},
        {"inline": True},
        {"output_schema": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_digest_of_a_tool_covers_its_whole_definition(change: dict) -> None:
    """F13: whatever changes, the tool is another one."""
    assert dataclasses.replace(UPDATE, **change).digest != UPDATE.digest


def test_where_a_tool_stands_is_not_part_of_it() -> None:
    """The same definition, found at another place, is the same tool."""
    assert dataclasses.replace(READ, source="elsewhere.py:3").digest == READ.digest


def test_a_tool_that_says_nothing_is_taken_strictly() -> None:
    """Effect write, no idempotency, one attempt."""
    tool = ToolContract(name="t", input_schema={"type": "object"})
    assert (tool.effect, tool.idempotency.kind, tool.retry.attempts) == (Effect.WRITE, Idempotency.NONE, 1)
