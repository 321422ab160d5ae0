"""Any schema at all: a refusal with its place, or stubs that compile and answer; never another error."""

import contextlib
import json
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.tool_stubs.making import item
from tool_stubs.generate import compact, generate
from tool_stubs.problem import StubRefused
from tool_stubs.runtime.errors import ArgumentsRefused
from tool_stubs.runtime.stub import build

NAMES = st.one_of(st.sampled_from(["a", "from", "list", "dt", "é", "2x", "", "x-y", "Any", "__x"]), st.text(max_size=4))
KINDS = st.sampled_from(["string", "integer", "number", "object", "array", "null", "any", "dict", "tuple", "nope"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), NAMES)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=2)),
    max_leaves=4,
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(KINDS, st.lists(KINDS, max_size=2)),
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.one_of(st.booleans(), st.lists(NAMES, max_size=2)),
            "items": st.one_of(inner, some),
            "anyOf": some,
            "oneOf": some,
            "allOf": some,
            "additionalProperties": inner,
            "enum": st.lists(VALUES, max_size=3),
            "const": VALUES,
            "default": VALUES,
            "format": st.sampled_from(["date", "date-time", "decimal", "uuid", "email"]),
            "nullable": st.booleans(),
            "$ref": st.sampled_from(["#", "#/$defs/A", "#/$defs/B", "#/properties/a", "#/nope"]),
            "x-python": st.sampled_from(["dataclass", "tuple", "set", "enum", "function"]),
            "x-enum-varnames": st.lists(NAMES, max_size=2),
            "title": NAMES,
            "description": NAMES,
        },
    )


SCHEMAS = st.recursive(st.one_of(st.booleans(), _schemas(st.booleans())), _schemas, max_leaves=6)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCHEMAS, SCHEMAS, SCHEMAS, SCHEMAS, VALUES)
@example({}, {"properties": {}, "$ref": "#"}, True, True, None)
def test_any_schema_gives_stubs_or_a_reason(parameters: Any, result: Any, one: Any, other: Any, value: Any) -> None:
    """C19, C33: references that loop, wrong types, odd names, marks in wrong places."""
    shared = {"$defs": {"A": one, "B": other}}
    arguments = {**(parameters if isinstance(parameters, dict) else {}), "type": "object", **shared}
    tool = item("tool-x", parameters=arguments, result={**result, **shared} if isinstance(result, dict) else result)
    try:
        stubs = generate([tool])
    except StubRefused:
        return
    compile(stubs.source, "tools", "exec")
    assert compact([tool]).startswith("tool_x(")
    module = build(json.loads(json.dumps(stubs.table)), lambda tool, sent, decode: decode(value), source=stubs.source)
    for name in module["__all__"]:
        assert name in module or module["__getattr__"](name) is not None
    with contextlib.suppress(ArgumentsRefused):
        module["tool_x"](**{row["wire"]: value for row in stubs.table["tools"][0]["params"]})
