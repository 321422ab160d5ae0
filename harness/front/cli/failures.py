"""What a failure looks like on a terminal, and the exit status that goes with it."""

import traceback

import click

from harness.core.errors import EnvironmentUnavailable, Fault, HarnessError, Refused
from harness.front.cli.terminal import OutputLost, json_text, say

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
    if isinstance(error, click.ClickException):
        return EXIT_USAGE
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
        code = {EXIT_UNAVAILABLE: "environment_unavailable", EXIT_USAGE: "usage"}.get(status_of(error), "internal")
        message = f"{type(error).__name__}: {error}"
        if isinstance(error, HarnessError):
            message = error.message
        elif isinstance(error, click.ClickException):
            message = error.format_message()
        faults = [{"code": code, "message": message, "hint": hint, "file": "", "line": 0, "column": 0, "key": ""}]
    return json_text({"refused": True, "exit_code": status_of(error), "faults": faults})


def report_failure(error: BaseException, as_json: bool) -> int:
    """Print a failure for people, or as JSON where `--json` was asked; the exit status."""
    if as_json and not isinstance(error, OutputLost):
        say(faults_json(error))
        return status_of(error)
    if isinstance(error, click.ClickException):
        error.show()
    elif isinstance(error, Refused):
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
