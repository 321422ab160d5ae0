"""From a function to a tool: schemas from annotations, text from the docstring, values both ways."""

import datetime as dt
import enum
import functools
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, NotRequired, Optional, TypedDict, TypeVar
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from harness.contract.schema import compile_schema
from harness.contract.tool import IdempotencyRule
from harness.core.call import Approval, Effect, Idempotency
from harness.registry.decorator import key, no_effect, retry, settings_of, tool, usd
from harness.registry.from_function import from_function
from harness.registry.settings import Settings
from harness.registry.values import ResultShape


class Color(enum.Enum):
    RED = "r"
    GREEN = "g"


class Row(TypedDict):
    id: int
    note: NotRequired[str]
    kids: "NotRequired[list[Row]]"


@dataclass
class Rec:
    id: int
    when: dt.datetime
    raw: bytes
    color: Color = Color.RED
    spans: tuple[dt.timedelta, ...] = ()


class Model(BaseModel):
    rec: Rec
    price: Decimal = Field(alias="unit-price")
    by: dict[int, UUID] = {}
    tags: set[str] = set()


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]


def test_a_plain_function_gets_the_strict_values() -> None:
    """Effect write, no idempotency, approval as the policy says, where nothing is said."""

    def act(text: str, count: int = 1) -> str:
        """Do it."""
        return text * count

    made = from_function(act)
    contract = made.contract
    assert (contract.name, contract.description) == ("act", "Do it.")
    assert (contract.effect, contract.approval, contract.idempotency) == (
        Effect.WRITE,
        Approval.NONE,
        IdempotencyRule(Idempotency.NONE),
    )
    assert contract.input_schema == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        "required": ["text"],
        "additionalProperties": False,
        "x-python": "function",
    }
    assert contract.output_schema == {"type": "string"}
    assert contract.source.endswith(f"test_from_function.py:{act.__code__.co_firstlineno}")
    assert made.encode(made.function(**made.decode({"text": "ab", "count": 2}))) == "abab"


class Stale(Exception):
    pass


def find(operation_id: str) -> None:
    return None


class Removed(TypedDict):
    id: int
    email: str


@tool(
    effect="destructive",
    idempotency=key("operation_id"),
    approval="always",
    timeout_s=15,
    errors={Stale: no_effect(hint="read again", retry=True)},
    retry=retry(attempts=3),
    scope=("tenant",),
    identity="caller",
    data={"email": "pii"},
    cost=usd("0.002"),
    precondition="args.version >= 0",
    postcondition="result.id > args.version",
    preview="remove {tenant}",
    reconcile=find,
    compensate=find,
    name="remove-it",
)
async def remove(tenant: str, version: int, *, operation_id: str) -> Removed:
    """Remove it.

    Args:
        tenant: Whose.
    """
    return {"id": version + 1, "email": ""}


def test_the_decorator_says_the_rest_and_leaves_the_function_alone() -> None:
    """Every field of the tool contract comes from where it was written."""
    made = from_function(remove)
    contract = made.contract
    assert settings_of(remove) is not None
    assert (contract.name, contract.effect, contract.approval) == ("remove-it", Effect.DESTRUCTIVE, Approval.ALWAYS)
    assert (str(contract.idempotency), contract.timeout_s, contract.scope) == ("key(operation_id)", 15, ("tenant",))
    assert (contract.identity, dict(contract.data), contract.cost_usd) == ("caller", {"email": "pii"}, Decimal("0.002"))
    assert (contract.retry.attempts, contract.errors["Stale"].retry) == (3, True)
    assert (contract.precondition, contract.postcondition) == ("args.version >= 0", "result.id > args.version")
    assert (contract.has_preview, contract.has_reconcile, contract.has_compensate) == (True, True, True)
    assert contract.input_schema["properties"]["tenant"] == {"type": "string", "description": "Whose."}
    assert contract.input_schema["x-keyword-only"] == ["operation_id"]
    assert (made.is_async, made.error_types) == (True, ((Stale, contract.errors["Stale"]),))
    assert made.preview is not None
    assert made.preview({"tenant": "acme", "version": 3}) == "remove acme"
    assert (made.reconcile, made.compensate) == (find, find)


