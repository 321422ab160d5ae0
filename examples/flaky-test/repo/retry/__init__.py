"""Try an operation again, with growing pauses, until it works or time is up."""

from retry.core import RetryError, retry

__all__ = ["RetryError", "retry"]
