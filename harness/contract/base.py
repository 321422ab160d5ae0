"""What every part of a document is: closed keys, frozen values, a form as JSON; and the texts that stand in it."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, StringConstraints

from harness.contract.document import NO_PLACES, Places
from harness.core.call import Json
from harness.core.errors import Place

__all__ = ["Name", "Section", "Text", "Whole"]

Text = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=4_000)]
"""Some text, at most two pages."""
Name = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
"""A name that can stand in file names and commands."""


class Section(BaseModel):
    """A part of a document: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True)

    def stated(self) -> dict[str, Json]:
        """What differs from the defaults, in JSON's types: money as text, lists for tuples.

        Values that have no JSON form stay as they are, so that whoever takes the canonical form refuses them.
        """
        form: dict[str, Json] = _json_form(self.model_dump(by_alias=True, exclude_defaults=True))
        return form


class Whole(Section):
    """A whole document: it knows where its keys stand."""

    _places: Places = PrivateAttr(default=NO_PLACES)

    def place(self, key: str) -> Place:
        """Where a key stands: file and line where the document came from a file."""
        return self._places.of(key)

    def with_places(self, places: Places) -> Self:
        """The same document, which now knows where its keys stand."""
        self._places = places
        return self


def _json_form(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_json_form(name): _json_form(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_form(each) for each in value]
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return value.value if isinstance(value, StrEnum) else value
