"""Partial: how a tool says that it did part of its work."""

from harness.core.call import Json

__all__ = ["Partial"]


class Partial(Exception):
    """Return it or raise it: the call ends PARTIAL, and the snippet gets what is done and what is left.

    Both must be JSON values (text, numbers, true, false, None, lists, dicts with text keys).
    """

    def __init__(self, done: Json, left: Json, message: str = "") -> None:
        super().__init__(message or "the tool did part of its work")
        self.done = done
        """What took effect."""
        self.left = left
        """What did not."""
        self.message = message
        """One sentence for the snippet; empty for ours."""
