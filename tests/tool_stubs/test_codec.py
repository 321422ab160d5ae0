"""Values beyond JSON: each arrives as what it left as, in both directions, and nothing becomes text by itself."""

import copy
import dataclasses
import datetime as dt
import enum
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from tests.tool_stubs.making import Box, item
from tool_stubs.runtime.codec import Codec
from tool_stubs.runtime.errors import ArgumentsRefused

UTC = dt.timezone.utc  # noqa: UP017 - the box's Python may be any

LEAVES = [
    (
        {"type": "string", "format": "date-time"},
        dt.datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
        "2026-01-02T03:04:05.000006+00:00",
    ),
    ({"type": "string", "format": "iso-datetime"}, dt.datetime(2026, 1, 2), "2026-01-02T00:00:00"),
    ({"type": "string", "format": "date"}, dt.date(2026, 1, 2), "2026-01-02"),
    ({"type": "string", "format": "iso-time"}, dt.time(3, 4, 5), "03:04:05"),
    ({"type": "string", "format": "iso-duration"}, dt.timedelta(days=2, seconds=1.5), "P2DT1.5S"),
    ({"type": "string", "format": "iso-duration"}, -dt.timedelta(microseconds=1), "-P0DT0.000001S"),
    ({"type": "string", "format": "decimal"}, Decimal("1.10"), "1.10"),
    ({"type": "string", "format": "uuid"}, UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    ({"type": "string", "contentEncoding": "base64"}, b"\x00\xff", "AP8="),
]


def _echo(schema: dict[str, Any], **root: Any) -> Box:
    """A tool that gives its argument back, both of the same schema."""
    parameters = {"type": "object", "properties": {"x": schema}, "required": ["x"], **root}
    return Box(item("echo", parameters=parameters, result={**schema, **root}), answer=lambda arguments: arguments["x"])


@pytest.mark.parametrize(("schema", "value", "wire"), LEAVES)
def test_a_leaf_travels_in_both_directions(schema, value, wire) -> None:
    """C07: the wire holds its one text form, the snippet the Python value."""
    box = _echo(schema)
    back = box.echo(value)
    assert box.calls == [("echo", {"x": wire})]
    assert (back, type(back)) == (value, type(value))


CONTAINERS = [
    ({"type": "array", "items": {"format": "date", "type": "string"}}, [dt.date(2026, 1, 2)], ["2026-01-02"]),
    (
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"format": "date", "type": "string"}],
            "x-python": "tuple",
        },
        (1, dt.date(2026, 1, 2)),
        [1, "2026-01-02"],
    ),
    ({"type": "array", "items": {"type": "integer"}, "x-python": "tuple"}, (1, 2), [1, 2]),
    ({"type": "array", "items": {"type": "integer"}, "x-python": "set"}, {2, 1}, [1, 2]),
    (
        {"type": "object", "additionalProperties": {"format": "decimal", "type": "string"}, "x-python-keys": "int"},
        {1: Decimal("2.50")},
        {"1": "2.50"},
    ),
    (
        {"type": "object", "properties": {"at": {"format": "date", "type": "string"}, "n": {"type": "integer"}}},
        {"at": dt.date(2026, 1, 2), "n": 1, "more": [1]},
        {"at": "2026-01-02", "n": 1, "more": [1]},
    ),
    ({"anyOf": [{"format": "date", "type": "string"}, {"type": "null"}]}, None, None),
    ({"anyOf": [{"format": "date", "type": "string"}, {"type": "integer"}]}, dt.date(2026, 1, 2), "2026-01-02"),
    ({"anyOf": [{"format": "date", "type": "string"}, {"type": "integer"}]}, 7, 7),
    ({"anyOf": [{"format": "uuid", "type": "string"}, {"type": "string"}]}, "plain", "plain"),
    ({"anyOf": [{"format": "decimal", "type": "string"}, {"type": "number"}]}, 2.5, 2.5),
    ({"type": "integer"}, 2**70 + 1, 2**70 + 1),
]


