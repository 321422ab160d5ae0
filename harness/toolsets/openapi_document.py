"""Operations of an OpenAPI document (3.0, 3.1) as definitions of tools. Pure; nothing is fetched."""

import re
from collections.abc import Mapping
from typing import Any

from harness.core.call import Effect
from harness.core.errors import Fault, HostileInput, Place
from harness.toolsets.definition import Definition, Hints
from harness.toolsets.openapi_schema import Schemas, pointed

__all__ = ["operations_of"]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
BODIES = ("application/json", "application/x-www-form-urlencoded", "text/plain")
"""Media types of bodies that can be sent, best first."""
EMPTY = ("204", "205")
"""Statuses whose answers have no body; of others that say nothing of theirs nothing is known."""
HINTS = {
    "get": Hints(Effect.READ, True, "GET"),
    "head": Hints(Effect.READ, True, "HEAD"),
    "options": Hints(Effect.READ, True, "OPTIONS"),
    "put": Hints(None, True, "PUT"),
    "delete": Hints(Effect.DESTRUCTIVE, True, "DELETE"),
}
"""What a verb says. †POST and PATCH say nothing."""


def operations_of(document: Any, server: str, place: Place) -> tuple[dict[str, Definition], list[Fault]]:
    """The operations by name, and a fault for each that cannot be a tool. `server` is there in place of its own."""
    version = str(document.get("openapi", "")) if isinstance(document, Mapping) else ""
    if not re.match(r"3\.[01]\.", version + "."):
        said = f"`{version}`" if version else "none"
        hint = "only OpenAPI 3.0 and 3.1 are read; convert it first"
        return {}, [Fault("bad_document", f"the document's `openapi` version is {said}", hint, place)]
    found: dict[str, Definition] = {}
    faults: list[Fault] = []
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, Mapping) else ():
        if not isinstance(item, Mapping):
            continue
        for method in METHODS:
            operation = item.get(method)
            if not isinstance(operation, Mapping):
                continue
            name = str(operation.get("operationId") or _named(method, path))
            try:
                if name in found:
                    raise ValueError("another operation has that name")
                made = _Operation(document, server, version.startswith("3.0"))
                found[name] = made.definition(name, method, str(path), item, operation)
            except (ValueError, HostileInput, TypeError, AttributeError) as error:
                message = f"the operation `{name}` (`{method.upper()} {path}`) cannot be a tool: {error}"
                faults.append(Fault("bad_definition", message, "", place))
    return found, faults


def _named(method: str, path: str) -> str:
    return "_".join([method, *re.findall(r"[A-Za-z0-9]+", path)]) or method