def test_types_keep_their_meaning_in_the_schema() -> None:
    """C07: dataclass, model, enum, tuple, set, Decimal, bytes, keys that are no text: each has its mark."""

    def f(rec: Rec) -> Model: ...

    contract = from_function(f).contract
    defs = contract.output_schema["$defs"]
    assert {name: each.get("x-python") for name, each in defs.items()} == {
        "Color": "enum",
        "Model": "dataclass",
        "Rec": "dataclass",
    }
    assert defs["Color"]["x-enum-varnames"] == ["RED", "GREEN"]
    assert defs["Model"]["properties"]["by"]["x-python-keys"] == "int"
    assert defs["Model"]["properties"]["tags"]["x-python"] == "set"
    assert defs["Rec"]["properties"]["raw"]["contentEncoding"] == "base64"
    assert defs["Rec"]["properties"]["spans"]["x-python"] == "tuple"
    assert defs["Rec"]["required"] == ["id", "when", "raw"]


def test_values_beyond_json_go_out_and_come_back() -> None:
    """C07: what the tool gets and gives are Python values, what travels is JSON that fits the schemas."""

    def f(rec: Rec, at: dt.date, money: Decimal, who: UUID, long: dt.timedelta, raw: bytes = b"") -> Model:
        assert (type(at), type(money), type(who), type(long)) == (dt.date, Decimal, UUID, dt.timedelta)
        return Model(rec=rec, by={1: who}, tags={"b", "a"}, **{"unit-price": money})

    made = from_function(f)
    sent = {
        "rec": {"id": 1, "when": "2026-01-02T03:04:05", "raw": "AP8=", "color": "g", "spans": ["P0DT1.5S"]},
        "at": "2026-01-02",
        "money": "1.10",
        "who": "00000000-0000-0000-0000-000000000005",
        "long": "P1DT0S",
        "raw": "AA==",
    }
    assert compile_schema(made.contract.input_schema).faults(sent) == []
    arguments = made.decode(sent)
    assert arguments["rec"] == Rec(
        1, dt.datetime(2026, 1, 2, 3, 4, 5), b"\x00\xff", Color.GREEN, (dt.timedelta(seconds=1.5),)
    )
    assert arguments["raw"] == b"\x00"
    back = made.encode(made.function(**arguments))
    assert back == {
        "rec": sent["rec"],
        "unit-price": "1.10",
        "by": {"1": "00000000-0000-0000-0000-000000000005"},
        "tags": ["a", "b"],
    }
    assert compile_schema(made.contract.output_schema).faults(back) == []
    assert json.loads(json.dumps(back)) == back


def test_a_typed_dict_of_the_standard_library_may_hold_itself() -> None:
    """`typing.TypedDict` works on every Python, nested and recursive."""

    def f(row: Row, rows: list[Row] | None = None) -> dict[str, Row]:
        return {"a": row}

    made = from_function(f)
    row = {"id": 1, "kids": [{"id": 2, "note": "n"}]}
    assert made.contract.input_schema["$defs"]["Row"]["required"] == ["id"]
    assert made.encode(made.function(**made.decode({"row": row}))) == {"a": row}
    assert compile_schema(made.contract.input_schema).ok({"row": {"kids": []}}) is False


def test_generics_and_constraints_stand_in_the_schema() -> None:
    """Parametrised models and annotated bounds."""

    def f(count: Annotated[int, Field(ge=1, le=50, description="How many.")] = 5) -> Page[int]: ...

    contract = from_function(f).contract
    assert contract.input_schema["properties"]["count"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "description": "How many.",
        "default": 5,
    }
    assert contract.output_schema["$ref"].endswith("Page_int_")


