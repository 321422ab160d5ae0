"""How a box ended, from what the host knows: its own kill, the kernel's counters, the exit status. Pure."""

import signal

from harness.core.ports import BoxExit, ExitKind

__all__ = ["FAULTS", "classify"]

FAULTS = frozenset(
    {
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGABRT,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGSYS,
        signal.SIGTRAP,
    }
)
"""Signals that a process brings on itself."""


def classify(status: int | None, *, killed: bool, oom_kills: int) -> BoxExit:
    """The end of a box.

    `status`: exit status of its first process, negative for a signal, None where it could not be learnt.
    `killed`: whether this harness killed it. `oom_kills`: the control group's counter; it speaks first, since the
    victim may have been another process than the first, whose own exit then says nothing.
    """
    if oom_kills:
        plural = "es" if oom_kills > 1 else ""
        return BoxExit(ExitKind.OUT_OF_MEMORY, f"the kernel ended {oom_kills} process{plural} for want of memory")
    if status is None:
        kind = ExitKind.KILLED_BY_US if killed else ExitKind.CRASHED
        return BoxExit(kind, "its exit status could not be learnt")
    if status >= 0:
        return BoxExit(ExitKind.EXITED, f"exit status {status}")
    number = -status
    if killed and number == signal.SIGKILL:
        return BoxExit(ExitKind.KILLED_BY_US, "killed by the harness")
    if number in FAULTS:
        return BoxExit(ExitKind.CRASHED, f"crashed with {_name(number)}")
    return BoxExit(ExitKind.KILLED_BY_OTHERS, f"killed from outside with {_name(number)}")


def _name(number: int) -> str:
    """A signal's name; real-time signals have a number alone."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
