"""Log lines: readable on a terminal, JSON elsewhere, on standard error, with run and call bound."""

import logging
import os
import sys

import structlog

__all__ = ["LEVEL_VARIABLE", "configure"]

LEVEL_VARIABLE = "HARNESS_LOG"
"""Environment variable with the least level that is shown: `debug`, `info`, `warning` (the default), `error`."""


def configure() -> None:
    """Set structlog up for a command. Called by the front door; a program that embeds the harness sets up its own."""
    level = logging.getLevelNamesMapping().get(os.environ.get(LEVEL_VARIABLE, "warning").upper(), logging.WARNING)
    terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(_Stderr()),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )


class _Stderr:
    """Standard error as it is when a line is written: one that was exchanged and closed must not break a call."""

    def write(self, text: str) -> int:
        """Write to what standard error is now."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Flush it."""
        sys.stderr.flush()
