"""The references of a contract filled in for one run: grants and destinations as enforcement and delivery take them.

What is filled in is looked at again: a claim or an input may be of the wrong type, or outside what the contract lists.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.contract.grants import Constraint, ConstraintKind, DestinationTerms, Grant, NotifyTerms
from harness.contract.model import Contract
from harness.contract.references import MissingReference, Values, fill, references
from harness.contract.scope import Limits
from harness.contract.sections import ToolGrant
from harness.contract.tool import ToolContract
from harness.contract.tool_rules import limit_faults
from harness.core.call import Approval, Json
from harness.core.canonical import canonical
from harness.core.errors import Fault, Place

__all__ = ["Filler", "visible_schema"]


class Filler:
    """Fills in one run's values; what cannot be filled is collected in `faults`."""

    def __init__(self, contract: Contract, values: Values) -> None:
        self.faults: list[Fault] = []
        self._contract = contract
        self._values = values

    def grants(self, tools: Mapping[str, ToolContract], approvals: Mapping[str, Approval]) -> dict[str, Grant]:
        """The grant of every listed tool, by name."""
        return {
            grant.tool: self._grant(f"permissions.tools[{index}]", grant, tools[grant.tool], approvals[grant.tool])
            for index, grant in enumerate(self._contract.permissions.tools)
            if grant.tool
        }

    def _grant(self, key: str, grant: ToolGrant, tool: ToolContract, approval: Approval) -> Grant:
        bound: dict[str, Json] = {}
        limits: list[Constraint] = []
        for argument, written in grant.scope.items():
            place = self._contract.place(f"{key}.scope.{argument}")
            filled = self._limits(written, place)
            if filled is None:
                continue
            self.faults += limit_faults(tool, argument, filled, place)
            self.faults += _narrowed_to_nothing(argument, filled, place)
            if filled.bind:
                bound[argument] = filled.rules[0][1]
            else:
                limits += [Constraint(argument, kind, value) for kind, value in filled.rules]
        return Grant(
            tool=tool,
            bound=bound,
            limits=tuple(limits),
            calls=grant.calls,
            approval=approval,
            visible_schema=visible_schema(tool.input_schema, frozenset(bound)),
            masks=frozenset(tool.data.values()) - set(self._contract.permissions.data_classes),
            share={name: amount for name, amount in grant.budget if amount} if grant.budget is not None else {},
        )

    def _limits(self, written: Limits, place: Place) -> Limits | None:
        """The limits of one argument, filled in; what stands inside a path is one segment of it."""
        rules: list[tuple[ConstraintKind, Json]] = []
        for kind, value in written.rules:
            try:
                rules.append((kind, fill(value, self._values, segments=kind is ConstraintKind.UNDER)))
            except MissingReference as missing:
                self.faults.append(_missing(missing, place))
                return None
        return Limits(written.bind, tuple(rules))

    def destinations(self) -> tuple[DestinationTerms, ...]:
        """Where this run's result goes, and who hears of it."""
        found: list[DestinationTerms] = []
        for index, each in enumerate(self._contract.destination):
            key = f"destination[{index}]"
            notify = tuple(
                NotifyTerms(
                    url=self._url(note.webhook or note.bus, f"{key}.notify[{number}]"),
                    kind="webhook" if note.webhook else "bus",
                    on=frozenset(note.on),
                )
                for number, note in enumerate(each.notify)
            )
            found.append(DestinationTerms(self._url(each.to, f"{key}.to"), each.format.value, each.retention, notify))
        return tuple(found)

    def _url(self, text: str, key: str) -> str:
        """A URL, each filled-in value one segment of it."""
        try:
            return str(fill(text, self._values, segments=True))
        except MissingReference as missing:
            self.faults.append(_missing(missing, self._contract.place(key)))
            return ""


def visible_schema(schema: Mapping[str, Any], bound: frozenset[str]) -> dict[str, Any]:
    """An input schema without the bound arguments."""
    if not bound:
        return dict(schema)
    properties = {name: each for name, each in schema.get("properties", {}).items() if name not in bound}
    required = [name for name in schema.get("required", ()) if name not in bound]
    return {**schema, "properties": properties, "required": required}


def _missing(missing: MissingReference, place: Place) -> Fault:
    hint = "pass it, or give the principal the claim" if any(references(missing.reference.text)) else ""
    return Fault("missing_reference", str(missing), hint, place)


def _narrowed_to_nothing(argument: str, limits: Limits, place: Place) -> Iterator[Fault]:
    """Where one rule names values that another does not list, no call could ever pass."""
    rules = dict(limits.rules)
    listed = rules.get(ConstraintKind.ONE_OF)
    if limits.bind or listed is None or ConstraintKind.EQUALS not in rules:
        return
    value = rules[ConstraintKind.EQUALS]
    if canonical(value) not in {canonical(each) for each in listed}:
        shown = canonical(value).decode("utf-8")[:80]
        said = f"`{argument}` is narrowed to `{shown}`, which the contract does not list"
        yield Fault("outside_scope", said, "pass one of the listed values", place)
