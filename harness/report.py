"""The result of a run as one document: the same for `--json`, Python, MCP and the audit.

It is put together by the corridor and never changed; `to_json` is what is printed and stored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from harness.core.budget import Amount, Usage
from harness.core.call import Json
from harness.core.clock import utc_text
from harness.core.ending import Ending, Outcome, ReasonCode, exit_code

__all__ = ["CallLine", "ContractRef", "IterationLine", "RunResult", "amount_json"]


def amount_json(amount: Amount | None) -> Json:
    """A number for counts and seconds, exact decimal text for money."""
    return amount if amount is None or isinstance(amount, int | float) else str(amount)


@dataclass(frozen=True, slots=True)
class ContractRef:
    """Which contract bound the run."""

    id: str
    version: int
    digest: str
    """SHA-256 hex over the canonical form."""


@dataclass(frozen=True, slots=True)
class CallLine:
    """One call as the report shows it; arguments and values stay in the journal."""

    id: str
    tool: str
    effect: str
    state: str
    decision: str
    code: str
    reasons: Sequence[str]
    cost: Mapping[str, Amount]
    received_at: float
    """Seconds since the epoch."""
    ended_at: float
    """Seconds since the epoch; 0 where no ending was seen."""
    iteration: int
    provenance: str
    hint: str = ""
    """What the snippet's author can do about a refusal."""

    def to_json(self) -> dict[str, Json]:
        """The line as JSON, times in RFC 3339."""
        return {
            "id": self.id,
            "tool": self.tool,
            "effect": self.effect,
            "state": self.state,
            "verdict": {"decision": self.decision, "code": self.code, "reasons": list(self.reasons), "hint": self.hint},
            "cost": {name: amount_json(amount) for name, amount in self.cost.items()},
            "received_at": utc_text(self.received_at),
            "ended_at": utc_text(self.ended_at) if self.ended_at else None,
            "iteration": self.iteration,
            "provenance": self.provenance,
        }


@dataclass(frozen=True, slots=True)
class IterationLine:
    """One iteration as an agent sees it: what came back, what was printed, what failed."""

    number: int
    snippet: str
    """SHA-256 hex of the normalised source."""
    lineage: str
    status: str
    """`returned`, `nothing`, `failed` or `stopped`."""
    output: Json
    printed: str
    """Head and tail of what the snippet printed."""
    printed_bytes: int
    failure: Mapping[str, Json] | None
    seconds: float
    cpu_seconds: float | None
    memory_mb: float | None
    pids: int | None

    def to_json(self) -> dict[str, Json]:
        """The iteration as JSON."""
        return {
            "number": self.number,
            "snippet": self.snippet,
            "lineage": self.lineage,
            "status": self.status,
            "output": self.output,
            "printed": self.printed,
            "printed_bytes": self.printed_bytes,
            "failure": dict(self.failure) if self.failure else None,
            "seconds": round(self.seconds, 6),
            "usage": {"cpu_seconds": self.cpu_seconds, "memory_mb": self.memory_mb, "pids": self.pids},
        }


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    run: str
    contract: ContractRef
    ending: Ending
    result: Json
    """The accepted result; None unless the outcome is `accepted`."""
    iterations: Sequence[IterationLine]
    calls: Sequence[CallLine]
    checks: Sequence[Mapping[str, Json]] = ()
    budget: Mapping[str, Usage] = field(default_factory=dict)
    deliveries: Sequence[Mapping[str, Json]] = ()
    audit_head: str = ""
    charges: Sequence[Mapping[str, Json]] = ()
    """The agent's own uses of models: `iteration`, `model`, `tokens`, `cost_usd`, `table` (of prices, with version)."""
    questions: Sequence[Mapping[str, Json]] = ()
    """What people were asked and have answered: `question`, `options`, `proposed`, `asked`, `answer`, `by`, `at`."""
    notes: Sequence[str] = ()
    """Sentences for people: which backend ran it, what could not be measured."""

    @property
    def outcome(self) -> Outcome:
        """Whether the result counts."""
        return self.ending.outcome

    @property
    def reason(self) -> ReasonCode:
        """Why the run stopped."""
        return self.ending.reason

    @property
    def exit_code(self) -> int:
        """The process exit status that goes with the ending."""
        return exit_code(self.ending)

    def spending(self) -> dict[str, Json]:
        """Where the budget went: by tool, by iteration, by model, and what was left of each limit."""
        calls = self.calls
        return {
            "by_tool": {tool: _sum(line for line in calls if line.tool == tool) for tool in _names(calls)},
            "by_iteration": [
                {
                    "iteration": line.number,
                    "seconds": round(line.seconds, 6),
                    "cpu_seconds": line.cpu_seconds,
                    "memory_mb": line.memory_mb,
                    "printed_bytes": line.printed_bytes,
                    **_sum(call for call in calls if call.iteration == line.number),
                }
                for line in self.iterations
            ],
            "charges": [dict(charge) for charge in self.charges],
            "headroom": {
                name: {
                    "left": _text(usage, _left(usage)),
                    "share": _share(usage),
                    "metered": usage.metered.value,
                }
                for name, usage in self.budget.items()
                if usage.limit is not None
            },
        }

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        return {
            "run": self.run,
            "contract": {"id": self.contract.id, "version": self.contract.version, "digest": self.contract.digest},
            "outcome": self.outcome.value,
            "reason": {
                "code": self.reason.value,
                "detail": self.ending.detail,
                **({"data": dict(self.ending.data)} if self.ending.data else {}),
            },
            "result": self.result,
            "iterations": [line.to_json() for line in self.iterations],
            "calls": [line.to_json() for line in self.calls],
            "checks": [dict(check) for check in self.checks],
            "budget": {
                name: {
                    "limit": amount_json(usage.limit),
                    "used": amount_json(usage.used),
                    "metered": usage.metered.value,
                }
                for name, usage in self.budget.items()
            },
            "spending": self.spending(),
            "questions": [dict(each) for each in self.questions],
            "deliveries": [dict(delivery) for delivery in self.deliveries],
            "audit_head": self.audit_head,
            "notes": list(self.notes),
        }


def _names(calls: Sequence[CallLine]) -> list[str]:
    return sorted({line.tool for line in calls})


def _sum(lines: Iterable[CallLine]) -> dict[str, Json]:
    """What calls used together; a refused one costs a call too."""
    total: dict[str, Decimal] = {}
    refused = 0
    for line in lines:
        refused += line.state == "DENIED"
        for name, amount in line.cost.items():
            total[name] = total.get(name, Decimal(0)) + Decimal(str(amount))
    counted = {name: amount for name, amount in total.items() if ":" not in name}
    return {
        **{name: str(each) if name == "cost_usd" else _number(each) for name, each in sorted(counted.items())},
        "refused": refused,
    }


def _number(amount: Decimal) -> int | float:
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def _left(usage: Usage) -> Decimal:
    return max(Decimal(str(usage.limit)) - Decimal(str(usage.used)), Decimal(0))


def _text(usage: Usage, left: Decimal) -> Json:
    return str(left) if isinstance(usage.limit, Decimal) else _number(left)


def _share(usage: Usage) -> float | None:
    """What part of the limit is left, from 0 to 1; None where the limit is 0."""
    return round(float(_left(usage) / Decimal(str(usage.limit))), 4) if usage.limit else None
