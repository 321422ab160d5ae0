"""The scope of a grant as a contract writes it: which arguments are bound, and which are limited how.

One value binds: the host sets it, and it is gone from the signature. A list is "one of". A mapping of `equals`,
`one_of`, `under`, `max`, `match` limits; where it has several, all hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from harness.contract.amounts import refuse
from harness.contract.grants import ConstraintKind
from harness.contract.references import Root, references
from harness.core.call import Json

__all__ = ["Limits", "Scope", "is_closed"]

MAX_PATTERN = 1_000
"""Characters of a pattern."""
KINDS = ", ".join(f"`{kind}`" for kind in ConstraintKind)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a contract says of one argument."""

    bind: bool
    """True: `rules` is one `equals`, whose value the host sets."""
    rules: tuple[tuple[ConstraintKind, Any], ...]
    """Kind and value, references not yet filled in; at least one."""


def is_closed(limits: Limits) -> bool:
    """Whether the contract itself lists what may be: some rule uses nothing that the caller passes."""
    return any(
        all(reference.root is not Root.INPUTS for reference in references(value)) for _kind, value in limits.rules
    )


def _parse(value: Any) -> Any:
    if isinstance(value, Limits):
        return value
    if isinstance(value, Mapping):
        return _limits(value)
    if isinstance(value, list | tuple):
        return Limits(False, (_rule(ConstraintKind.ONE_OF, list(value)),))
    if value is None:
        raise refuse("bad_scope", "the argument has no value", "write the value, a list of values, or a limit")
    return Limits(True, ((ConstraintKind.EQUALS, value),))


def _limits(value: Mapping[Any, Any]) -> Limits:
    unknown = [str(name) for name in value if name not in set(ConstraintKind)]
    if unknown or not value:
        said = f"`{unknown[0]}` is no kind of limit" if unknown else "the limit is empty"
        raise refuse("bad_scope", said, f"there are {KINDS}")
    return Limits(False, tuple(_rule(ConstraintKind(name), each) for name, each in value.items()))


def _rule(kind: ConstraintKind, value: Json) -> tuple[ConstraintKind, Json]:
    if kind is ConstraintKind.ONE_OF and not (isinstance(value, list | tuple) and value):
        raise refuse("bad_scope", "`one_of` is not a list of at least one value", "list the allowed values")
    if kind is ConstraintKind.UNDER and not (isinstance(value, str) and value.strip("/ ")):
        raise refuse("bad_scope", "`under` is not a folder", "write the folder as text, `retry/`")
    if kind is ConstraintKind.UNDER and any(step in (".", "..") for step in value.split("/")):
        raise refuse("bad_scope", f"`{value[:80]}` leads through `..` or `.`", "write the folder itself")
    if kind is ConstraintKind.MAX and not _is_number(value):
        raise refuse("bad_scope", "`max` is not a number", "write a number, without quotes")
    if kind is ConstraintKind.MATCH:
        _check_pattern(value)
    return kind, value


def _is_number(value: Json) -> bool:
    if isinstance(value, str):
        return bool(value.startswith("${") and value.endswith("}"))
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 2**53


def _check_pattern(value: Json) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_PATTERN:
        raise refuse("bad_scope", f"`match` is not a pattern of 1 to {MAX_PATTERN} characters", "write it as text")
    if "${" in value:
        raise refuse("bad_scope", "`match` takes no references", "what they stand for could change the pattern")


def _written(limits: Limits) -> Json:
    """The limits as a document holds them: the value that binds, or a mapping."""
    return limits.rules[0][1] if limits.bind else {str(kind): value for kind, value in limits.rules}


Scope = Annotated[Limits, BeforeValidator(_parse), PlainSerializer(_written)]
"""A `Limits`, parsed from what the document holds."""
