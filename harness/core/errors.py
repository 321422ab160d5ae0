"""The error tree of the harness, drawn once, and the fault: one thing wrong at one place.

HarnessError
├── Refused                    nothing ran; every fault is listed (exit 3)
│   ├── ContractRefused        a contract, policy or host file that does not load
│   ├── RegistryRefused        a tool surface that does not seal
│   ├── SnippetRefused         a snippet that the language policy does not accept
│   └── ChargeRefused          a use of a model that cannot be priced, or that the contract does not take
├── NotAvailable               understood, typed, and not executed by this version (exit 3)
├── EnvironmentUnavailable     no backend, image, engine or store (exit 7)
│   └── StoreUnavailable       the store cannot be opened, read or written; a StoreError too
├── HostileInput               what came out of the box, or out of a tool, broke a wire rule
├── StoreError                 the store says no: no such run, one that has ended, a later attempt owns it
└── IllegalTransition          a call was asked to make a move that its table does not have (a bug)
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "ChargeRefused",
    "ContractRefused",
    "EnvironmentUnavailable",
    "Fault",
    "HarnessError",
    "HostileInput",
    "IllegalTransition",
    "NotAvailable",
    "Place",
    "Refused",
    "RegistryRefused",
    "SnippetRefused",
    "StoreError",
    "StoreUnavailable",
]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a fault stands."""

    file: str = ""
    """Path as the user gave it; empty for values that came from Python."""
    line: int = 0
    """1-based; 0 where unknown."""
    column: int = 0
    """1-based; 0 where unknown."""
    key: str = ""
    """Dotted path of the key, `permissions.tools[1].scope.tenant`; empty for a snippet."""

    def __str__(self) -> str:
        spot = self.file
        if self.line:
            spot += f":{self.line}" if spot else f"line {self.line}"
            if self.column:
                spot += f":{self.column}"
        return f"{spot} {self.key}".strip()


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: what, where, and the way out."""

    code: str
    """Stable, lower case with underscores; listed in docs/errors.md."""
    message: str
    """One line, lower case, user input in backticks."""
    hint: str = ""
    """What to do instead; empty only where nothing can be advised."""
    place: Place = Place()

    def __str__(self) -> str:
        spot = str(self.place)
        text = f"{spot}: {self.message}" if spot else self.message
        return f"{text} ({self.hint})" if self.hint else text


class HarnessError(Exception):
    """Base of every error that the harness raises; `hint` is the way out."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class Refused(HarnessError):
    """Refused before anything ran; `faults` holds every fault found, at least one."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        if not faults:
            raise ValueError("a refusal names at least one fault")
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class ContractRefused(Refused):
    """A contract, policy or host file does not load."""


class RegistryRefused(Refused):
    """A tool surface does not seal."""


class SnippetRefused(Refused):
    """The language policy does not accept the snippet."""


class NotAvailable(Refused):
    """The document is right, and this version does not execute that part of it yet."""


class ChargeRefused(Refused):
    """A use of a model that cannot be priced, or that the contract does not take; nothing was charged."""


class EnvironmentUnavailable(HarnessError):
    """The machine lacks something that the run needs; the hint says how to mend it."""


class HostileInput(HarnessError):
    """A wire rule was broken from outside; `head` is the start of what came, for the audit."""

    def __init__(self, code: str, message: str, *, head: bytes = b"") -> None:
        super().__init__(message)
        self.code = code
        """Stable: `too_long`, `too_deep`, `too_many_members`, `not_utf8`, `not_json`, `duplicate_key`, …"""
        self.head = head[:200]


class StoreError(HarnessError):
    """The store says no: it holds no such run, the run has ended or lives, a later attempt owns it."""


class StoreUnavailable(EnvironmentUnavailable, StoreError):
    """The store could not be opened, read or written: a full disk, a read-only folder, a damaged file."""


class IllegalTransition(HarnessError):
    """An event that the state table does not have for the call's state; nothing changed."""
