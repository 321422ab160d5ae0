"""What a failure looks like on a terminal, and the exit status that goes with it."""

import json
import sys
import traceback

from harness.core.errors import EnvironmentUnavailable, Fault, HarnessError, Refused
from harness.front.cli.terminal import say

__all__ = ["EXIT_USAGE", "fault_json", "faults_json", "report_failure", "status_of"]

EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_REFUSED = 3
EXIT_UNAVAILABLE = 7


def status_of(error: BaseException) -> int:
    """The exit status of an error that kept a run from starting."""
    if isinstance(error, Refused):
        return EXIT_REFUSED
    if isinstance(error, EnvironmentUnavailable):
        return EXIT_UNAVAILABLE
    return EXIT_INTERNAL


def fault_json(fault: Fault) -> dict[str, object]:
    """One fault as JSON."""
    return {
        "code": fault.code,
        "message": fault.message,
        "hint": fault.hint,
        "file": fault.place.file,
        "line": fault.place.line,
        "column": fault.place.column,
        "key": fault.place.key,
    }


def faults_json(error: BaseException) -> str:
    """A failure as the document that `--json` prints."""
    if isinstance(error, Refused):
        faults = [fault_json(fault) for fault in error.faults]
    else:
        hint = error.hint if isinstance(error, HarnessError) else ""
        code = "environment_unavailable" if isinstance(error, EnvironmentUnavailable) else "internal"
        message = error.message if isinstance(error, HarnessError) else f"{type(error).__name__}: {error}"
        faults = [{"code": code, "message": message, "hint": hint, "file": "", "line": 0, "column": 0, "key": ""}]
    return json.dumps({"refused": True, "exit_code": status_of(error), "faults": faults}, indent=2)


def report_failure(error: BaseException) -> int:
    """Print a failure for people, or as JSON where `--json` was asked; the exit status."""
    if "--json" in sys.argv:
        say(faults_json(error))
        return status_of(error)
    if isinstance(error, Refused):
        for fault in error.faults:
            say(f"refused: {fault}", err=True)
    elif isinstance(error, HarnessError):
        say(f"error: {error.message}", err=True)
        if error.hint:
            say(f"  hint: {error.hint}", err=True)
    else:
        say("".join(traceback.format_exception(error)), err=True)
        say("internal error: please report the lines above", err=True)
    return status_of(error)
