"""The overlay: what a platform team says of the tools of a source, in YAML beside it. What is not said is strict."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from harness.contract.amounts import Count, Money, Positive, Seconds, refuse
from harness.contract.document import NO_PLACES, Places
from harness.contract.load import build_model, read_document
from harness.contract.sections import Name, Section, Text
from harness.contract.tool import ErrorRule, Identity
from harness.core.call import Approval, Effect
from harness.core.errors import Place
from harness.toolsets.errors import SOURCE_ERRORS

__all__ = ["Content", "ErrorWords", "Overlay", "Pages", "RetryWords", "ToolWords", "load_overlay"]

IDEMPOTENCY = r"^(none|natural|derived|key\([^()]{1,100}\))$"


class Content(StrEnum):
    """How a result without structure is read. Unsaid: text as text, several parts as a list of typed parts."""

    TEXT = "text"
    """Exactly one text."""
    JSON = "json"
    """Exactly one text that is one JSON value."""
    BYTES = "bytes"
    """Exactly one image, sound or file, as its bytes."""


class ErrorWords(Section):
    """What an error class says of the call."""

    no_effect: bool
    retry: bool = False
    hint: str = Field(default="", max_length=500)

    @property
    def rule(self) -> ErrorRule:
        """The same for the tool contract."""
        return ErrorRule(self.no_effect, self.retry, self.hint)


class RetryWords(Section):
    """How often the harness tries."""

    attempts: Positive
    wait_s: Seconds = 0.2
    max_wait_s: Seconds = 5.0


class Pages(Section):
    """How an operation that answers in pages is read to its end."""

    items: Text
    """Member of the answer that holds the items; the result is all of them."""
    next: Text
    """Member of the answer that holds the token or the address of the next page; missing, null or empty at the end."""
    argument: Text = ""
    """Query argument that takes the token; empty where `next` holds an address."""
    most: Positive = 100
    """Pages that are read at most; more is an error."""


def _scope(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class ToolWords(Section):
    """What is said of one tool. Every default is the strict value."""

    skip: bool = False
    """True: the tool does not exist on this host."""
    name: str = Field(default="", max_length=200)
    """Another wire name."""
    description: str | None = None
    effect: Effect | None = None
    idempotency: Annotated[str, Field(pattern=IDEMPOTENCY)] = "none"
    approval: Approval = Approval.NONE
    timeout_s: Seconds | None = None
    errors: Mapping[str, ErrorWords] = Field(default_factory=dict)
    retry: RetryWords | None = None
    scope: Annotated[tuple[Text, ...], BeforeValidator(_scope)] = ()
    identity: Identity = Identity.SERVICE
    data: Mapping[str, Name] = Field(default_factory=dict)
    cost_usd: Money | None = None
    precondition: str = ""
    postcondition: str = ""
    preview: str = ""
    content: Content | None = None
    unwrap: bool | None = None
    """Whether the value of the one member `result` is the result; unsaid: where the source marks it so."""
    result: Any = None
    """JSON Schema of the result, where the source does not say, or says it wrongly."""
    learned: Count = 0
    """From how many observed results `result` was learned; 0 where a person wrote it."""
    pages: Pages | None = None
    proposed: Mapping[str, Any] = Field(default_factory=dict)
    """What the source suggests and nobody has accepted: it has no effect until its lines are moved one level up."""

    @model_validator(mode="after")
    def _known(self) -> "ToolWords":
        known = sorted(kind.__name__ for kind in SOURCE_ERRORS)
        for name in self.errors:
            if name not in known:
                hint = f"one of {', '.join(f'`{each}`' for each in known)}"
                raise refuse("bad_metadata", f"`{name}` is no error that a source can raise", hint)
        return self


class Overlay(Section):
    """The words for the tools of one source."""

    tools: Mapping[str, ToolWords] = Field(default_factory=dict)
    """By the source's own name of the tool."""
    _places: Places = PrivateAttr(NO_PLACES)

    def at(self, tool: str) -> Place:
        """Where the words for a tool stand."""
        return self._places.of(f"tools.{tool}" if tool in self.tools else "tools")


def load_overlay(path: Path) -> Overlay:
    """The overlay at `path`; an empty one where there is no file. Raises ContractRefused with every fault."""
    if not path.exists():
        return Overlay()
    document = read_document(path)
    overlay = build_model(Overlay, document, {})
    overlay._places = document.places
    return overlay
