"""Lint: what loads and still promises less than it seems to. Findings are advice; nothing here refuses a run."""

import re
from collections.abc import Iterator, Mapping

from harness.contract.completion_terms import stop_rules
from harness.contract.model import Contract
from harness.contract.tool import ToolContract
from harness.core.call import Effect
from harness.core.errors import Fault

__all__ = ["lint"]

_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_ROOT = re.compile(r"(?<![\w.])(output|inputs|params|run|checks|budget|principal|result|args)\b")
_FACTS = frozenset({"checks", "result", "budget"})
"""What the model cannot simply say."""
_ITERATION = re.compile(r"run\.iteration\s*(>=|>|==)\s*(\d{1,9})\b")


def lint(contract: Contract, tools: Mapping[str, ToolContract]) -> list[Fault]:
    """Every finding, each with its place and a way out."""
    return [*_success(contract), *_checks(contract), *_stops(contract), *_non_goals(contract, tools)]


def _roots(expression: str) -> set[str]:
    """The facts that an expression names, outside its texts."""
    return set(_ROOT.findall(_TEXT.sub("''", expression)))


def _success(contract: Contract) -> Iterator[Fault]:
    place = contract.place("completion.success")
    if not contract.checks.postconditions:
        hint = "add a postcondition that looks at what the run has changed"
        yield Fault("success_without_check", "no check looks at the result before it counts", hint, place)
    if not _roots(contract.completion.success) & _FACTS:
        said = f"`{contract.completion.success}` only reads what the model itself says"
        yield Fault("own_word", said, "ask for `checks.passed`, and check with a tool", place)


def _checks(contract: Contract) -> Iterator[Fault]:
    for kind in ("preconditions", "invariants", "postconditions"):
        for index, check in enumerate(getattr(contract.checks, kind)):
            key = f"checks.{kind}[{index}]"
            if kind == "postconditions" and not check.tool and not _roots(check.expect) & _FACTS:
                said = f"the check `{check.id}` only reads what the model itself says"
                yield Fault("own_word", said, "give it a `tool` that looks for itself", contract.place(f"{key}.expect"))
            elif check.tool and "result" not in _roots(check.expect):
                said = f"the check `{check.id}` does not look at the result of `{check.tool}`"
                yield Fault("unread_result", said, "compare `result` with something", contract.place(f"{key}.expect"))
            if check.skip is not None:
                said = f"the check `{check.id}` is skipped, as `{check.skip.authorised_by}` authorised"
                yield Fault("skipped_check", said, "take `skip` out when its reason is gone", contract.place(key))


def _stops(contract: Contract) -> Iterator[Fault]:
    most = contract.budget.iterations
    for index, rule in enumerate(stop_rules(contract)):
        place = contract.place(f"completion.stop[{index}]")
        needed = max(rule.same_output, rule.stalled) or _first_iteration(rule.text)
        if needed > most:
            said = (
                f"the stop condition `{rule.text}` can never fire: it takes {needed} iterations, and there are {most}"
            )
            yield Fault("stop_never_fires", said, "lower it, or raise `budget.iterations`", place)
        elif rule.when is not None and not _roots(rule.text) and not rule.when.evaluate({}).value:
            said = f"the stop condition `{rule.text}` can never fire: it reads no fact"
            yield Fault("stop_never_fires", said, "compare a fact with something", place)


def _first_iteration(text: str) -> int:
    """The iteration that a condition needs at least; 0 where that cannot be told."""
    if "||" in text or "!" in text.replace("!=", "") or "?" in text:
        return 0
    found = [int(number) + (sign == ">") for sign, number in _ITERATION.findall(_TEXT.sub("''", text))]
    return max(found, default=0)


def _non_goals(contract: Contract, tools: Mapping[str, ToolContract]) -> Iterator[Fault]:
    acts = [
        grant
        for grant in contract.permissions.tools
        if grant.contract or (grant.tool in tools and tools[grant.tool].effect is not Effect.READ)
    ]
    open_ = [grant.name for grant in acts if not grant.scope]
    for index, non_goal in enumerate(contract.non_goals):
        place = contract.place(f"non_goals[{index}]")
        if non_goal.accepted_by:
            said = f"nothing holds the non-goal `{non_goal.text[:80]}`; `{non_goal.accepted_by}` accepted that"
            yield Fault("non_goal_not_held", said, "hold it by a check, or by permissions", place)
        elif non_goal.held_by == "permissions" and open_:
            names = ", ".join(f"`{name}`" for name in open_)
            said = f"the permissions do not hold the non-goal `{non_goal.text[:80]}`: {names} acts without a scope"
            yield Fault("non_goal_not_held", said, "limit the arguments with `scope`", place)
