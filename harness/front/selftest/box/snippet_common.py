"""What probes share inside a box. Its text goes in front of theirs; standard library only.

A probe is a function of one argument. It gives back what got through, in a few words, or nothing where the wall held;
it raises `Untried` where this box cannot be asked.
"""

import ctypes
import os
from typing import Any

EPERM, EACCES = 1, 13


class Untried(Exception):
    """The probe could not be made here; the text says why."""


class Probing:
    """What a probe finds: the host's facts, and a way to make bare system calls."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.syscall.restype = ctypes.c_long

    def untried(self, why: str) -> Untried:
        """For `raise`, where the box cannot be asked."""
        return Untried(why)

    def call(self, name: str, *arguments: Any) -> tuple[int, int]:
        """Result and error number of a bare system call. Raises Untried where this machine has no such call."""
        number = self.facts["numbers"].get(name)
        if number is None:
            raise Untried(f"this machine has no `{name}`")
        ctypes.set_errno(0)
        given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
        result = self._libc.syscall(ctypes.c_long(number), *given)
        return int(result), ctypes.get_errno()

    def refused(self, name: str, *arguments: Any) -> str:
        """Nothing where the kernel says EPERM, EACCES or that there is no such call; else what it said."""
        result, number = self.call(name, *arguments)
        if result == -1 and number in (EPERM, EACCES, 38):
            return ""
        return f"{name} answered {result} ({os.strerror(number) if number else 'no error'})"

    def unreadable(self, *paths: str) -> str:
        """Nothing where none of the files gives a byte; else which does.

        A runtime with a kernel of its own shows that one's files: nothing in them may name the host.
        """
        for path in paths:
            try:
                with open(path, "rb") as file:
                    said = file.read(65_536).decode("utf-8", "replace")
            except OSError:
                continue
            words = [word for word in self.facts["host_words"] if word in said]
            if words or (said and not self.facts["own_kernel"]):
                return f"{path} can be read" + (f" and holds `{words[0]}`" if words else "")
        return ""

    def unlistable(self, *paths: str) -> str:
        """Nothing where none of the folders shows an entry; else which does."""
        if self.facts["own_kernel"]:
            raise Untried("the runtime has a kernel of its own: these folders show that one alone")
        for path in paths:
            try:
                if os.listdir(path):
                    return f"{path} can be listed"
            except OSError:
                continue
        return ""


def answer(probes: list[Any], facts: dict[str, Any]) -> dict[str, list[str]]:
    """Name → status and detail of every probe, each tried whatever the others did."""
    probing = Probing(facts)
    found = {}
    for probe in probes:
        try:
            through = probe(probing)
            found[probe.__name__] = ["fell", through] if through else ["held", ""]
        except Untried as why:
            found[probe.__name__] = ["untried", str(why)]
        except BaseException as error:  # noqa: BLE001 (whatever a probe raises is its answer)
            found[probe.__name__] = ["untried", f"the probe failed: {type(error).__name__}: {error}"]
    return found
