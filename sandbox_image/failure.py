"""How a snippet failed, in its own lines: a traceback that shows nothing of the harness. Standard library only."""

import linecache
import traceback
from types import TracebackType
from typing import Any

__all__ = ["FILE", "describe", "remember"]

FILE = "<snippet>"
"""The file name in which the host compiles a snippet."""
MESSAGE_CHARS = 4_000
TRACEBACK_CHARS = 16_000
"""What an agent can use; of a longer traceback (a deep recursion) the two ends are kept."""


def remember(source: str) -> None:
    """Let tracebacks find the snippet's lines."""
    lines = [line + "\n" for line in source.split("\n")]
    linecache.cache[FILE] = (len(source), None, lines, FILE)


def describe(error: BaseException) -> dict[str, Any]:
    """`type`, `message`, `traceback` and `line` of an exception that left the snippet."""
    if isinstance(error, SystemExit):
        message = (
            f"the snippet ended itself with `SystemExit({error.code!r:.100})`; use `return` to end it with a result"
        )
    else:
        message = _message(error)
    shown = traceback.TracebackException(type(error), error, error.__traceback__, limit=None, compact=True)
    _keep_own(shown, set())
    return {
        "type": _clean(type(error).__name__, 200),
        "message": _clean(message, MESSAGE_CHARS),
        "traceback": _clean("".join(shown.format()), TRACEBACK_CHARS),
        "line": _line(error.__traceback__),
    }


def _message(error: BaseException) -> str:
    shown = traceback.TracebackException(type(error), error, None)
    shown.__notes__ = None
    lines = list(shown.format_exception_only())
    text = lines[-1].strip() if lines else ""
    name, _, rest = text.partition(": ")
    return rest if rest and name.rpartition(".")[2] == type(error).__name__ else text


def _keep_own(shown: traceback.TracebackException, seen: set[int]) -> None:
    """Drop every frame that is not the snippet's, in the causes and in the members of a group as well."""
    if id(shown) in seen:
        return
    seen.add(id(shown))
    own = [frame for frame in shown.stack if frame.filename == FILE]
    shown.stack = traceback.StackSummary.from_list(own)
    for inner in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if inner is not None:
            _keep_own(inner, seen)


def _line(trace: TracebackType | None) -> int:
    """Where in the snippet it happened, 1-based; 0 where it was nowhere in it."""
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _clean(text: str, limit: int) -> str:
    """Text that can travel: no lone surrogates, not longer than `limit`."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters cut …]\n{text[-half:]}"
