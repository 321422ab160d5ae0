"""Sources of a host file: one sealed registry, or every fault of every source."""

import sys

import pytest

from harness.contract.host import load_host
from harness.core.errors import RegistryRefused
from harness.registry.source import load_sources

ONE = """
from harness.registry.decorator import tool

@tool(effect="read")
def look(x: int) -> int:
    return x
"""
OTHER = ONE.replace('"read"', '"write"')


@pytest.fixture
def folder(tmp_path):
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_the_tools_of_a_host_file_are_one_sealed_registry(folder) -> None:
    """Paths are relative to its folder."""
    (folder / "one.py").write_text(ONE)
    (folder / "harness.yaml").write_text("tools:\n  - python: one.py\n")
    registry = load_sources(load_host(folder / "harness.yaml"), folder)
    assert list(registry.contracts()) == ["look"]
    with pytest.raises(RegistryRefused, match="after the registry was sealed"):
        registry.add(registry.tools()["look"])


def test_faults_of_all_sources_are_told_at_once(folder) -> None:
    """A missing file, and a conflict between two others that names both places."""
    (folder / "one.py").write_text(ONE)
    (folder / "other.py").write_text(OTHER)
    host = load_host({"tools": [{"python": "nope.py"}, {"python": "one.py"}, {"python": "other.py"}]})
    with pytest.raises(RegistryRefused) as refused:
        load_sources(host, folder)
    assert [(fault.code, fault.place.key) for fault in refused.value.faults] == [
        ("no_such_source", "tools[0]"),
        ("tool_conflict", ""),
    ]
    message = refused.value.faults[1].message
    assert "one.py:4` and in `" in message
    assert message.endswith("other.py:4`: they differ in `effect`")


def test_a_host_without_tools_has_an_empty_registry(folder) -> None:
    """Contracts can still be checked."""
    assert dict(load_sources(load_host({}), folder).contracts()) == {}
