"""What stands in for parts of sys, contextlib, traceback and warnings: facts about the snippet, and no frame of it.

Standard library only.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox_image.failure import describe

__all__ = ["LATE", "OURS"]

LATE: Mapping[str, Callable[[], Any]] = {"stdout": lambda: sys.stdout, "stderr": lambda: sys.stderr}
"""Of sys: looked up each time, so that contextlib.redirect_stdout is seen."""


def _format_exc(limit: object = None, chain: bool = True) -> str:
    error = sys.exc_info()[1]
    return str(describe(error)["traceback"]) if error is not None else "NoneType: None\n"


def _print_exc(limit: object = None, file: Any = None, chain: bool = True) -> None:
    print(_format_exc(), end="", file=file or sys.stderr)


def _given(exc: Any, value: Any) -> BaseException:
    error = exc if value is None else value
    if not isinstance(error, BaseException):
        raise TypeError(f"an exception is expected, not `{type(error).__name__}`")
    return error


def _format_exception(exc: Any, /, value: Any = None, tb: Any = None, **settings: Any) -> list[str]:
    return str(describe(_given(exc, value))["traceback"]).splitlines(keepends=True)


def _format_exception_only(exc: Any, /, value: Any = None) -> list[str]:
    return _format_exception(exc, value)[-1:]


def _print_exception(exc: Any, /, value: Any = None, tb: Any = None, *, file: Any = None, **settings: Any) -> None:
    print("".join(_format_exception(exc, value)), end="", file=file or sys.stderr)


@contextlib.contextmanager
def _redirect_stdout(new_target: Any) -> Iterator[Any]:
    """What is printed inside goes to another file-like object."""
    old, sys.stdout = sys.stdout, new_target
    try:
        yield new_target
    finally:
        sys.stdout = old


@contextlib.contextmanager
def _redirect_stderr(new_target: Any) -> Iterator[Any]:
    old, sys.stderr = sys.stderr, new_target
    try:
        yield new_target
    finally:
        sys.stderr = old


def _warn(message: Any, category: type[Warning] | None = None, stacklevel: int = 1, source: object = None) -> None:
    kind = type(message) if isinstance(message, Warning) else category or UserWarning
    print(f"{kind.__name__}: {message}", file=sys.stderr)


def _no_filter(*args: Any, **settings: Any) -> None:
    """Warnings are always shown, so there is nothing to choose."""


class _CatchWarnings:
    """`warnings.catch_warnings`, which catches nothing: `with` works, and the list stays empty."""

    def __init__(self, *, record: bool = False, **settings: Any) -> None:
        self._caught: list[Any] | None = [] if record else None

    def __enter__(self) -> "list[Any] | None":
        return self._caught

    def __exit__(self, *ended: object) -> None:
        return None


OURS: Mapping[str, Mapping[str, Any]] = {
    "sys": {"argv": ("<snippet>",), "platform": "linux", "exit": sys.exit},
    "traceback": {
        "format_exc": _format_exc,
        "print_exc": _print_exc,
        "format_exception": _format_exception,
        "format_exception_only": _format_exception_only,
        "print_exception": _print_exception,
    },
    "contextlib": {"redirect_stdout": _redirect_stdout, "redirect_stderr": _redirect_stderr},
    "warnings": {
        "warn": _warn,
        "simplefilter": _no_filter,
        "filterwarnings": _no_filter,
        "catch_warnings": _CatchWarnings,
    },
}
