"""Errors that a stub raises in the box, drawn once.

ToolError                   base: `code`, `tool`, `message`, `hint`, `data`
├── ToolDenied              the call was refused, nothing happened
│   ├── ApprovalRejected    a person said no
│   └── ArgumentsRefused    the call was written wrongly and never left the box (a TypeError and ValueError too)
├── ToolFailed              the tool failed; its declared error classes derive from it
├── OutcomeUnknown          nobody knows whether it happened: do not repeat it
└── PartialResult           part of the work is done: `done`, `left`
BudgetExhausted             the run is over; a BaseException, so that no handler of a snippet swallows it
"""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "KINDS",
    "ApprovalRejected",
    "ArgumentsRefused",
    "BudgetExhausted",
    "OutcomeUnknown",
    "PartialResult",
    "ToolDenied",
    "ToolError",
    "ToolFailed",
    "declare",
    "from_wire",
]


class _Told(BaseException):
    """What every error of a call carries."""

    code: str
    """Stable, lower case with underscores; for a declared error of a tool `tool_failed`."""
    tool: str
    """Wire name of the tool."""
    message: str
    """What happened, one line."""
    hint: str
    """What to do instead; empty where nothing can be advised."""
    data: Mapping[str, Any]
    """Details for programs."""

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "",
        tool: str = "",
        hint: str = "",
        data: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.tool, self.message, self.hint = code, tool, message, hint
        self.data = dict(data or {})

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ToolError(_Told, Exception):
    """Base of every failed call that a snippet may handle."""


class ToolDenied(ToolError):
    """The call was refused; nothing happened."""


class ApprovalRejected(ToolDenied):
    """A person said no; nothing happened."""


class ArgumentsRefused(ToolDenied, TypeError, ValueError):
    """The call does not fit the tool's signature, or a value cannot travel; it never left the box."""


class ToolFailed(ToolError):
    """The tool failed. `error_type` is the name of its error class, where that is declared."""

    @property
    def error_type(self) -> str:
        """Name of the declared error class; empty where it is none."""
        return str(self.data.get("error_type", ""))


class OutcomeUnknown(ToolError):
    """Whether the call happened is not known; repeating it may do it twice."""


class PartialResult(ToolError):
    """The tool did part of its work."""

    @property
    def done(self) -> Any:
        """What took effect."""
        return self._part("done")

    @property
    def left(self) -> Any:
        """What did not."""
        return self._part("left")

    def _part(self, name: str) -> Any:
        value = self.data.get("value")
        return value.get(name) if isinstance(value, Mapping) else None


class BudgetExhausted(_Told):
    """A limit of the run is used up: the run ends, whatever the snippet does."""


KINDS: dict[str, type[ToolError] | type[BudgetExhausted]] = {
    "ToolDenied": ToolDenied,
    "ToolFailed": ToolFailed,
    "OutcomeUnknown": OutcomeUnknown,
    "ApprovalRejected": ApprovalRejected,
    "PartialResult": PartialResult,
    "BudgetExhausted": BudgetExhausted,
}
"""The wire's `kind` → class."""

_declared: dict[str, type[ToolFailed]] = {}


def declare(names: Iterable[str]) -> dict[str, type[ToolFailed]]:
    """Classes for the errors that the run's tools declare, by name; `from_wire` raises them from now on.

    A box serves one run, so one set of names is all that a process needs.
    """
    for name in names:
        if name not in _declared and name not in KINDS:
            _declared[name] = type(
                name, (ToolFailed,), {"__doc__": f"Declared by a tool: {name}.", "__module__": "tools"}
            )
    return dict(_declared)


def from_wire(error: Mapping[str, Any]) -> ToolError | BudgetExhausted:
    """The exception for the wire's error object; an unknown kind is a ToolFailed, never a silent success."""
    data = error.get("data")
    details: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    kind = KINDS.get(str(error.get("kind", "")), ToolFailed)
    if kind is ToolFailed:
        kind = _declared.get(str(details.get("error_type", "")), ToolFailed)
    return kind(
        str(error.get("message", "")),
        code=str(error.get("code", "")),
        tool=str(error.get("tool", "")),
        hint=str(error.get("hint", "")),
        data=details,
    )
