"""JSON → values, compiled from the specs of the table; see codec for what a spec is."""

from collections.abc import Callable, Mapping
from typing import Any

from tool_stubs.runtime.leaves import READERS
from tool_stubs.runtime.models import MISSING, Field

__all__ = ["Decode", "Decoders"]

Decode = Callable[[Any], Any]
"""JSON → value; raises ValueError where the JSON does not fit."""

_MISFITS = (ValueError, TypeError, KeyError, AttributeError)
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class Decoders:
    """Every decoder of one table, each compiled once."""

    def __init__(
        self, types: Mapping[str, Mapping[str, Any]], class_of: Callable[[str], Any], *, objects: bool = True
    ) -> None:
        self._types = types
        self._class_of = class_of
        self._objects = objects
        self._named: dict[str, Decode | None] = {}

    def decoder(self, spec: Any) -> Decode:
        """Top level: what does not fit arrives as the JSON that it is."""
        strict = self._decoder(spec)
        if strict is None:
            return _same
        decode: Decode = strict

        def lenient(value: Any) -> Any:
            try:
                return decode(value)
            except _MISFITS:
                return value

        return lenient

    def _decoder(self, spec: Any) -> Decode | None:
        if spec is None:
            return None
        if isinstance(spec, str):
            return _leaf(READERS[spec])
        if "ref" in spec:
            return self._decode_ref(spec["ref"])
        if "optional" in spec:
            inner = self._decoder(spec["optional"]) or _same
            return lambda value: None if value is None else inner(value)
        if "union" in spec:
            return self._decode_union(spec["union"])
        if "tuple" in spec:
            return self._decode_tuple(spec)
        if "list" in spec or "set" in spec:
            item = self.decoder(spec.get("list", spec.get("set")))
            make: Callable[[Any], Any] = (set if self._objects else list) if "set" in spec else list
            return lambda value: make(item(each) for each in _be(value, list))
        if "map" in spec:
            return self._decode_map(spec)
        return self._decode_dict(spec)

    def _decode_ref(self, name: str) -> Decode:
        def decode(value: Any) -> Any:
            if name not in self._named:
                self._named[name] = self._decode_type(name)
            made = self._named[name]
            return value if made is None else made(value)

        return decode

    def _decode_type(self, name: str) -> Decode | None:
        entry = self._types[name]
        if entry["kind"] == "alias":
            return self._decoder(entry["codec"])
        if entry["kind"] == "dict":
            return self._decode_dict({"dict": entry["fields"], "rest": entry.get("rest")})
        if entry["kind"] == "enum":
            return self._class_of(name) if self._objects else None
        rows = {row["wire"]: self.decoder(row["codec"]) for row in entry["fields"]}
        if not self._objects:
            return lambda value: {
                key: rows[key](each) if key in rows else each for key, each in _be(value, dict).items()
            }
        return self._decode_model(name, rows)

    def _decode_model(self, name: str, rows: Mapping[str, Decode]) -> Decode:
        cls = self._class_of(name)
        fields: tuple[Field, ...] = cls.__wire_fields__
        create = cls.__new__

        def decode(value: Any) -> Any:
            values = _be(value, dict)
            made = create(cls)
            have = made.__dict__
            for field in fields:
                if field.wire in values:
                    have[field.name] = rows[field.wire](values[field.wire])
                elif field.default is not MISSING:
                    have[field.name] = cls.__default__(field)
                else:
                    raise ValueError(f"`{field.wire}` is missing")
            return made

        return decode

    def _decode_union(self, branches: Any) -> Decode:
        made = [(test, self._decoder(spec)) for test, spec in branches]

        def decode(value: Any) -> Any:
            for test, inner in made:
                if _fits(test, value):
                    if inner is None:
                        return value
                    try:
                        return inner(value)
                    except _MISFITS:
                        continue
            return value

        return decode

    def _decode_tuple(self, spec: Any) -> Decode:
        items = [self.decoder(each) for each in spec["tuple"]]
        rest = self.decoder(spec.get("rest"))
        make: Callable[[Any], Any] = tuple if self._objects and spec.get("as") != "list" else list
        return lambda value: make(
            (items[at] if at < len(items) else rest)(each) for at, each in enumerate(_be(value, list))
        )

    def _decode_map(self, spec: Any) -> Decode:
        item = self.decoder(spec["map"])
        kind = spec.get("keys")
        key: Decode = _same
        if kind and self._objects:
            key = int if kind == "int" else self.decoder(kind)
        return lambda value: {key(name): item(each) for name, each in _be(value, dict).items()}

    def _decode_dict(self, spec: Any) -> Decode:
        items = {name: self.decoder(each) for name, each in spec["dict"].items()}
        rest = self.decoder(spec.get("rest"))
        return lambda value: {name: items.get(name, rest)(each) for name, each in _be(value, dict).items()}


def _leaf(read: Callable[[str], Any]) -> Decode:
    return lambda value: read(_be(value, str))


def _be(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"expected {kind.__name__}")
    return value


def _fits(test: Mapping[str, Any], value: Any) -> bool:
    """Whether a JSON value can be meant by a branch: its kind, the names it must have, the constants that tell."""
    kinds = test.get("kinds")
    if kinds and not any(isinstance(value, _KINDS[kind]) and _exact(kind, value) for kind in kinds):
        return False
    if isinstance(value, dict):
        if any(name not in value for name in test.get("has", ())):
            return False
        if any(value.get(name) not in allowed for name, allowed in test.get("says", {}).items()):
            return False
        if "only" in test and any(name not in test["only"] for name in value):
            return False
    return not ("values" in test and value not in test["values"])


def _exact(kind: str, value: Any) -> bool:
    """True and false are no numbers."""
    return kind not in ("integer", "number") or not isinstance(value, bool)


def _same(value: Any) -> Any:
    return value