@pytest.mark.parametrize(("schema", "value", "wire"), CONTAINERS)
def test_containers_and_unions_travel_in_both_directions(schema, value, wire) -> None:
    """Lists, tuples, sets, maps with keys that are no text, typed dicts, unions, integers beyond 2^53."""
    box = _echo(schema)
    back = box.echo(value)
    assert box.calls == [("echo", {"x": wire})]
    assert (back, type(back)) == (value, type(value))


DEFS = {
    "Rec": {
        "type": "object",
        "x-python": "dataclass",
        "title": "Rec",
        "properties": {
            "id": {"type": "integer"},
            "from": {"format": "date", "type": "string"},
            "color": {"$ref": "#/$defs/Color", "default": "r"},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/Rec"}, "default": []},
        },
        "required": ["id", "from"],
    },
    "Color": {
        "enum": ["r", "g"],
        "type": "string",
        "title": "Color",
        "x-python": "enum",
        "x-enum-varnames": ["RED", "GREEN"],
    },
}


def test_a_dataclass_of_the_host_is_a_dataclass_in_the_box() -> None:
    """Fields, asdict, replace, equality, text, match and copies work; the wire has the host's names."""
    box = _echo({"$ref": "#/$defs/Rec"}, **{"$defs": DEFS})
    rec_class, color = box.Rec, box.Color
    rec = rec_class(1, dt.date(2026, 1, 2), kids=[rec_class(id=2, from_=dt.date(2026, 1, 3), color=color.GREEN)])
    back = box.echo(rec)
    assert box.calls[0][1]["x"] == {
        "id": 1,
        "from": "2026-01-02",
        "color": "r",
        "kids": [{"id": 2, "from": "2026-01-03", "color": "g", "kids": []}],
    }
    assert back == rec
    assert type(back) is rec_class
    assert [field.name for field in dataclasses.fields(back)] == ["id", "from_", "color", "kids"]
    assert dataclasses.asdict(back)["kids"][0]["from_"] == dt.date(2026, 1, 3)
    assert dataclasses.replace(back, id=9).id == 9
    assert copy.deepcopy(back) == back
    assert repr(back.kids[0]) == "Rec(id=2, from_=datetime.date(2026, 1, 3), color=<Color.GREEN: 'g'>, kids=[])"
    assert isinstance(back.color, enum.Enum)
    match back:
        case rec_class(id=number):
            assert number == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(back)


def test_defaults_of_a_dataclass_are_fresh_each_time() -> None:
    """Two records never share a list."""
    box = _echo({"$ref": "#/$defs/Rec"}, **{"$defs": DEFS})
    one, other = (box.Rec(1, dt.date(2026, 1, 2)) for _ in range(2))
    one.kids.append(other)
    assert other.kids == []


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "Rec() missing 1 required argument: 'id'"),
        ((1, 2, 3, 4, 5), {}, "Rec() takes 4 positional arguments but 5 were given"),
        ((1,), {"id": 2}, "Rec() got multiple values for argument 'id'"),
        ((1, 2), {"nope": 2}, "Rec() got an unexpected keyword argument 'nope'"),
    ],
)
def test_a_dataclass_is_made_as_python_makes_one(args, kwargs, message: str) -> None:
    """With Python's own kind of errors."""
    with pytest.raises(TypeError) as refused:
        _echo({"$ref": "#/$defs/Rec"}, **{"$defs": DEFS}).Rec(*args, **kwargs)
    assert str(refused.value) == message


def test_a_frozen_dataclass_is_frozen_and_can_be_a_key() -> None:
    """As the host's is."""
    point = {
        "type": "object",
        "x-python": "dataclass",
        "x-frozen": True,
        "title": "P",
        "properties": {"x": {}},
        "required": ["x"],
    }
    box = _echo({"$ref": "#/$defs/P"}, **{"$defs": {"P": point}})
    made = box.P(1)
    assert {made: 1}[box.P(1)] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.x = 2