def test_none_as_the_default_of_another_type_is_allowed_as_a_value() -> None:
    """`x: int = None` takes None; a default that is no value of its type stays the function's own business."""

    def f(x: int = None, y: Optional[str] = None, z: int = "odd") -> None:  # noqa: RUF013, UP045
        return None

    properties = from_function(f).contract.input_schema["properties"]
    assert properties["x"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert properties["y"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert properties["z"] == {"type": "integer"}


class Api:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def note(self, text: str, /) -> int:
        """Note it."""
        self.seen.append(text)
        return len(self.seen)

    async def __call__(self, x: int) -> int:
        return x


def scale(x: int, factor: int) -> int:
    return x * factor


def test_methods_partials_and_callable_objects_are_tools_too() -> None:
    """`self` and fixed arguments are no arguments; positional-only ones are called as they must be."""
    api = Api()
    note = from_function(api.note)
    assert note.function(**note.decode({"text": "a"})) == 1
    assert (note.contract.name, list(note.contract.arguments)) == ("note", ["text"])
    fixed = from_function(functools.partial(scale, factor=2))
    assert (fixed.contract.name, fixed.contract.arguments) == (
        "scale",
        {"x": {"type": "integer"}, "factor": {"type": "integer", "default": 2}},
    )
    assert from_function(api, Settings(name="api")).is_async is True


def test_settings_can_say_what_the_annotations_do_not() -> None:
    """An overlay for annotations that are missing or untrue."""

    def f(a, b: str) -> str:
        return {"n": a}

    made = from_function(f, Settings(effect="read", result=dict[str, int], arguments={"a": int}))
    assert made.contract.arguments["a"] == {"type": "integer"}
    assert made.contract.output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}


def test_one_scope_may_be_written_as_one_text() -> None:
    """A text is one name, not its letters."""

    @tool(effect="read", scope="tenant")
    def f(tenant: str) -> None: ...

    assert from_function(f).contract.scope == ("tenant",)


def test_what_is_not_annotated_is_open() -> None:
    """No schema is better than a wrong one."""

    def f(a):
        return a

    contract = from_function(f).contract
    assert (contract.arguments, contract.output_schema) == ({"a": {}}, None)


@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), {"a": [float("inf")]}, "\ud800", {1.5: "x"}, object(), 1j]
)
def test_a_result_without_a_json_form_is_refused(value: Any) -> None:
    """C11, C12: NaN, infinities, lone surrogates, odd keys and odd objects never leave."""

    def f():
        return value

    with pytest.raises(ResultShape):
        from_function(f).encode(value)


def test_a_result_deeper_than_any_json_is_refused() -> None:
    """G04: a loop ends with a sentence."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ResultShape, match="is nested deeper than 200 levels, or holds itself"):
        from_function(lambda: loop).encode(loop)


def test_numbers_of_other_libraries_travel_as_numbers() -> None:
    """`mpf` and the like are floats on the wire."""
    mpmath = pytest.importorskip("mpmath")

    def f() -> float: ...

    assert from_function(f).encode(mpmath.mpf("2.5")) == 2.5


def test_costs_are_fixed_or_reported() -> None:
    """Money alone, or a mapping of counters."""

    def f() -> dict[str, int]: ...

    fixed = from_function(f, Settings(cost=usd("0.5")))
    assert (fixed.contract.cost_usd, fixed.contract.reports_cost, fixed.cost) == (Decimal("0.5"), False, None)
    said = from_function(f, Settings(cost=lambda result: usd(result["cents"]) / 100))
    assert said.cost is not None
    assert (said.contract.reports_cost, said.cost({"cents": 5})) == (True, {"cost_usd": Decimal("0.05")})
    counted = from_function(f, Settings(cost=lambda result: {"tokens": result["n"]}))
    assert counted.cost is not None
    assert counted.cost({"n": 7}) == {"tokens": 7}


@pytest.mark.parametrize("amount", ["-1", "NaN", "x", "Infinity", 0.1])
def test_money_is_exact_and_not_negative(amount: Any) -> None:
    """A float is no amount of money."""
    with pytest.raises(ValueError, match="is no amount of money"):
        usd(amount)


def test_a_preview_function_gets_the_values_that_the_tool_gets() -> None:
    """Python values, not their JSON."""

    def f(at: dt.date) -> None: ...

    made = from_function(f, Settings(preview=lambda at: f"on {at.day}"))
    assert made.preview is not None
    assert made.preview({"at": "2026-01-07"}) == "on 7"


def test_a_template_fills_in_values_and_nothing_else() -> None:
    """A04: braces in values stay, fields of values cannot be reached, what was not given is said."""

    def f(a: str, b: dict[str, int], c: str = "") -> None: ...

    made = from_function(f, Settings(preview="{{{a}}} {b} {c}"))
    assert made.preview is not None
    assert made.preview({"a": "{b.__class__}", "b": {"y": 1, "x": 2}}) == '{{b.__class__}} {"x":2,"y":1} (not given)'
