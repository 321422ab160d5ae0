"""Checks and their evidence as values: the status of each, what was observed, and whether enough of it passed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from harness.core.call import Json
from harness.core.clock import utc_seconds, utc_text

__all__ = ["CheckResult", "CheckStatus", "Evidence", "conclude", "obstacles"]


class CheckStatus(StrEnum):
    """Where a check stands."""

    PENDING = "pending"
    """Not made yet."""
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Somebody authorised that it is not made."""
    UNAVAILABLE = "unavailable"
    """Its tool could not be asked, so nothing is known."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One trial of a check: what was seen, and what it came to."""

    status: CheckStatus
    digest: str
    """Hex over what was seen; keyed with the host's secret where it holds masked fields. Empty where nothing was."""
    seen: Json
    """What was seen, masked as the contract says and cut where it is long."""
    at: float
    """Seconds since the epoch."""
    environment: str
    """Id of the environment in which it was seen."""
    detail: str = ""
    """Why it did not pass."""
    error: str = ""
    """Why the expression could not be evaluated; empty where it was."""
    call: str = ""
    """Id of the call that saw it; empty for an expression over facts alone."""

    def to_json(self) -> dict[str, Json]:
        """The trial as it stands in the journal and in reports."""
        return {
            "status": self.status.value,
            "digest": self.digest,
            "seen": self.seen,
            "at": utc_text(self.at),
            "environment": self.environment,
            "detail": self.detail,
            "error": self.error,
            "call": self.call,
        }


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check as it stands."""

    id: str
    kind: str
    """`precondition`, `invariant` or `postcondition`."""
    status: CheckStatus
    detail: str = ""
    evidence: Sequence[Evidence] = ()
    authorised_by: str = ""
    """Who authorised that it was skipped."""
    iteration: int = 0
    """The iteration after which it was made; 0 before the first."""

    def to_json(self) -> dict[str, Json]:
        """The check as it stands in the journal and in reports."""
        return {
            "id": self.id,
            "kind": self.kind,
            "status": self.status.value,
            "detail": self.detail,
            "authorised_by": self.authorised_by,
            "iteration": self.iteration,
            "evidence": [each.to_json() for each in self.evidence],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> "CheckResult":
        """The check that `to_json` wrote, read from this host's own journal."""
        evidence = tuple(
            Evidence(**{**each, "status": CheckStatus(each["status"]), "at": utc_seconds(each["at"])})
            for each in data["evidence"]
        )
        return cls(**{**data, "status": CheckStatus(data["status"]), "evidence": evidence})

    @property
    def error(self) -> str:
        """Why its expression could not be evaluated; empty where it was, or was not asked."""
        return next((each.error for each in self.evidence if each.error), "")


_HARMLESS = frozenset({CheckStatus.PASSED, CheckStatus.SKIPPED})


def conclude(evidence: Sequence[Evidence], need: int) -> tuple[CheckStatus, str]:
    """The status that trials come to, and why: `need` of them must pass.

    Where too few pass, a trial that saw nothing decides only if it could have tipped the balance.
    """
    passed = sum(each.status is CheckStatus.PASSED for each in evidence)
    if passed >= need > 0:
        return CheckStatus.PASSED, ""
    unseen = sum(each.status is CheckStatus.UNAVAILABLE for each in evidence)
    status = CheckStatus.UNAVAILABLE if unseen and passed + unseen >= need else CheckStatus.FAILED
    first = next((each.detail for each in evidence if each.status is not CheckStatus.PASSED), "no trial was made")
    trials = f"{passed} of {len(evidence)} trials passed, {need} must: " if len(evidence) > 1 else ""
    return status, trials + first


def obstacles(results: Iterable[CheckResult]) -> list[CheckResult]:
    """The checks that stand between a proposal and success: all that neither passed nor were skipped."""
    return [result for result in results if result.status not in _HARMLESS]
