"""Control groups that a dying tree, or a cancelled close, left: tried again before the next one is made."""

from harness.sandbox.cgroup_files import Group

__all__ = ["leave", "remove_left"]

_left: list[Group] = []


def leave(group: Group) -> None:
    """Remember a group that could not be removed yet; where this process ends first, the next start sweeps it."""
    _left.append(group)


def remove_left() -> None:
    """Remove what has become empty since."""
    if _left:
        _left[:] = [group for group in _left if not group.remove()]
