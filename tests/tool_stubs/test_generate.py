"""The text: typed, complete, and never more than text, whatever a tool's author wrote."""

import json

from mypy import api as mypy

from tests.tool_stubs.making import item, record_tool
from tool_stubs.generate import compact, generate


def _stub(source: str) -> str:
    return source[source.index("@stub\n") :]


def test_a_stub_says_all_that_a_caller_must_know() -> None:
    """Purpose, arguments with bounds and units, result, errors, effect, approval, calls, what the contract set."""
    schema = {
        "type": "object",
        "properties": {
            "record_id": {"type": "integer", "description": "Which record.", "minimum": 1},
            "weight": {"type": "number", "default": 1.5, "x-unit": "kg"},
            "on": {"type": "string", "format": "date", "default": "2026-01-02"},
        },
        "required": ["record_id"],
    }
    stubs = generate(
        [
            item(
                "update-record",
                description="Bring a record to a text.",
                parameters=schema,
                result={"type": "integer", "description": "Its new version.", "minimum": 1},
                approval="always",
                errors={"StaleVersion": "read the record again", "Down": ""},
                calls=5,
                bound=["tenant"],
                limits={"record_id": "one of `42`, `43`"},
            )
        ]
    )
    assert _stub(stubs.source) == (
        "@stub\n"
        "def update_record(record_id: int, weight: float = 1.5, on: dt.date = UNSET) -> int:\n"
        '    """Bring a record to a text.\n'
        "\n"
        "    Args:\n"
        "        record_id: Which record; at least 1; the contract allows one of `42`, `43`\n"
        "        weight: in kg\n"
        '        on: default "2026-01-02"\n'
        "\n"
        "    Returns:\n"
        "        Its new version; at least 1\n"
        "\n"
        "    Raises:\n"
        "        StaleVersion: read the record again\n"
        "        Down: declared by the tool\n"
        "\n"
        "    Effect: write: it changes something outside.\n"
        "    Approval: a person is asked before every call.\n"
        "    Calls: at most 5 in this run.\n"
        "    Set by the contract: tenant.\n"
        "    Tool: update-record.\n"
        '    """\n'
        "    ...\n"
    )
    assert stubs.names == {"update-record": "update_record"}


def test_a_missing_result_schema_is_said_to_be_missing() -> None:
    """Nobody guesses a form."""
    source = _stub(generate([item("look")]).source)
    assert "def look() -> Any:" in source
    assert "Not declared by the tool: look at a value before relying on its form." in source


def test_keyword_only_parameters_and_defaults_stand_in_the_signature() -> None:
    """As the function itself has them."""
    assert (
        "def read_record(record_id: int, limit: int = 10, *, deep: bool = UNSET) -> Any:"
        in generate([record_tool()]).source
    )


def test_the_compact_list_has_one_line_for_each_tool() -> None:
    """Signature, effect, wire name where it differs, the first sentence."""
    tools = [record_tool(description="Read it. At once."), item("get-sum", effect="read")]
    assert compact(tools) == (
        "read_record(record_id: int, limit: int = 10, *, deep: bool = UNSET) -> Any  # read: Read it.\n"
        "get_sum() -> Any  # read (tool get-sum)"
    )


HOSTILE = 'end"""\nimport os\nos.system("id")\n"""\\\x00\u202e\r\x0c\u2028exit()\\'


def test_a_description_never_becomes_code() -> None:
    """A39: quotes, line ends of every kind, backslashes and bidirectional marks stay text, in every place."""
    schema = {
        "type": "object",
        "description": HOSTILE,
        "properties": {
            HOSTILE: {"type": "string", "description": HOSTILE, "pattern": HOSTILE},
            "obj": {"type": "object", "description": HOSTILE, "properties": {HOSTILE: {"description": HOSTILE}}},
            "e": {"enum": [HOSTILE]},
        },
    }
    stubs = generate([item(HOSTILE, description=HOSTILE, parameters=schema, result=schema, errors={HOSTILE: HOSTILE})])
    scope: dict[str, object] = {}
    exec(compile(stubs.source, "tools", "exec"), scope)  # what would run if it were code
    assert "os" not in scope
    assert "\u202e" not in stubs.source
    assert "\r" not in stubs.source


def test_a_section_of_the_description_is_not_said_twice() -> None:
    """What the text says of arguments gives way to what the schema says."""
    source = _stub(generate([item("a", description="Do it.\n\nArgs:\n    x: old\n\nMore.")]).source)
    assert "x: old" not in source
    assert "More." in source


def test_the_text_type_checks(tmp_path) -> None:
    """Strictly, for every kind of named type, default and odd name."""
    inner = {
        "type": "object",
        "properties": {
            "dt": {"type": "string", "format": "date"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/N"}},
        },
        "required": ["dt"],
    }
    rec = {
        "type": "object",
        "x-python": "dataclass",
        "title": "Rec",
        "properties": {"int": {"type": "integer"}, "b": {"type": "integer", "default": 1}, "c": {"$ref": "#/$defs/C"}},
        "required": ["int"],
    }
    color = {
        "enum": ["r", "g"],
        "type": "string",
        "x-python": "str-enum",
        "x-enum-varnames": ["RED", "GREEN"],
        "title": "C",
    }
    schema = {
        "type": "object",
        "properties": {
            "from": {"$ref": "#/$defs/N"},
            "rec": {"$ref": "#/$defs/Rec"},
            "j": {"$ref": "#/$defs/J"},
            "wrong": {"type": "string", "default": 5},
            "u": {"anyOf": [{"type": "string", "format": "decimal"}, {"type": "null"}], "default": None},
            "never": False,
        },
        "additionalProperties": {"type": "integer"},
        "$defs": {
            "N": inner,
            "Rec": rec,
            "C": color,
            "J": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/J"}}]},
        },
    }
    result = {"$ref": "#/$defs/Rec", "$defs": schema["$defs"]}
    source = generate([item("list", parameters=schema, result=result, errors={"Down": ""})]).source
    use = (
        "from tools import C, Rec, list_\n"
        "rows: list[Rec] = list_.map([{}])\n"
        "one: int = list_(extra=3).int\n"
        "list_(rec=Rec(int=1, c=C.RED), j=[1, [2]])\n"
    )
    (tmp_path / "tools.py").write_text(source)
    (tmp_path / "use.py").write_text(use)
    out, _, status = mypy.run(
        [
            "--strict",
            "--no-error-summary",
            "--cache-dir",
            str(tmp_path / "cache"),
            str(tmp_path / "tools.py"),
            str(tmp_path / "use.py"),
        ]
    )
    assert (out, status) == ("", 0)


def test_the_table_is_json_and_small() -> None:
    """Only what the box needs: no text, no default that says nothing."""
    table = generate([record_tool()]).table
    assert json.loads(json.dumps(table)) == table
    assert table == {
        "v": 1,
        "tools": [
            {
                "name": "read_record",
                "py": "read_record",
                "doc": table["tools"][0]["doc"],
                "params": [
                    {"wire": "record_id", "req": True},
                    {"wire": "limit", "send": True, "default": 10},
                    {"wire": "deep", "kw": True},
                ],
            }
        ],
        "types": {},
        "errors": [],
    }
