"""What goes wrong with tools that live elsewhere, and what each error says of the call's effect."""

from collections.abc import Mapping

from harness.contract.tool import ErrorRule
from harness.core.errors import HarnessError

__all__ = [
    "SOURCE_ERRORS",
    "SourceBroke",
    "SourceChanged",
    "SourceError",
    "SourceReported",
    "SourceUnavailable",
    "source_errors",
]


class SourceError(HarnessError):
    """Base of these. `tail` is what the source wrote last on its standard error: for people, never for the box."""

    def __init__(self, message: str, *, hint: str = "", tail: str = "") -> None:
        super().__init__(message, hint=hint)
        self.tail = tail

    def __str__(self) -> str:
        return self.message


class SourceUnavailable(SourceError):
    """The source could not be reached, so the call never left the host."""


class SourceChanged(SourceError):
    """The tool's definition is not the one that was admitted, so the call never left the host."""


class SourceBroke(SourceError):
    """The source went away, or answered nonsense, after the call had left: whether it took effect is not known."""


class SourceReported(SourceError):
    """The source itself says that the call failed; whether it took effect, only the overlay can say."""


SOURCE_ERRORS: Mapping[type[BaseException], ErrorRule] = {
    SourceUnavailable: ErrorRule(no_effect=True, hint="the call never left the host"),
    SourceChanged: ErrorRule(no_effect=True, hint="tell whoever runs the harness: `harness tools admit`"),
    SourceBroke: ErrorRule(no_effect=False),
    SourceReported: ErrorRule(no_effect=False, hint="read the message; the tool itself says what is wrong"),
}


def source_errors(said: Mapping[str, ErrorRule]) -> tuple[tuple[type[BaseException], ErrorRule], ...]:
    """The error classes of a source's tool, with what the overlay says in place of the strict rules."""
    return tuple((kind, said.get(kind.__name__, rule)) for kind, rule in SOURCE_ERRORS.items())
