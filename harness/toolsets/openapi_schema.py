"""Schemas of OpenAPI documents as JSON Schema 2020-12: references gathered, words of 3.0 translated. Pure."""

import copy
from collections.abc import Mapping
from typing import Any

__all__ = ["Schemas", "pointed"]

MAX_DEPTH = 64
"""Levels of one schema; a document's own limit is the same."""
COMPONENTS = "#/components/schemas/"
ANNOTATIONS = ("example", "xml", "externalDocs", "discriminator", "readOnly", "writeOnly", "deprecated")


def pointed(document: Mapping[str, Any], reference: str) -> Any:
    """What a local reference points to. Raises ValueError where there is nothing, or where it leads outside."""
    if not reference.startswith("#/"):
        raise ValueError(f"the reference `{reference[:100]}` leads outside of the document")
    node: Any = document
    for step in reference[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or step not in node:
            raise ValueError(f"the reference `{reference[:100]}` points to nothing")
        node = node[step]
    return node


class Schemas:
    """Translates schemas of one document, and gathers the shared ones that they need."""

    def __init__(self, document: Mapping[str, Any], old: bool) -> None:
        self._document = document
        self._old = old
        self.shared: dict[str, Any] = {}
        """`$defs` for whatever was translated."""

    def of(self, schema: Any, depth: int = 0) -> Any:
        """The schema as JSON Schema. Raises ValueError for references that lead nowhere and for endless nesting."""
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise ValueError("a schema is no object")
        if depth > MAX_DEPTH:
            raise ValueError(f"a schema is nested deeper than {MAX_DEPTH} levels")
        if isinstance(schema.get("$ref"), str):
            made = {"$ref": self._reference(schema["$ref"])}
            rest = {} if self._old else {key: value for key, value in schema.items() if key != "$ref"}
            return {**self.of(rest, depth + 1), **made} if rest else made
        made = {}
        for key, value in schema.items():
            if key not in ANNOTATIONS:
                made[key] = self._member(key, value, depth + 1)
        return self._translated(made) if self._old else made

    def _reference(self, reference: str) -> str:
        if not reference.startswith(COMPONENTS):
            raise ValueError(f"the reference `{reference[:100]}` is none to `{COMPONENTS}…`")
        name = reference.removeprefix(COMPONENTS)
        if name not in self.shared:
            self.shared[name] = {}
            self.shared[name] = self.of(pointed(self._document, reference))
        return f"#/$defs/{name}"

    def _member(self, key: str, value: Any, depth: int) -> Any:
        if key in ("properties", "patternProperties", "$defs", "dependentSchemas") and isinstance(value, Mapping):
            return {name: self.of(each, depth) for name, each in value.items()}
        if key in ("allOf", "anyOf", "oneOf", "prefixItems") and isinstance(value, list):
            return [self.of(each, depth) for each in value]
        if key in ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"):
            return self.of(value, depth)
        return copy.deepcopy(value)

    def _translated(self, schema: dict[str, Any]) -> dict[str, Any]:
        """3.0 says `nullable: true`, and `exclusiveMaximum: true` beside `maximum`."""
        for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if schema.get(exclusive) is True and bound in schema:
                schema[exclusive] = schema.pop(bound)
            elif isinstance(schema.get(exclusive), bool):
                del schema[exclusive]
        if schema.pop("nullable", False) is not True:
            return schema
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
        if isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
            return schema
        return {"anyOf": [schema, {"type": "null"}]} if schema else schema
