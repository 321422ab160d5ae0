"""The catalogue: what a grant lets the snippet see."""

from dataclasses import replace

from harness.contract.grants import Constraint, ConstraintKind, Grant
from harness.core.call import Approval
from harness.registry.catalog import compact, listed, stubs, surface
from harness.registry.decorator import no_effect, tool
from harness.registry.from_function import from_function


class Stale(Exception):
    pass


@tool(effect="read", scope=("tenant", "record_id"), errors={Stale: no_effect(hint="read again")})
def read_record(tenant: str, record_id: int) -> str:
    """Read a record. And more."""
    return ""


def _grant() -> Grant:
    contract = from_function(read_record).contract
    properties = dict(contract.input_schema["properties"])
    del properties["tenant"]
    visible = {**contract.input_schema, "properties": properties, "required": ["record_id"]}
    limits = (Constraint("record_id", ConstraintKind.ONE_OF, [42, 43]),)
    return Grant(contract, {"tenant": "acme"}, limits, 5, Approval.ALWAYS, visible, frozenset())


def test_a_grant_becomes_one_item_without_what_is_bound() -> None:
    """The value of a bound argument never shows; limits are told in words."""
    (item,) = surface({"read_record": _grant()})
    assert item == {
        "name": "read_record",
        "description": "Read a record. And more.",
        "parameters": _grant().visible_schema,
        "result": {"type": "string"},
        "effect": "read",
        "approval": "always",
        "errors": {"Stale": "read again"},
        "calls": 5,
        "bound": ["tenant"],
        "limits": {"record_id": "one of `42`, `43`"},
    }
    assert "acme" not in str(item)


def test_the_compact_list_is_for_prompts() -> None:
    """One line, signature and purpose."""
    assert compact({"read_record": _grant()}) == "read_record(record_id: int) -> str  # read: Read a record."


def test_stubs_are_made_once_for_what_looks_the_same() -> None:
    """Another bound value is the same surface; another limit, approval or name of a bound argument is not."""
    one = stubs({"read_record": _grant()})
    assert stubs({"read_record": replace(_grant(), bound={"tenant": "other"})}) is one
    for changed in (
        replace(_grant(), limits=()),
        replace(_grant(), approval=Approval.NONE),
        replace(_grant(), calls=6),
        replace(_grant(), bound={}),
    ):
        assert stubs({"read_record": changed}) is not one


def test_over_the_size_of_the_contract_a_prompt_carries_names_and_the_ways_to_look() -> None:
    """Prompt, stubs and box say the same names, from the same number of tools on."""
    grants = {"read_record": _grant(), "read-other": replace(_grant(), tool=replace(_grant().tool, name="read-other"))}
    assert listed(grants, 2) == compact(grants)
    assert "finding" not in stubs(grants, 2).table
    assert stubs(grants, 1).table["finding"] == {"search": "search", "describe": "describe"}
    assert listed(grants, 1) == (
        "2 tools. Look before you call: `from tools import search, describe`; "
        "`search('words')` gives names and signatures, `describe('name')` the full text.\nread_other, read_record"
    )
