"""Arguments of an operation as an HTTP request, and the answer as a value. Pure."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from harness.core.call import Json
from harness.outbound.client import Answer, Request
from harness.toolsets.errors import SourceBroke, SourceReported, SourceUnavailable

__all__ = ["request_of", "same_origin", "value_of"]

MAX_ERROR_CHARS = 1_000
"""Of the body of an answer that reports a failure."""


def request_of(raw: Mapping[str, Any], arguments: Mapping[str, Json], timeout_s: float) -> Request:
    """The request, without credentials. Raises SourceUnavailable where an argument cannot stand where it belongs."""
    path, query, headers = str(raw["path"]), [], {"Accept": "application/json, text/plain;q=0.8, */*;q=0.5"}
    body: bytes | None = None
    for argument, place in raw["places"].items():
        if argument not in arguments:
            continue
        value, where = arguments[argument], place["in"]
        if where == "path":
            path = path.replace(f"{{{place['name']}}}", _segment(argument, value))
        elif where == "query":
            query += list(_query(place, value))
        elif where == "header":
            headers[place["name"]] = _header(argument, value)
        else:
            body, headers["Content-Type"] = _body(str(raw["media"]), value)
    url = f"{raw['server']}{path}{'?' + urlencode(query, quote_via=quote) if query else ''}"
    return Request(str(raw["method"]), url, headers, body, timeout_s)


def value_of(answer: Answer, tool: str) -> Json:
    """The value of an answer. Raises SourceReported for a status that is no success, SourceBroke for a broken body."""
    media = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not 200 <= answer.status < 300:
        text = answer.body[:MAX_ERROR_CHARS].decode("utf-8", "replace").strip()
        raise SourceReported(f"`{tool}` answered {answer.status}{': ' if text else ''}{text}")
    if not answer.body:
        return None
    if media.endswith("json"):
        try:
            value: Json = msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise SourceBroke(f"`{tool}` answered what is no JSON: {str(error)[:200]}") from error
        return value
    if media.startswith("text/"):
        return answer.body.decode("utf-8", "replace")
    data = base64.b64encode(answer.body).decode("ascii")
    return {"mime_type": media or "application/octet-stream", "data": data}


def same_origin(left: str, right: str) -> bool:
    """Whether two addresses have scheme, host and port in common."""
    one, other = urlsplit(left), urlsplit(right)
    return (one.scheme, one.hostname, one.port) == (other.scheme, other.hostname, other.port)


def _text(value: Json) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _segment(argument: str, value: Json) -> str:
    """One segment of a path, and only one: what is empty, or leads up, would be another operation."""
    text = ",".join(_text(each) for each in value) if isinstance(value, list) else _text(value)
    if text in ("", ".", ".."):
        raise SourceUnavailable(f"`{argument}` is `{text}`, which cannot stand in a path")
    return quote(text, safe="")


def _query(place: Mapping[str, Any], value: Json) -> Iterator[tuple[str, str]]:
    name = str(place["name"])
    if place["style"] == "json":
        yield name, json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        if place["explode"]:
            yield from ((name, _text(each)) for each in value)
        else:
            yield name, ",".join(_text(each) for each in value)
    elif isinstance(value, dict):
        if place["style"] == "deepObject":
            yield from ((f"{name}[{key}]", _text(each)) for key, each in value.items())
        elif place["explode"]:
            yield from ((key, _text(each)) for key, each in value.items())
        else:
            yield name, ",".join(f"{key},{_text(each)}" for key, each in value.items())
    elif value is not None:
        yield name, _text(value)


def _header(argument: str, value: Json) -> str:
    text = ",".join(_text(each) for each in value) if isinstance(value, list) else _text(value)
    if not text.isascii() or not text.isprintable():
        raise SourceUnavailable(f"`{argument}` holds characters that no header may hold")
    return text


def _body(media: str, value: Json) -> tuple[bytes, str]:
    if media == "text/plain":
        return _text(value).encode(), "text/plain; charset=utf-8"
    if media == "application/x-www-form-urlencoded":
        members = value if isinstance(value, dict) else {"value": value}
        pairs = [
            (name, _text(each))
            for name, said in members.items()
            for each in (said if isinstance(said, list) else [said])
        ]
        return urlencode(pairs).encode(), media
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), media