@pytest.mark.parametrize(("mark", "base"), [("str-enum", str), ("int-enum", int)])
def test_an_enum_of_texts_or_numbers_is_one_of_them(mark: str, base: type) -> None:
    """`class Color(str, Enum)` on the host compares with its text in the box."""
    values = ["r", "g"] if base is str else [1, 2]
    schema = {"enum": values, "title": "C", "x-python": mark, "x-enum-varnames": ["A", "B"]}
    back = _echo({"$ref": "#/$defs/C"}, **{"$defs": {"C": schema}}).echo(values[1])
    assert isinstance(back, base)
    assert (back, back.name) == (values[1], "B")


def test_plain_schemas_arrive_as_the_json_that_they_are() -> None:
    """A typed dict is a dict; a date that no schema declares is text."""
    box = _echo({"type": "object", "properties": {"at": {"type": "string"}}})
    assert box.echo({"at": "2026-01-02"}) == {"at": "2026-01-02"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            dt.datetime(2026, 1, 1),
            "`x` is a `datetime`, which the tool does not declare; write it as text with .isoformat()",
        ),
        ({"a": [b"x"]}, "`x.a[0]` is a `bytes`, which the tool does not declare; write it as text or a number"),
        (Decimal(1), "`x` is a `Decimal`, which the tool does not declare; write it as text or a number"),
        ({1, 2}, "`x` is a set, which JSON lacks; use sorted(…)"),
        ({1: "a"}, "`x` has the key `1` of type `int`; keys are text, use str(key)"),
    ],
)
def test_an_undeclared_type_is_refused_with_its_place(value, message: str) -> None:
    """C09: nothing is turned into text behind the author's back, and nothing is sent."""
    box = _echo({})
    with pytest.raises(ArgumentsRefused) as refused:
        box.echo(value)
    assert refused.value.message == f"echo(): {message}"
    assert box.calls == []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"format": "date", "type": "string"}, dt.datetime(2026, 1, 1), "`x` wants a `date`, got a `datetime`"),
        ({"format": "date-time", "type": "string"}, dt.date(2026, 1, 1), "`x` wants a `datetime`, got a `date`"),
        ({"format": "decimal", "type": "string"}, Decimal("NaN"), "`x` `NaN` is not finite"),
        ({"format": "decimal", "type": "string"}, float("inf"), "`x` `inf` is not finite"),
    ],
)
def test_a_neighbour_of_the_declared_type_is_refused(schema, value, message: str) -> None:
    """C11: a date is no datetime, and nothing infinite travels."""
    box = _echo(schema)
    with pytest.raises(ArgumentsRefused) as refused:
        box.echo(value)
    assert refused.value.message == f"echo(): {message}"


def test_numbers_stand_for_decimals_as_they_print() -> None:
    """19.99 means 19.99."""
    box = _echo({"format": "decimal", "type": "string"})
    assert [box.echo(value) for value in (5, 19.99, "0.10")] == [Decimal(5), Decimal("19.99"), Decimal("0.10")]


def test_a_value_that_holds_itself_is_refused() -> None:
    """G04: depth is counted."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ArgumentsRefused, match="is nested deeper than 100 levels, or holds itself"):
        _echo({}).echo(loop)


def test_what_does_not_fit_its_schema_arrives_as_it_is() -> None:
    """A sloppy source, or a masked field, costs the type and not the call."""
    codec = Codec({})
    assert codec.decoder("date")("[masked:pii]") == "[masked:pii]"
    assert codec.decoder({"list": "date"})(["2026-01-02", "soon"]) == [dt.date(2026, 1, 2), "soon"]


def test_the_branch_of_a_union_is_told_by_its_constants() -> None:
    """C33: `oneOf` with a discriminator arrives as the right class."""
    make = lambda name: {  # noqa: E731
        "type": "object",
        "x-python": "dataclass",
        "title": name,
        "properties": {"kind": {"const": name}, "at": {"format": "date", "type": "string"}},
        "required": ["kind", "at"],
    }
    box = _echo({"oneOf": [make("A"), make("B")]})
    back = box.echo(box.B("B", dt.date(2026, 1, 2)))
    assert type(back) is box.B
