"""What this host can see of a container: its first process, its control groups, whether it is the one that was made."""

from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import EnvironmentUnavailable
from harness.sandbox.cgroup import Located, locate
from harness.sandbox.cgroup_files import Group, Group1, Group2
from harness.sandbox.process import Handle
from harness.sandbox.watch import Watch

__all__ = ["Seen", "see"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A container's first process, as this host sees it."""

    handle: Handle
    located: Located
    """Its control groups."""
    group: Group
    watch: Watch

    def close(self) -> None:
        """Let go of the descriptors; the group is the engine's to remove. Idempotent."""
        self.handle.close()
        self.group.close()


def see(container: str, pid: int, *, ours: bool) -> Seen | None:
    """The process `pid`, where it is in the container's own control group. `container`: the engine's full id.

    `ours`: the kernel named the process, so that another one is a stranger; else the engine did, whose machine may be
    another. None where this host cannot see it, or it is outside this pid namespace (0).
    Raises EnvironmentUnavailable for a stranger.
    """
    if pid == 0:
        return None
    try:
        handle = Handle(pid)
    except ProcessLookupError:
        return None
    try:
        membership = Path(f"/proc/{pid}/cgroup").read_text()
        mounts = Path("/proc/self/mountinfo").read_text()
    except OSError:
        handle.close()
        return None
    if container not in membership:
        handle.close()
        if not ours:
            return None
        raise EnvironmentUnavailable(
            "another process than the box connected to its socket", hint="see who else can enter the folder of sockets"
        )
    located = locate(mounts, _own_groups(membership, container))
    group: Group
    if "memory" in located.version1 and "pids" in located.version1:
        group = Group1(located.version1)
    elif located.version2 is not None:
        group = Group2(located.version2)
    else:
        handle.close()
        return None
    return Seen(handle, located, group, Watch(pid, group))


def _own_groups(membership: str, container: str) -> str:
    """The lines of `/proc/PID/cgroup` that are the container's own; in other hierarchies it stands among strangers.

    Of a process that is just ending, version 1 shows the root: the lines that are read last may say that.
    """
    return "".join(line for line in membership.splitlines(keepends=True) if container in line)