class _Operation:
    """One operation on its way to a definition."""

    def __init__(self, document: Mapping[str, Any], server: str, old: bool) -> None:
        self._document = document
        self._server = server
        self._schemas = Schemas(document, old)
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._places: dict[str, dict[str, Any]] = {}

    def definition(
        self, name: str, method: str, path: str, item: Mapping[str, Any], operation: Mapping[str, Any]
    ) -> Definition:
        """The definition. Raises ValueError with the reason where it cannot be a tool."""
        parameters: dict[tuple[str, str], Mapping[str, Any]] = {}
        for said in [*(item.get("parameters") or []), *(operation.get("parameters") or [])]:
            parameter = self._resolved(said)
            parameters[str(parameter["name"]), str(parameter["in"])] = parameter
        names = [each for each, _ in parameters]
        for (own, where), parameter in parameters.items():
            self._parameter(own if names.count(own) == 1 else f"{own}_{where}", where, parameter)
        for missing in set(re.findall(r"\{([^{}]+)\}", path)) - {own for own, where in parameters if where == "path"}:
            raise ValueError(f"the path names `{missing}`, which no parameter describes")
        media = self._body(operation.get("requestBody"))
        output = self._output(operation.get("responses") or {})
        shared = self._schemas.shared
        input_schema: dict[str, Any] = {"type": "object", "properties": self._properties}
        if self._required:
            input_schema["required"] = self._required
        input_schema["additionalProperties"] = False
        if shared:
            input_schema["$defs"] = shared
            output = {**output, "$defs": shared} if isinstance(output, dict) and _refers(output) else output
        raw = {
            "method": method.upper(),
            "path": path,
            "server": self._server or _server(self._document, item, operation),
            "places": self._places,
            "media": media,
            "operation": dict(operation),
            "shared": shared,
        }
        said_of = "\n\n".join(str(operation[key]) for key in ("summary", "description") if operation.get(key))
        return Definition(name, said_of, input_schema, output, raw, HINTS.get(method, Hints()))

    def _resolved(self, said: Any) -> Mapping[str, Any]:
        for _ in range(10):
            if not isinstance(said, Mapping):
                break
            if "$ref" not in said:
                return said
            said = pointed(self._document, str(said["$ref"]))
        raise ValueError("a reference leads to no object")

    def _parameter(self, argument: str, where: str, parameter: Mapping[str, Any]) -> None:
        if where not in ("path", "query", "header"):
            if parameter.get("required"):
                raise ValueError(f"it wants `{argument}` in a {where}, which is not sent")
            return
        if where == "header" and argument.lower() in ("accept", "content-type", "authorization"):
            return  # the document's own rule: these are not parameters
        style = str(parameter.get("style") or ("form" if where == "query" else "simple"))
        if (where, style) not in (("path", "simple"), ("query", "form"), ("query", "deepObject"), ("header", "simple")):
            raise ValueError(f"`{argument}` has the style `{style}`, which is not written")
        content: Any = parameter.get("content")
        as_json = isinstance(content, Mapping) and "application/json" in content
        said = content["application/json"].get("schema", {}) if as_json else parameter.get("schema", {})
        schema = self._schemas.of(said)
        if isinstance(schema, dict) and parameter.get("description") and "description" not in schema:
            schema["description"] = str(parameter["description"])
        self._properties[argument] = schema
        if where == "path" or parameter.get("required"):
            self._required.append(argument)
        self._places[argument] = {
            "name": str(parameter["name"]),
            "in": where,
            "style": "json" if as_json else style,
            "explode": bool(parameter.get("explode", style in ("form", "deepObject"))),
        }

    def _body(self, said: Any) -> str:
        """The media type of the body, empty where there is none; it becomes the argument `body`."""
        if said is None:
            return ""
        body = self._resolved(said)
        content = body.get("content") or {}
        known = [media for media in BODIES if media in content]
        known += [media for media in content if media.partition(";")[0].endswith("+json")]
        if not known:
            if body.get("required"):
                raise ValueError(
                    f"its body has no media type that is sent, only {', '.join(map(str, content)) or 'none'}"
                )
            return ""
        argument = "body" if "body" not in self._properties else "request_body"
        self._properties[argument] = self._schemas.of((content[known[0]] or {}).get("schema", {}))
        if body.get("required"):
            self._required.append(argument)
        self._places[argument] = {"name": argument, "in": "body", "style": "", "explode": False}
        return str(known[0])

    def _output(self, responses: Mapping[str, Any]) -> dict[str, Any] | None:
        """The schema of the first success that has one; several that differ are said to be any of them."""
        found: list[dict[str, Any]] = []
        for status, said in responses.items():
            if not str(status).startswith("2"):
                continue
            content = self._resolved(said).get("content") or {}
            if not content:
                if str(status) not in EMPTY:
                    return None
                found.append({"type": "null"})
            for media, each in content.items():
                if str(media).partition(";")[0].endswith("json") and isinstance(each, Mapping) and "schema" in each:
                    schema = self._schemas.of(each["schema"])
                    found.append(schema if isinstance(schema, dict) else {})
                    break
            else:
                if content:
                    return None
        unique = [each for at, each in enumerate(found) if each not in found[:at]]
        return None if not unique else unique[0] if len(unique) == 1 else {"anyOf": unique}


def _refers(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return "$ref" in schema or any(_refers(each) for each in schema.values())
    return isinstance(schema, list) and any(_refers(each) for each in schema)


def _server(document: Mapping[str, Any], item: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """The first server that is said, the nearest first, its variables at their defaults."""
    for holder in (operation, item, document):
        servers = holder.get("servers")
        if isinstance(servers, list) and servers:
            url = str(servers[0].get("url", ""))
            for name, variable in (servers[0].get("variables") or {}).items():
                url = url.replace(f"{{{name}}}", str(variable.get("default", "")))
            if url.startswith(("http://", "https://")):
                return url.rstrip("/")
    raise ValueError("no server is said; write `server:` in the host file")
