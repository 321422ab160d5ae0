"""Stubs in the box: they bind like Python, convert by the table, and send what the snippet meant."""

import asyncio

import pytest

from tests.tool_stubs.making import Box, item, record_tool
from tool_stubs.runtime.errors import ArgumentsRefused, ToolDenied
from tool_stubs.runtime.stub import build


def test_positional_keyword_and_mixed_calls_send_the_same() -> None:
    """C04: bound in the order of the contract."""
    box = Box(record_tool())
    box.read_record(1, 5)
    box.read_record(1, limit=5)
    box.read_record(limit=5, record_id=1)
    assert [arguments for _, arguments in box.calls] == [{"record_id": 1, "limit": 5}] * 3


def test_defaults_of_functions_travel_and_those_of_other_sources_do_not() -> None:
    """What a person approves and a check judges is what the tool gets."""
    schema = {"type": "object", "properties": {"q": {"type": "string", "default": "x"}}}
    box = Box(record_tool(), item("other", parameters=schema))
    box.read_record(1)
    box.other()
    assert box.calls == [("read_record", {"record_id": 1, "limit": 10}), ("other", {})]


PARAMETERS = "parameters: record_id, limit (optional), deep (optional)"


@pytest.mark.parametrize(
    ("args", "kwargs", "message", "hint"),
    [
        ((), {}, "read_record() missing 1 required positional argument: 'record_id'", PARAMETERS),
        ((1, 2, 3), {}, "read_record() takes from 1 to 2 positional arguments but 3 were given", PARAMETERS),
        ((1,), {"record_id": 2}, "read_record() got multiple values for argument 'record_id'", PARAMETERS),
        (
            (1,),
            {"limt": 2},
            "read_record() got an unexpected keyword argument 'limt'",
            f"did you mean 'limit'? {PARAMETERS}",
        ),
        ((1,), {"zzz": 2}, "read_record() got an unexpected keyword argument 'zzz'", PARAMETERS),
        (
            (1,),
            {"tenant": "acme"},
            "read_record() got an unexpected keyword argument 'tenant'",
            "the contract sets it for every call; leave it out",
        ),
    ],
)
def test_a_wrong_call_is_told_as_python_tells_it(args, kwargs, message: str, hint: str) -> None:
    """C04, C29: the parameters are named, with the nearest one; nothing is sent."""
    box = Box(record_tool(bound=["tenant"]))
    with pytest.raises(TypeError) as refused:
        box.read_record(*args, **kwargs)
    error = refused.value
    assert isinstance(error, ArgumentsRefused)
    assert isinstance(error, ToolDenied)
    assert (error.message, error.hint, error.code, error.tool) == (message, hint, "bad_arguments", "read_record")
    assert str(error) == f"{message} ({hint})"
    assert box.calls == []


def test_several_missing_arguments_are_listed() -> None:
    """As Python lists them, keyword-only ones apart."""
    names = ["a", "b", "c"]
    schema = {"type": "object", "properties": {name: {} for name in names}, "required": names}
    box = Box(item("f", parameters=schema), item("g", parameters={**schema, "x-keyword-only": names}))
    with pytest.raises(ArgumentsRefused) as refused:
        box.f()
    assert refused.value.message == "f() missing 3 required positional arguments: 'a', 'b', and 'c'"
    with pytest.raises(ArgumentsRefused) as refused:
        box.g(a=1)
    assert refused.value.message == "g() missing 2 required keyword-only arguments: 'b' and 'c'"


def test_a_tool_that_takes_more_arguments_gets_them() -> None:
    """Only where its schema says so."""
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": True}
    box = Box(item("f", parameters=schema))
    box.f(1, b=2)
    assert box.calls == [("f", {"a": 1, "b": 2})]


def test_map_sends_a_call_for_each_row_in_order() -> None:
    """Dicts, tuples, and bare first arguments; common arguments go to every call."""
    box = Box(record_tool(), answer=lambda arguments: arguments["record_id"] * 10)
    assert box.read_record.map([{"record_id": 1}, (2, 7), 3], deep=True) == [10, 20, 30]
    assert [arguments for _, arguments in box.calls] == [
        {"record_id": 1, "deep": True, "limit": 10},
        {"record_id": 2, "limit": 7, "deep": True},
        {"record_id": 3, "deep": True, "limit": 10},
    ]


def test_map_sends_nothing_where_one_row_does_not_fit() -> None:
    """A wrong row 3 is found before row 1 has had an effect."""
    box = Box(record_tool())
    with pytest.raises(ArgumentsRefused):
        box.read_record.map([1, 2, {"nope": 3}])
    assert box.calls == []


def test_map_uses_the_channels_own_way_of_sending_many() -> None:
    """One hand-over of all rows; a method `many` of the channel is found by itself."""

    class Channel:
        def __call__(self, tool, arguments, decode):
            raise AssertionError("single calls are not used")

        def many(self, tool, rows, decode):
            return [decode(row) for row in rows]

    module = build(Box(record_tool()).stubs.table, Channel())
    assert module["read_record"].map([1, 2]) == [{"record_id": 1, "limit": 10}, {"record_id": 2, "limit": 10}]


def test_map_can_be_awaited_where_calls_give_promises() -> None:
    """Without a way of its own the channel's promises are awaited one by one."""

    async def value(arguments):
        return arguments["record_id"]

    module = build(Box(record_tool()).stubs.table, lambda tool, arguments, decode: value(arguments))

    async def run():
        return await module["read_record"].map([3, 4])

    assert asyncio.run(run()) == [3, 4]


def test_a_name_that_is_not_there_is_told_with_the_nearest_one() -> None:
    """C29: an import of a hallucinated tool teaches."""
    box = Box(record_tool())
    with pytest.raises(AttributeError) as missing:
        box.module["__getattr__"]("read_recrod")
    assert str(missing.value) == "module 'tools' has no tool 'read_recrod' in this run (did you mean 'read_record'?)"


def test_the_docstring_is_the_one_of_the_text() -> None:
    """Cut out of the source when it is asked for."""
    box = Box(record_tool(description="Read a record."))
    assert box.read_record.__doc__ == (
        "Read a record.\n\nReturns:\n    Not declared by the tool: look at a value before relying on its form.\n\n"
        "Effect: read: it changes nothing.\nApproval: none."
    )
    assert (box.read_record.__name__, repr(box.read_record)) == ("read_record", "<tool read_record>")


def test_an_argument_of_any_type_goes_out_for_the_host_to_judge() -> None:
    """The box teaches names, the host teaches types: `record_id="x"` is sent as it is."""
    box = Box(record_tool())
    box.read_record("x", None)
    assert box.calls == [("read_record", {"record_id": "x", "limit": None})]
