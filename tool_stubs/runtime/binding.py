"""Binding: positional and keyword arguments of a stub call to the wire's names, with Python's own kind of errors."""

from collections.abc import Mapping, Sequence
from typing import Any

from tool_stubs.runtime.codec import Codec
from tool_stubs.runtime.encoding import Encode
from tool_stubs.runtime.errors import ArgumentsRefused
from tool_stubs.runtime.nearest import nearest
from tool_stubs.runtime.plain import Unfit

__all__ = ["Binding"]

_NOTHING: Any = object()


class Binding:
    """How one tool takes its arguments; made from its row of the table when it is first called."""

    __slots__ = (
        "_bound",
        "_by_name",
        "_defaults",
        "_encoders",
        "_extra",
        "_label",
        "_positional",
        "_python",
        "_required",
        "_tool",
    )

    def __init__(self, row: Mapping[str, Any], codec: Codec) -> None:
        parameters = row["params"]
        self._tool: str = row["name"]
        self._label: str = row["py"]
        self._bound = frozenset(row.get("bound", ()))
        self._positional = [each["wire"] for each in parameters if not each.get("kw")]
        self._by_name = {each["wire"]: each["wire"] for each in parameters}
        self._python = {each["wire"]: each["py"] for each in parameters if "py" in each}
        for wire, name in self._python.items():
            self._by_name.setdefault(name, wire)
        self._required = [each["wire"] for each in parameters if each.get("req")]
        self._defaults = {each["wire"]: each["default"] for each in parameters if each.get("send")}
        self._encoders: dict[str, Encode] = {each["wire"]: codec.encoder(each.get("codec")) for each in parameters}
        self._extra: Encode | None = codec.encoder(row["extra"]) if "extra" in row else None

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as they travel. Raises ArgumentsRefused."""
        positional = self._positional
        if len(args) > len(positional):
            raise self._too_many(len(args))
        values: dict[str, Any] = {}
        encoders = self._encoders
        try:
            for wire, value in zip(positional, args, strict=False):
                values[wire] = encoders[wire](value, wire, 0)
            for name, value in kwargs.items():
                wire = self._by_name.get(name, "")
                if not wire and name not in encoders:
                    if self._extra is None or name in self._bound:
                        raise self._unexpected(name)
                    values[name] = self._extra(value, name, 0)
                    continue
                if wire in values:
                    raise self._refuse(f"got multiple values for argument '{name}'")
                values[wire] = encoders[wire](value, name, 0)
        except Unfit as error:
            raise ArgumentsRefused(f"{self._label}(): {error}", code="bad_arguments", tool=self._tool) from None
        for wire in self._required:
            if wire not in values:
                raise self._missing(values)
        for wire, value in self._defaults.items():
            values.setdefault(wire, value)
        return values

    def row(self, row: Any, common: Mapping[str, Any]) -> dict[str, Any]:
        """One row of `map`: a mapping gives keywords, a tuple or list positions, anything else the first argument."""
        if isinstance(row, Mapping):
            return self((), {**common, **row})
        if isinstance(row, tuple | list):
            return self(row, common)
        return self((row,), common)

    def _too_many(self, given: int) -> ArgumentsRefused:
        least = sum(wire in self._positional for wire in self._required)
        most = len(self._positional)
        takes = str(most) if least == most else f"from {least} to {most}"
        plural = "" if takes == "1" else "s"
        return self._refuse(f"takes {takes} positional argument{plural} but {given} {_were(given)} given")

    def _missing(self, values: Mapping[str, Any]) -> ArgumentsRefused:
        names = [wire for wire in self._required if wire not in values]
        kinds = {wire: "positional" if wire in self._positional else "keyword-only" for wire in names}
        kind = kinds[names[0]]
        same = [f"'{self._shown(wire)}'" for wire in names if kinds[wire] == kind]
        text = same[0] if len(same) == 1 else f"{', '.join(same[:-1])}{',' if len(same) > 2 else ''} and {same[-1]}"
        plural = "" if len(same) == 1 else "s"
        return self._refuse(f"missing {len(same)} required {kind} argument{plural}: {text}")

    def _unexpected(self, name: str) -> ArgumentsRefused:
        if name in self._bound:
            return self._refuse(
                f"got an unexpected keyword argument '{name}'", "the contract sets it for every call; leave it out"
            )
        near = nearest(name, [self._shown(wire) for wire in self._encoders])
        hint = f"did you mean '{near}'? " if near else ""
        return self._refuse(f"got an unexpected keyword argument '{name}'", f"{hint}{self._parameters()}")

    def _parameters(self) -> str:
        names = [f"{self._shown(wire)}{'' if wire in self._required else ' (optional)'}" for wire in self._encoders]
        return f"parameters: {', '.join(names) or 'none'}"

    def _shown(self, wire: str) -> str:
        name: str = self._python.get(wire, wire)
        return name

    def _refuse(self, what: str, hint: str = "") -> ArgumentsRefused:
        return ArgumentsRefused(
            f"{self._label}() {what}", code="bad_arguments", tool=self._tool, hint=hint or self._parameters()
        )


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
