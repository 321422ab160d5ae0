"""Faults of a model in our words: what pydantic found, with place, nearest known key and way out."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from harness.contract.document import Places, key_text
from harness.core.errors import ContractRefused, Fault

__all__ = ["model_faults", "nearest", "refusal", "visible"]

MAX_SHOWN = 60
"""Characters of a value that a fault shows."""

_WANTED = {
    "string_type": "text",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}


_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Controls, line breaks, bidirectional and zero-width marks."""


def refusal(faults: Iterable[Fault]) -> ContractRefused:
    """The refusal of every fault once, by line, with whatever a document says made visible."""
    told = {}
    for fault in faults:
        place = replace(fault.place, key=visible(fault.place.key))
        told[replace(fault, message=visible(fault.message), hint=visible(fault.hint), place=place)] = True
    return ContractRefused(sorted(told, key=lambda fault: fault.place.line))


def visible(text: str) -> str:
    """A text in which controls and marks that cannot be seen stand as escapes."""
    return _HIDDEN.sub(lambda hit: f"\\u{ord(hit[0]):04x}", text)


def model_faults(
    error: ValidationError, model: type[BaseModel], places: Places, bindings: Mapping[str, str] | None = None
) -> list[Fault]:
    """Every fault that `error` holds; `bindings` are the keys whose absence has its own words."""
    return [_fault(each, model, places, bindings or {}) for each in error.errors(include_url=False)]


def nearest(name: str, known: Any, *, of: str = "known") -> str:
    """A hint: the nearest known name, else all of them (or none)."""
    names = sorted(str(each) for each in known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    shown = ", ".join(f"`{each}`" for each in names[:20])
    return f"{of}: {shown}{' …' if len(names) > 20 else ''}" if names else f"{of}: none"


def _fault(error: Any, model: type[BaseModel], places: Places, bindings: Mapping[str, str]) -> Fault:
    path = tuple(each for each in error["loc"] if each != "[key]")
    place = places.of(key_text(path))
    kind = str(error["type"])
    context = error.get("ctx") or {}
    name = str(path[-1])[:MAX_SHOWN] if path else ""
    if "hint" in context:
        return Fault(kind, str(error["msg"]), str(context["hint"]), place)
    if kind == "missing":
        return _missing(name, path, place, bindings)
    if kind == "extra_forbidden":
        hint = nearest(name, _keys(_model_at(model, path[:-1])), of="known keys")
        return Fault("unknown_key", f"the key `{name}` is not known", hint, place)
    if kind in _WANTED:
        return Fault("wrong_type", f"`{name}` is {_shown(error['input'])}, not {_WANTED[kind]}", "", place)
    if kind == "enum":
        words = str(context.get("expected", "")).replace("'", "`")
        return Fault("unknown_word", f"`{name}` is {_shown(error['input'])}", f"write {words}", place)
    if kind in ("string_too_short", "too_short"):
        return Fault("empty", f"`{name}` is empty", "write something, or leave the key out", place)
    if kind == "string_pattern_mismatch":
        hint = "letters, digits, `.`, `_` and `-`, at most 100, a letter or digit first"
        return Fault("bad_name", f"`{name}` is {_shown(error['input'])}, which is no name", hint, place)
    if kind == "string_too_long":
        return Fault("too_long", f"`{name}` is longer than {context.get('max_length')} characters", "shorten it", place)
    return Fault(
        "bad_value", f"`{name}` is {_shown(error['input'])}, which does not fit", str(error["msg"])[:120], place
    )


def _missing(name: str, path: tuple[Any, ...], place: Any, bindings: Mapping[str, str]) -> Fault:
    if len(path) == 1 and name in bindings:
        hint = f"add `{name}:`, it says {bindings[name]}"
        return Fault("binding_missing", f"the binding `{name}` is missing", hint, place)
    parent = f" in `{key_text(path[:-1])}`" if len(path) > 1 else ""
    return Fault("key_missing", f"the key `{name}` is missing{parent}", f"add `{name}:`", place)


def _keys(model: type[BaseModel] | None) -> list[str]:
    if model is None:
        return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_at(model: type[BaseModel] | None, path: tuple[Any, ...]) -> type[BaseModel] | None:
    """The model whose keys stand at a path."""
    for step in path:
        if model is None:
            return None
        if isinstance(step, str):
            field = next((each for name, each in model.model_fields.items() if step in (name, each.alias)), None)
            model = next(_models(field.annotation), None) if field is not None else None
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str | int | float):
        text = str(value)
        return f"`{text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + '…'}`"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"
