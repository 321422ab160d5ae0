"""Names that a run gives: ids that cannot be guessed, seeds that can be made again."""

import hashlib
import hmac
import secrets
import time

__all__ = ["chance_seed", "new_run_id", "new_token"]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32, lower case: no letters that are read as digits."""


def new_run_id() -> str:
    """`run_` and 26 characters: 48 bits of milliseconds (sorts by time), then 80 random bits, as ULID has it."""
    number = (int(time.time() * 1000) << 80) | secrets.randbits(80)
    return "run_" + "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def new_token() -> str:
    """The secret that opens one box's conversation: 256 random bits as hex."""
    return secrets.token_hex(32)


def chance_seed(secret: bytes, run: str, iteration: int) -> str:
    """Hex seed of what a snippet sees of chance: the same for every attempt of an iteration, unknown to the box."""
    return hmac.new(secret, f"{run}\n{iteration}".encode(), hashlib.sha256).hexdigest()
