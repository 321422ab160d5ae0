"""Codec: typed values ↔ JSON, compiled on first use from the specs of the table.

A spec is None (JSON as it is), a leaf kind (`"datetime"`, …), or an object with one of the keys
`list` (S), `tuple` ([S, …], with `rest`), `set` (S), `map` (S, with `keys`: a kind), `dict` ({name: S}, with `rest`),
`ref` (name in the table's types), `optional` (S), `union` ([[TEST, S], …]: TEST says which JSON values a branch takes).
"""

from collections.abc import Mapping
from typing import Any

from tool_stubs.runtime.decoding import Decode, Decoders
from tool_stubs.runtime.encoding import Encode, Encoders
from tool_stubs.runtime.models import MISSING, Field, Model, make_enum, make_model

__all__ = ["Codec"]


class Codec:
    """All conversions of one tools module.

    `objects` False is the host's way: dataclasses, enums, tuples and sets stay JSON, for whoever validates them next.
    """

    def __init__(self, types: Mapping[str, Mapping[str, Any]], *, objects: bool = True) -> None:
        self._types = types
        self._classes: dict[str, type] = {}
        self._decoders = Decoders(types, self.class_of, objects=objects)
        self._encoders = Encoders(types, self.class_of)

    def class_of(self, name: str) -> type | None:
        """The class of a named type; `dict` for a typed dict, None for an alias. Raises KeyError."""
        entry = self._types[name]
        if entry["kind"] in ("dict", "alias"):
            return dict if entry["kind"] == "dict" else None
        if name not in self._classes:
            self._classes[name] = self._make(name, entry)
        return self._classes[name]

    def decoder(self, spec: Any) -> Decode:
        """Makes values of JSON; what does not fit the schema arrives as the JSON that it is."""
        return self._decoders.decoder(spec)

    def encoder(self, spec: Any) -> Encode:
        """Makes JSON of values. Raises Unfit for what has no JSON form; a misfit in JSON is the host's to refuse."""
        return self._encoders.encoder(spec)

    def _make(self, name: str, entry: Mapping[str, Any]) -> type:
        if entry["kind"] == "enum":
            return make_enum(name, entry.get("base", ""), [tuple(each) for each in entry["members"]])
        fields = [Field(row["name"], row["wire"], row.get("default", MISSING)) for row in entry["fields"]]
        encoders = [self.encoder(row["codec"]) for row in entry["fields"]]
        decoders = {row["name"]: self.decoder(row["codec"]) for row in entry["fields"]}

        def to_wire(value: Model, path: str, depth: int) -> dict[str, Any]:
            have = value.__dict__
            return {
                field.wire: encode(have[field.name], f"{path}.{field.name}", depth + 1)
                for field, encode in zip(fields, encoders, strict=True)
                if field.name in have
            }

        def read_default(field: Field) -> Any:
            return decoders[field.name](field.default)

        return make_model(name, fields, bool(entry.get("frozen")), to_wire, read_default)
