"""The seat: what a desk may ask of the iteration that it serves."""

from typing import Protocol

from harness.core.call import Answer
from harness.core.ending import Ending

__all__ = ["Seat"]


class Seat(Protocol):
    """What the desk may ask of the iteration that it serves."""

    def answer(self, wire_id: int, answer: Answer, at: float) -> None:
        """Send an answer to the box, as of `at` (seconds since the epoch); dropped where the box is gone."""

    def terminate(self, ending: Ending) -> None:
        """Stop the iteration for good; the first ending wins."""

    def quiet(self) -> None:
        """Every answer still owed to the box is to a call that waits for a person."""
