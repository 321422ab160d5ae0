"""`${...}` in a contract's text: what may stand there, and filling it in.

A text that is one reference keeps the JSON type of what it names. `$${` is a literal `${`. Secrets are never filled in
here: the executor and the destination do, after digest and journal.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.core.call import Json

__all__ = ["MissingReference", "Reference", "Root", "Values", "fill", "is_segment", "references"]

_TOKEN = re.compile(r"\$\$\{|\$\{([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")
_SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Root(StrEnum):
    """What a reference starts from."""

    RUN = "run"
    INPUTS = "inputs"
    PRINCIPAL = "principal"
    PARAMS = "params"
    SECRET = "secret"
    BAD = ""
    """It is no reference; the loader says so."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One `${...}`."""

    text: str
    """As it stands, with its braces."""
    root: Root
    path: tuple[str, ...]
    """Names after the root; the secret's name."""


@dataclass(frozen=True, slots=True)
class Values:
    """What references are filled in from."""

    run: str
    inputs: Mapping[str, Json]
    params: Mapping[str, Json]
    principal: Mapping[str, Json]


class MissingReference(LookupError):
    """A reference that names nothing, or something that cannot stand in a text."""

    def __init__(self, reference: Reference, why: str) -> None:
        super().__init__(f"`{reference.text}` {why}")
        self.reference = reference


def references(value: Json) -> Iterator[Reference]:
    """Every reference in the texts of a value, at any depth; `Root.BAD` for what is none."""
    if isinstance(value, str):
        for hit in _TOKEN.finditer(value):
            if hit[0] != "$${":
                yield _parse(hit[0], hit[1])
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from references(each)


def _parse(text: str, inner: str) -> Reference:
    if text.endswith("}"):
        root, mark, name = inner.partition(":")
        if mark and root == Root.SECRET and _SECRET.fullmatch(name):
            return Reference(text, Root.SECRET, (name,))
        head, _, rest = inner.partition(".")
        path = tuple(rest.split("."))
        if _NAME.fullmatch(inner) and rest and head in (Root.INPUTS, Root.PRINCIPAL, Root.PARAMS):
            return Reference(text, Root(head), path)
        if inner == "run.id":
            return Reference(text, Root.RUN, path)
    return Reference(text, Root.BAD, ())


def fill(value: Json, values: Values, *, segments: bool = False) -> Json:
    """`value` with every reference but secrets filled in, at any depth.

    `segments`: what is filled in must be one segment of a path. Raises MissingReference.
    """
    if isinstance(value, str):
        return _fill_text(value, values, segments)
    if isinstance(value, Mapping):
        return {name: fill(each, values, segments=segments) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [fill(each, values, segments=segments) for each in value]
    return value


def is_segment(text: str) -> bool:
    """Whether a text is one plain segment of a path: no separator, no way up, nothing that hides one."""
    return bool(text) and text not in (".", "..") and not re.search(r"[/\\%?#\x00-\x1f\x7f]", text)


def _fill_text(text: str, values: Values, segments: bool) -> Json:
    whole = _TOKEN.fullmatch(text)
    if whole is not None and whole[0] != "$${":
        reference = _parse(whole[0], whole[1])
        if reference.root is Root.SECRET:
            return text
        found = _look_up(reference, values)
        return _as_text(reference, found, segments) if segments else found

    def replace(hit: re.Match[str]) -> str:
        if hit[0] == "$${":
            return "${"
        reference = _parse(hit[0], hit[1])
        if reference.root is Root.SECRET:
            return hit[0]
        return _as_text(reference, _look_up(reference, values), segments)

    return _TOKEN.sub(replace, text)


def _look_up(reference: Reference, values: Values) -> Json:
    if reference.root is Root.RUN:
        return values.run
    if reference.root is Root.BAD:
        raise MissingReference(reference, "is no reference")
    held: Json = getattr(values, reference.root.value)
    for name in reference.path:
        if not isinstance(held, Mapping) or name not in held:
            raise MissingReference(reference, "has no value")
        held = held[name]
    if held is None:
        raise MissingReference(reference, "has no value")
    return held


def _as_text(reference: Reference, value: Json, segments: bool) -> str:
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str | int | float):
        text = str(value)
    else:
        raise MissingReference(reference, f"is a {type(value).__name__}, which cannot stand inside a text")
    if "${" in text:
        raise MissingReference(reference, "holds `${`, which must not reach what fills in secrets")
    if segments and not is_segment(text):
        raise MissingReference(reference, "is not one plain segment of a path")
    return text
