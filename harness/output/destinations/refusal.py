"""Why a destination did not take a result."""

from harness.core.errors import HarnessError

__all__ = ["DeliveryRefused"]


class DeliveryRefused(HarnessError):
    """The destination did not take the result; `later` says whether the same delivery can work another time."""

    def __init__(self, message: str, *, hint: str = "", later: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.later = later
