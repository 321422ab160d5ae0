"""Sources: from the host file's list of tools to the sealed registry."""

from pathlib import Path

from harness.contract.host import HostFile
from harness.core.errors import Fault, Place, RegistryRefused
from harness.registry.python_source import load_python
from harness.registry.registry import Registry

__all__ = ["load_sources"]


def load_sources(host: HostFile, folder: Path | str) -> Registry:
    """The sealed registry of a host; paths of sources are relative to `folder`.

    Raises RegistryRefused with every fault of every source.
    """
    registry = Registry()
    faults: list[Fault] = []
    for at, source in enumerate(host.tools):
        place = Place(key=f"tools[{at}]")
        try:
            for tool in load_python(source.python, Path(folder), place):
                registry.add(tool)
        except RegistryRefused as refused:
            faults += refused.faults
    try:
        registry.seal()
    except RegistryRefused as refused:
        faults += refused.faults
    if faults:
        raise RegistryRefused(faults)
    return registry
