"""A result as the store keeps it, read back: what a retry and `harness runs show` get of a run that has ended."""

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from harness.core.budget import Amount, Metered, Usage
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.report import CallLine, ContractRef, IterationLine, RunResult

__all__ = ["stored_result"]


def stored_result(document: bytes) -> RunResult:
    """The result in a run's row, once it has ended or paused."""
    stored = json.loads(document)
    reason = stored["reason"]
    data = tuple((name, str(value)) for name, value in reason.get("data", {}).items())
    contract = stored["contract"]
    return RunResult(
        run=stored["run"],
        contract=ContractRef(contract["id"], contract["version"], contract["digest"]),
        ending=Ending(Outcome(stored["outcome"]), ReasonCode(reason["code"]), reason["detail"], data),
        result=stored["result"],
        iterations=[_iteration(line) for line in stored["iterations"]],
        calls=[_call(line) for line in stored["calls"]],
        checks=stored["checks"],
        budget={name: _usage(usage) for name, usage in stored["budget"].items()},
        deliveries=stored["deliveries"],
        audit_head=stored["audit_head"],
        charges=stored.get("spending", {}).get("charges", ()),
        notes=stored["notes"],
    )


def _iteration(line: dict[str, Any]) -> IterationLine:
    kept = {name: value for name, value in line.items() if name != "usage"}
    return IterationLine(**kept, **line["usage"])


def _call(line: dict[str, Any]) -> CallLine:
    verdict = line["verdict"]
    kept = {name: line[name] for name in ("id", "tool", "effect", "state", "iteration", "provenance")}
    return CallLine(
        **kept,
        **{name: verdict[name] for name in ("decision", "code", "reasons", "hint")},
        cost={name: _amount(value) for name, value in line["cost"].items()},
        received_at=_seconds(line["received_at"]),
        ended_at=_seconds(line["ended_at"]),
    )


def _usage(usage: dict[str, Any]) -> Usage:
    limit = usage["limit"]
    return Usage(None if limit is None else _amount(limit), _amount(usage["used"]), 0, Metered(usage["metered"]))


def _amount(value: Any) -> Amount:
    return Decimal(value) if isinstance(value, str) else value


def _seconds(text: str | None) -> float:
    return datetime.fromisoformat(text).timestamp() if text else 0.0
