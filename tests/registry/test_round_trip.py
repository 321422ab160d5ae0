"""From a function to a stub and back: what the snippet passes and gets is what the function gets and gives."""

import datetime as dt
import json
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from harness.contract.grants import Grant
from harness.contract.schema import compile_schema
from harness.core.call import Approval
from harness.registry.catalog import surface
from harness.registry.from_function import from_function
from harness.registry.registry import Registry
from tool_stubs.generate import generate
from tool_stubs.runtime.stub import build


class Kind(Enum):
    SMALL = 1
    LARGE = 2


@dataclass(frozen=True)
class Parcel:
    number: int
    kind: Kind
    sent: dt.datetime
    price: Decimal
    label: bytes
    parts: "tuple[Parcel, ...]" = ()
    after: dt.timedelta | None = None


def forward(
    parcel: Parcel,
    day: dt.date,
    by: dict[int, UUID],
    /,
    at: dt.time = dt.time(9),
    *,
    tags: frozenset[str] = frozenset(),
) -> tuple[Parcel, dict[str, Any]]:
    """Give everything back."""
    return parcel, {"day": day, "by": by, "at": at, "tags": tags, "big": 2**80}


def _module(*functions: Any) -> tuple[dict[str, Any], list[Any]]:
    registry = Registry()
    for function in functions:
        registry.add(from_function(function))
    contracts = registry.seal().contracts()
    grants = {
        name: Grant(contract, {}, (), None, Approval.NONE, contract.input_schema, frozenset())
        for name, contract in contracts.items()
    }
    stubs = generate(surface(grants))
    frames: list[Any] = []

    def call(name: str, arguments: dict[str, Any], decode: Any) -> Any:
        sent = json.loads(json.dumps(arguments, allow_nan=False))
        found = registry.get(name)
        assert found is not None
        assert compile_schema(found.contract.input_schema).faults(sent) == []
        result = found.encode(found.function(**found.decode(sent)))
        if found.contract.output_schema is not None:
            assert compile_schema(found.contract.output_schema).faults(result) == []
        frames.append((sent, result))
        return decode(json.loads(json.dumps(result)))

    return build(json.loads(json.dumps(stubs.table)), call, source=stubs.source), frames


def test_every_declared_type_arrives_as_itself_on_both_sides() -> None:
    """C07: nested, recursive, frozen, with keys that are no text, by position and by keyword."""
    module, frames = _module(forward)
    parcel_class, kind = module["__getattr__"]("Parcel"), module["__getattr__"]("Kind")
    part = parcel_class(2, kind.SMALL, dt.datetime(2026, 1, 2, tzinfo=dt.UTC), Decimal("0.10"), b"\x00")
    parcel = parcel_class(1, kind.LARGE, dt.datetime(2026, 1, 2, 3), Decimal("1.10"), b"\xff", (part,), dt.timedelta(1))
    back, rest = module["forward"](parcel, dt.date(2026, 1, 3), {7: UUID(int=1)}, tags={"b", "a"})
    assert back == parcel
    assert type(back.parts[0].kind) is kind
    assert hash(back) == hash(parcel)
    assert rest == {
        "day": "2026-01-03",
        "by": {"7": "00000000-0000-0000-0000-000000000001"},
        "at": "09:00:00",
        "tags": ["a", "b"],
        "big": 2**80,
    }
    sent, _ = frames[0]
    assert sent["at"] == "09:00:00"
    assert sent["tags"] == ["a", "b"]


def test_the_function_behind_gets_its_own_classes() -> None:
    """Not the box's."""
    seen: list[Any] = []

    def keep(parcel: Parcel) -> None:
        seen.append(parcel)

    module, _ = _module(keep)
    parcel_class, kind = module["__getattr__"]("Parcel"), module["__getattr__"]("Kind")
    module["keep"](parcel_class(1, kind.LARGE, dt.datetime(2026, 1, 2), Decimal("1"), b""))
    assert seen == [Parcel(1, Kind.LARGE, dt.datetime(2026, 1, 2), Decimal("1"), b"")]
