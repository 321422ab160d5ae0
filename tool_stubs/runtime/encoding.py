"""Values → JSON, compiled from the specs of the table; see codec for what a spec is."""

from collections.abc import Callable, Mapping
from typing import Any

from tool_stubs.runtime.leaves import WRITERS
from tool_stubs.runtime.plain import Unfit, plain

__all__ = ["Encode", "Encoders"]

Encode = Callable[[Any, str, int], Any]
"""(value, path, depth) → JSON; raises Unfit."""


class Encoders:
    """Every encoder of one table, each compiled once."""

    def __init__(self, types: Mapping[str, Mapping[str, Any]], class_of: Callable[[str], Any]) -> None:
        self._types = types
        self._class_of = class_of
        self._named: dict[str, Encode] = {}

    def encoder(self, spec: Any) -> Encode:
        """What does not fit the schema goes out as it is, where JSON has it: the host says what is wrong with it."""
        if spec is None:
            return plain
        if isinstance(spec, str):
            return _leaf_encoder(spec)
        if "ref" in spec:
            return self._encode_ref(spec["ref"])
        if "optional" in spec:
            return _optional(self.encoder(spec["optional"]))
        if "union" in spec:
            return self._encode_union(spec["union"])
        return self._encode_container(spec)

    def _encode_ref(self, name: str) -> Encode:
        def encode(value: Any, path: str, depth: int = 0) -> Any:
            if name not in self._named:
                self._named[name] = self._encode_type(name)
            return self._named[name](value, path, depth)

        return encode

    def _encode_type(self, name: str) -> Encode:
        entry = self._types[name]
        if entry["kind"] == "alias":
            return self.encoder(entry["codec"])
        if entry["kind"] == "dict":
            return self._encode_container({"dict": entry["fields"], "rest": entry.get("rest")})
        if entry["kind"] == "enum":
            return plain
        rows = {row["wire"]: row["codec"] for row in entry["fields"]}
        return self._encode_container({"dict": rows})

    def _encode_union(self, branches: Any) -> Encode:
        typed = [(spec, self.encoder(spec)) for _, spec in branches if spec is not None]

        def encode(value: Any, path: str, depth: int = 0) -> Any:
            for spec, inner in typed:
                if self._takes(spec, value):
                    return inner(value, path, depth)
            return plain(value, path, depth)

        return encode

    def _takes(self, spec: Any, value: Any) -> bool:
        """Whether a branch of a union is meant for a Python value."""
        if isinstance(spec, str):
            try:
                WRITERS[spec](value)
            except (TypeError, ValueError):
                return False
            return not (spec == "decimal" and isinstance(value, int | float))
        if "ref" in spec:
            entry = self._types[spec["ref"]]
            if entry["kind"] == "alias":
                return True
            return isinstance(value, self._class_of(spec["ref"]) or object)
        if "optional" in spec:
            return value is None or self._takes(spec["optional"], value)
        if "union" in spec:
            return any(self._takes(inner, value) for _, inner in spec["union"] if inner is not None)
        if "map" in spec or "dict" in spec:
            return isinstance(value, dict)
        return isinstance(value, list | tuple | set | frozenset)

    def _encode_container(self, spec: Any) -> Encode:
        if "map" in spec or "dict" in spec:
            items = {name: self.encoder(each) for name, each in spec.get("dict", {}).items()}
            rest = self.encoder(spec.get("map", spec.get("rest")))
            return _dict_encoder(items, rest, spec.get("keys"))
        items_in_order = [self.encoder(each) for each in spec.get("tuple", ())]
        rest = self.encoder(spec.get("list", spec.get("set", spec.get("rest"))))
        return _list_encoder(items_in_order, rest, "set" in spec)


def _optional(inner: Encode) -> Encode:
    def encode(value: Any, path: str, depth: int = 0) -> Any:
        return None if value is None else inner(value, path, depth)

    return encode


def _dict_encoder(items: Mapping[str, Encode], rest: Encode, keys: str | None) -> Encode:
    def encode(value: Any, path: str, depth: int = 0) -> Any:
        if type(value) is not dict:
            return plain(value, path, depth)
        return {
            _key(name, keys): items.get(name, rest)(each, f"{path}.{name}", depth + 1) for name, each in value.items()
        }

    return encode


def _list_encoder(items: list[Encode], rest: Encode, is_set: bool) -> Encode:
    def encode(value: Any, path: str, depth: int = 0) -> Any:
        if is_set and isinstance(value, set | frozenset):
            return sorted((rest(each, f"{path}[…]", depth + 1) for each in value), key=repr)
        if type(value) not in (list, tuple):
            return plain(value, path, depth)
        return [
            (items[at] if at < len(items) else rest)(each, f"{path}[{at}]", depth + 1) for at, each in enumerate(value)
        ]

    return encode


def _leaf_encoder(kind: str) -> Encode:
    write = WRITERS[kind]

    def encode(value: Any, path: str, depth: int = 0) -> Any:
        if type(value) is str:
            return value
        try:
            return write(value)
        except ValueError as error:
            raise Unfit(path, str(error)) from None
        except TypeError as error:
            if value is None or isinstance(value, bool | int | float | list | dict):
                return plain(value, path, depth)
            raise Unfit(path, f"wants a `{error}`, got a `{type(value).__name__}`") from None

    return encode


def _key(name: Any, kind: str | None) -> Any:
    if type(name) is str or not kind:
        return name
    if kind == "int" and type(name) is int:
        return str(name)
    return WRITERS[kind](name) if kind in WRITERS else name
