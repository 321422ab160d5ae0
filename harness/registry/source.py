"""Sources: from the host file's list of tools to the sealed registry."""

from collections.abc import Callable, Iterable
from pathlib import Path

from harness.contract.host import HostFile, ToolSource
from harness.core.errors import ContractRefused, Fault, Place, RegistryRefused
from harness.registry.python_source import load_python
from harness.registry.registry import Registry, Tool

__all__ = ["Elsewhere", "load_sources"]


Elsewhere = Callable[[ToolSource, Place], Iterable[Tool]]
"""The tools of an entry that is no Python. Raises RegistryRefused or ContractRefused with every fault."""


def load_sources(host: HostFile, folder: Path | str, elsewhere: Elsewhere | None = None) -> Registry:
    """The sealed registry of a host; paths of sources are relative to `folder`.

    Raises RegistryRefused with every fault of every source.
    """
    registry = Registry()
    faults: list[Fault] = []
    for at, source in enumerate(host.tools):
        place = Place(key=f"tools[{at}]")
        try:
            for tool in _tools(source, Path(folder), place, elsewhere):
                registry.add(tool)
        except (RegistryRefused, ContractRefused) as refused:
            faults += refused.faults
    try:
        registry.seal()
    except RegistryRefused as refused:
        faults += refused.faults
    if faults:
        raise RegistryRefused(faults)
    return registry


def _tools(source: ToolSource, folder: Path, place: Place, elsewhere: Elsewhere | None) -> Iterable[Tool]:
    if source.python:
        return load_python(source.python, folder, place)
    if elsewhere is None:
        hint = "load the host with `Harness.from_file`"
        raise RegistryRefused([Fault("no_such_source", f"`{source.name}` needs what reaches it", hint, place)])
    return elsewhere(source, place)
