"""The registry: the sealed set of tools of a host. Two definitions that disagree never seal."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from harness.contract.tool import ErrorRule, ToolContract
from harness.core.budget import Amount
from harness.core.call import Json
from harness.core.canonical import digest
from harness.core.errors import Fault, Place, RegistryRefused
from harness.registry.values import ResultShape
from tool_stubs.naming import fold_tool

__all__ = ["Registry", "ResultShape", "Tool"]

RESERVED_PREFIX = "harness."
"""Names that the host itself serves."""


@dataclass(frozen=True, eq=False, slots=True)
class Tool:
    """A tool contract, and the function behind it."""

    contract: ToolContract
    function: Callable[..., object | Awaitable[object]]
    """Takes the decoded arguments by keyword."""
    is_async: bool
    decode: Callable[[dict[str, Json]], dict[str, Any]]
    """JSON arguments → Python values. Raises ValueError."""
    encode: Callable[[object], Json]
    """Result → JSON. Raises ResultShape."""
    error_types: tuple[tuple[type[BaseException], ErrorRule], ...] = ()
    """Declared error classes; a subclass counts as its nearest declared base."""
    cost: Callable[[object], Mapping[str, Amount]] | None = None
    """What a result says that its call used."""
    preview: Callable[[Mapping[str, Json]], str] | None = None
    """JSON arguments → the text that a person reads; None where none is written."""
    reconcile: Callable[..., object] | None = None
    compensate: Callable[..., object] | None = None


class Registry:
    """Tools by wire name. Filled, then sealed; after that it only answers."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._folded: dict[str, str] = {}
        self._faults: list[Fault] = []
        self._lent: set[str] = set()
        self._sealed = False

    def add(self, tool: Tool) -> None:
        """Take a tool. A conflict is kept, and told by `seal` and by every question, together with all others.

        Raises RegistryRefused where the registry is sealed.
        """
        if self._sealed:
            raise RegistryRefused([Fault("sealed", f"`{tool.contract.name}` came after the registry was sealed")])
        name = tool.contract.name
        known = self._tools.get(name)
        if known is not None:
            if not _same_tool(known, tool):
                self._faults.append(_conflict(known.contract, tool.contract))
            return
        self._faults += _name_faults(tool.contract)
        folded = fold_tool(name)
        if folded in self._folded:
            self._faults.append(_folding(self._tools[self._folded[folded]].contract, tool.contract, folded))
        self._folded.setdefault(folded, name)
        self._tools[name] = tool

    def seal(self) -> "Registry":
        """Close the set. Raises RegistryRefused with every conflict."""
        self._refuse()
        self._sealed = True
        return self

    def lend(self, tool: Tool) -> None:
        """Take a contract that others use as a tool, after sealing too; a later binding of it replaces the earlier.

        Raises RegistryRefused where a tool of the host has its name, or one that folds alike.
        """
        name = tool.contract.name
        if name not in self._lent:
            faults = _name_faults(tool.contract)
            folded = fold_tool(name)
            if name in self._tools:
                faults.append(_conflict(self._tools[name].contract, tool.contract))
            elif folded in self._folded:
                faults.append(_folding(self._tools[self._folded[folded]].contract, tool.contract, folded))
            if faults:
                raise RegistryRefused(faults)
            self._folded[folded] = name
            self._lent.add(name)
        self._tools[name] = tool

    def get(self, name: str) -> Tool | None:
        """A tool by its wire name. Raises RegistryRefused where the registry holds conflicts."""
        self._refuse()
        return self._tools.get(name)

    def contracts(self) -> Mapping[str, ToolContract]:
        """Every tool contract by wire name. Raises RegistryRefused where the registry holds conflicts."""
        self._refuse()
        return MappingProxyType({name: tool.contract for name, tool in self._tools.items()})

    def tools(self) -> Mapping[str, Tool]:
        """Every tool by wire name. Raises RegistryRefused where the registry holds conflicts."""
        self._refuse()
        return MappingProxyType(self._tools)

    @property
    def digest(self) -> str:
        """SHA-256 hex over the whole surface."""
        return digest({name: contract.digest for name, contract in self.contracts().items()})

    def _refuse(self) -> None:
        if self._faults:
            raise RegistryRefused(self._faults)


def _same_tool(left: Tool, right: Tool) -> bool:
    """One function that two sources name, whether or not its module was loaded twice."""
    if left.function is right.function:
        return left.contract.digest == right.contract.digest
    code = getattr(left.function, "__code__", None)
    return (
        code is not None
        and code == getattr(right.function, "__code__", None)
        and left.contract.digest == right.contract.digest
        and left.contract.source == right.contract.source
    )


def _conflict(left: ToolContract, right: ToolContract) -> Fault:
    """Both places, and each field that differs."""
    one, other = left.definition(), right.definition()
    differing = [name for name in one if one[name] != other[name]]
    what = "each has a function of its own"
    if differing:
        what = f"they differ in {', '.join(f'`{name}`' for name in differing)}"
    message = f"the tool `{left.name}` is defined twice, in `{left.source}` and in `{right.source}`: {what}"
    return Fault("tool_conflict", message, "rename one of them, or load only one of the two", _place(right))


def _folding(left: ToolContract, right: ToolContract, folded: str) -> Fault:
    message = (
        f"the tools `{left.name}` (`{left.source}`) and `{right.name}` (`{right.source}`) "
        f"are both written `{folded}` in Python"
    )
    return Fault("name_collision", message, "rename one of them with `name=`", _place(right))


def _name_faults(contract: ToolContract) -> list[Fault]:
    name = contract.name
    if not name or len(name) > 200 or not name.isprintable():
        return [
            Fault(
                "bad_tool_name", f"`{name[:80]!r}` is no tool name", "1 to 200 printable characters", _place(contract)
            )
        ]
    if name.startswith(RESERVED_PREFIX):
        hint = f"names that begin with `{RESERVED_PREFIX}` are served by the harness itself"
        return [Fault("bad_tool_name", f"the tool name `{name}` is reserved", hint, _place(contract))]
    return []


def _place(contract: ToolContract) -> Place:
    file, _, line = contract.source.rpartition(":")
    return Place(file, int(line)) if file and line.isdecimal() else Place(contract.source)
