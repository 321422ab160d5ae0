"""The closed sets of words that stand in contracts and policies."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator

from harness.contract.amounts import refuse
from harness.core.ending import Outcome, ReasonCode

__all__ = ["ENDINGS", "FILE", "BackendName", "Better", "Form", "Language", "Requirement", "Wish"]


class Language(StrEnum):
    """How the snippet's Python is held, inside the box."""

    RESTRICTED = "restricted"
    """Checked and guarded: a second line behind the box."""
    PLAIN = "plain"
    """The box alone."""


class BackendName(StrEnum):
    """A way of making boxes."""

    DOCKER = "docker"
    BUBBLEWRAP = "bubblewrap"


class Form(StrEnum):
    """How a result is written."""

    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    ROW = "row"


class Better(StrEnum):
    """Which way a measure improves."""

    HIGHER = "higher"
    LOWER = "lower"


FILE = "file"
"""The kind of destination that is a local file."""

ENDINGS = frozenset({*map(str, Outcome), *map(str, ReasonCode)})
"""What a notification can be about."""


def _wish(value: Any) -> Any:
    if not isinstance(value, str) or value not in ENDINGS:
        raise refuse(
            "unknown_ending", f"`{str(value)[:60]}` is no ending of a run", f"one of {', '.join(sorted(ENDINGS))}"
        )
    return value


Wish = Annotated[str, BeforeValidator(_wish)]
"""The name of an outcome or a reason."""


def _requirement(value: Any) -> Any:
    if value == "all" or (isinstance(value, str) and re.fullmatch(r"[1-9]\d{0,3} of [1-9]\d{0,3}", value)):
        return value
    raise refuse("bad_requirement", f"`{str(value)[:60]}` says not how many must pass", "write `all` or `2 of 3`")


Requirement = Annotated[str, BeforeValidator(_requirement)]
"""`all`, or `K of N`."""
