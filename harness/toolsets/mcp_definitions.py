"""Tools of an MCP server as definitions, from the JSON of its list. Pure; what is malformed is said, not guessed."""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.core.call import Effect
from harness.core.errors import Fault, HostileInput, Place
from harness.toolsets.definition import Definition, Hints

__all__ = ["definitions_of"]


def definitions_of(tools: Iterable[Any], place: Place) -> tuple[dict[str, Definition], list[Fault]]:
    """The definitions by name, and a fault for each entry that is none."""
    found: dict[str, Definition] = {}
    faults: list[Fault] = []
    for at, raw in enumerate(tools):
        name = raw.get("name") if isinstance(raw, Mapping) else None
        if not isinstance(name, str) or not name:
            faults.append(Fault("bad_definition", f"entry {at} of the source's list has no name", "", place))
        elif name in found:
            faults.append(Fault("bad_definition", f"the source lists `{name}` twice", "", place))
        else:
            try:
                found[name] = _definition(name, raw)
            except (HostileInput, ValueError) as error:
                faults.append(Fault("bad_definition", f"the definition of `{name}` cannot be used: {error}", "", place))
    return found, faults


def _definition(name: str, raw: Mapping[str, Any]) -> Definition:
    input_schema, output_schema = raw.get("inputSchema"), raw.get("outputSchema")
    if not isinstance(input_schema, Mapping):
        raise ValueError("it has no `inputSchema`")
    if output_schema is not None and not isinstance(output_schema, Mapping):
        raise ValueError("its `outputSchema` is no object")
    said = raw.get("description") or raw.get("title") or ""
    return Definition(
        name,
        said if isinstance(said, str) else "",
        dict(input_schema),
        None if output_schema is None else dict(output_schema),
        dict(raw),
        _hints(raw.get("annotations")),
    )


def _hints(annotations: Any) -> Hints:
    """Only what is said outright counts: the protocol's own defaults are nobody's word."""
    if not isinstance(annotations, Mapping):
        return Hints()
    repeatable = annotations.get("idempotentHint") is True
    if annotations.get("readOnlyHint") is True:
        return Hints(Effect.READ, True, "readOnlyHint")
    if annotations.get("destructiveHint") is True:
        return Hints(Effect.DESTRUCTIVE, repeatable, "destructiveHint")
    return Hints(None, repeatable, "idempotentHint" if repeatable else "")
