"""Anchors: heads of the audit chain, kept outside the database, so that setting the whole file back is seen.

One line each in `NAME.anchors` beside the store; copied to where the store's owner cannot write, they also hold
against that owner.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import StoreUnavailable

__all__ = ["Anchor", "anchor_path", "read_anchors", "write_anchor"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """What the chain's end was at one moment."""

    seq: int
    mac: bytes
    at: str
    """RFC 3339, UTC."""
    seal: bytes


def anchor_path(store: Path) -> Path:
    """Where the anchors of a store lie."""
    return store.with_name(store.name + ".anchors")


def write_anchor(path: Path, anchor: Anchor) -> None:
    """Append an anchor, durable. One write, so that two processes do not mix their lines. Raises StoreUnavailable."""
    text = json.dumps({"n": anchor.seq, "mac": anchor.mac.hex(), "at": anchor.at, "seal": anchor.seal.hex()}) + "\n"
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, 0o600)
        try:
            os.write(handle, text.encode("ascii"))
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise StoreUnavailable(f"the anchor file `{path}` cannot be written: {error.strerror}") from error


def read_anchors(path: Path) -> list[Anchor]:
    """All anchors, oldest first, without a last line that a crash has torn. Raises StoreUnavailable."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreUnavailable(f"the anchor file `{path}` cannot be read: {error.strerror}") from error
    found = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            fields = json.loads(line)
            anchor = Anchor(
                int(fields["n"]), bytes.fromhex(fields["mac"]), str(fields["at"]), bytes.fromhex(fields["seal"])
            )
        except (ValueError, KeyError, TypeError):
            raise StoreUnavailable(
                f"line {number} of the anchor file `{path}` is damaged", hint="compare it with a copy kept elsewhere"
            ) from None
        found.append(anchor)
    return found
