"""Results of MCP calls as values: structure wins, `isError` raises, text is parsed by a declared rule alone. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.core.call import Json
from harness.toolsets.errors import SourceBroke, SourceReported
from harness.toolsets.overlay import Content

__all__ = ["Rule", "value_of"]

MAX_ERROR_CHARS = 2_000
"""Of the text of an error: a paragraph."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How the results of one tool are read."""

    structured: bool
    """The source declares a schema: a result without structure is broken."""
    wrapped: bool
    """The one member `result` is the result."""
    content: Content | None


def value_of(result: Mapping[str, Any], rule: Rule, tool: str) -> Json:
    """The value. Raises SourceReported for `isError`, SourceBroke for what the rule does not allow."""
    content = result.get("content")
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    if result.get("isError") is True:
        raise SourceReported(_text(parts)[:MAX_ERROR_CHARS] or f"`{tool}` failed and said nothing of it")
    structure = result.get("structuredContent")
    if structure is not None:
        return _unwrapped(structure, rule, tool)
    if rule.content is None:
        if rule.structured:
            raise SourceBroke(f"`{tool}` declares structured results and gave none")
        return _plain(parts)
    return _by_rule(parts, rule.content, tool)


def _unwrapped(structure: Any, rule: Rule, tool: str) -> Json:
    if not rule.wrapped:
        return structure
    if not isinstance(structure, Mapping) or "result" not in structure:
        raise SourceBroke(f"the result of `{tool}` lacks the member `result` that its source announces")
    return structure["result"]


def _plain(parts: list[Mapping[str, Any]]) -> Json:
    """Nothing is declared: one text is text, nothing is null, all else is a list of typed parts."""
    if not parts:
        return None
    if len(parts) == 1 and parts[0].get("type") == "text":
        return str(parts[0].get("text", ""))
    return [_part(part) for part in parts]


def _by_rule(parts: list[Mapping[str, Any]], content: Content, tool: str) -> Json:
    if len(parts) != 1:
        raise SourceBroke(f"`{tool}` gave {len(parts)} parts where its rule `content: {content.value}` wants one")
    part = parts[0]
    if content is Content.BYTES:
        made = _part(part)
        if "data" not in made:
            raise SourceBroke(f"`{tool}` gave `{part.get('type')}` where its rule wants an image, a sound or a file")
        return {"mime_type": made.get("mime_type") or "application/octet-stream", "data": made["data"]}
    if part.get("type") != "text" or not isinstance(part.get("text"), str):
        raise SourceBroke(f"`{tool}` gave `{part.get('type')}` where its rule wants text")
    if content is Content.TEXT:
        return str(part["text"])
    try:
        parsed: Json = msgspec.json.decode(part["text"])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise SourceBroke(f"the text of `{tool}` is not one JSON value: {str(error)[:200]}") from error
    return parsed


def _part(part: Mapping[str, Any]) -> dict[str, Json]:
    """A typed part: text, image, audio, file or link, in our own names."""
    kind = str(part.get("type", ""))
    if kind == "text":
        return {"type": "text", "text": str(part.get("text", ""))}
    if kind in ("image", "audio"):
        return {"type": kind, "mime_type": _said(part, "mimeType"), "data": _said(part, "data")}
    if kind == "resource" and isinstance(held := part.get("resource"), Mapping):
        base: dict[str, Json] = {"type": "file", "uri": _said(held, "uri"), "mime_type": _said(held, "mimeType")}
        return {**base, "data": _said(held, "blob")} if "blob" in held else {**base, "text": _said(held, "text")}
    if kind == "resource_link":
        return {
            "type": "link",
            "uri": _said(part, "uri"),
            "name": _said(part, "name"),
            "mime_type": _said(part, "mimeType"),
        }
    return {"type": "unknown", "name": kind[:80]}


def _said(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    return value if isinstance(value, str) else ""


def _text(parts: list[Mapping[str, Any]]) -> str:
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
