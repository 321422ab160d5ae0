"""Answers of the server as plain documents: one shape for results, refusals, pauses. Knows nothing of the protocol."""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.core.canonical import canonical
from harness.core.ending import Outcome, ReasonCode
from harness.core.errors import EnvironmentUnavailable, Fault, HarnessError, Refused
from harness.report import RunResult
from harness.run.observation import Observation

__all__ = ["MAX_RESULT_BYTES", "ended", "is_error", "observed", "refused", "resource_of", "running"]

MAX_RESULT_BYTES = 60_000
"""Of a result inside an answer, some 15,000 tokens; a larger one is a resource, with its head and tail here."""
SHOWN = 1_500
"""Characters of each end of a large result."""
DO_NOT_RETRY = "do not retry: a call with an effect may have happened; a person must find out"


def resource_of(run: str) -> str:
    """The address of a run's result."""
    return f"harness://runs/{run}/result"


def ended(result: RunResult, resume: str) -> dict[str, Any]:
    """The answer for a run that ended or paused; `resume` is the name of the tool that goes on."""
    paused = result.reason in (ReasonCode.PAUSED, ReasonCode.ESCALATED)
    last = result.iterations[-1] if result.iterations else None
    lines = [line.to_json() for line in result.calls]
    unknown = [line.id for line in result.calls if line.state == "UNKNOWN"]
    data = dict(result.ending.data) if result.ending.data else {}
    answer = {
        **_blank(),
        "status": "paused" if paused else "ended",
        "run": result.run,
        "outcome": result.outcome.value,
        "reason": result.reason.value,
        "detail": result.ending.detail,
        "result": result.result,
        "output": last.output if last is not None else None,
        "printed": last.printed if last is not None else "",
        "failure": dict(last.failure) if last is not None and last.failure else None,
        "committed": _committed(lines),
        "unknown": unknown,
        "refusals": _refusals(lines),
        "waiting": [each for each in str(data.get("references", "")).split(",") if each],
    }
    answer["next"] = _next(result, paused, bool(unknown), resume)
    return _bounded(answer)


def observed(run: str, observation: Observation, tool: str) -> dict[str, Any]:
    """The answer for a snippet of a run that stays open."""
    seen: Any = observation.to_json()
    iteration: Any = seen["iteration"] or {}
    return _bounded(
        {
            **_blank(),
            "status": "open",
            "run": run,
            "output": iteration.get("output"),
            "printed": iteration.get("printed", ""),
            "failure": iteration.get("failure"),
            "committed": seen["committed"],
            "refusals": seen["refusals"],
            "faults": seen["refused"],
            "next": f"go on with `{tool}`, `run: {run}`; the last snippet says `finish: true`",
        }
    )


def running(run: str, resume: str) -> dict[str, Any]:
    """The answer for a run that goes on after the client has waited long enough."""
    detail = "it still runs; nothing of it is lost"
    return {**_blank(), "status": "running", "run": run, "detail": detail, "next": f"ask `{resume}` with this run"}


def refused(error: HarnessError, hint: str = "") -> dict[str, Any]:
    """The answer where nothing ran."""
    faults = error.faults if isinstance(error, Refused) else (Fault("refused", error.message, error.hint),)
    lines = [_line(fault) for fault in faults]
    way = hint or "mend every fault and send the whole snippet again"
    if isinstance(error, EnvironmentUnavailable):
        way = "nothing is wrong with the snippet: whoever runs the server must mend its machine; try again later"
    return {**_blank(), "status": "refused", "detail": lines[0], "faults": lines, "next": way}


def is_error(answer: Mapping[str, Any]) -> bool:
    """Whether a client must see it as a failure: a refusal, a rejected or unresolved run, a failed snippet."""
    if answer["status"] == "ended":
        return str(answer["outcome"]) != Outcome.ACCEPTED.value
    return answer["status"] == "refused" or answer["failure"] is not None or bool(answer["faults"])


def _blank() -> dict[str, Any]:
    nothing: dict[str, Any] = dict.fromkeys(("run", "outcome", "reason", "result", "result_resource", "output"))
    lists: dict[str, Any] = {name: [] for name in ("committed", "unknown", "refusals", "faults")}
    return {**nothing, "detail": "", "printed": "", "failure": None, **lists, "waiting": [], "next": ""}


def _next(result: RunResult, paused: bool, unknown: bool, resume: str) -> str:
    if unknown:
        return DO_NOT_RETRY
    if paused:
        return f"a person decides; ask `{resume}` with this run later, and do not send the snippet again"
    if result.outcome is Outcome.ACCEPTED:
        return "done"
    if result.reason is ReasonCode.SNIPPET_FAILED:
        return "read the failure, mend the snippet, send the whole of it again; see `committed` for what took effect"
    return "read the reason; what is in `committed` took effect and must not be done again"


def _committed(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    return [str(line["id"]) for line in lines if line["effect"] != "read" and line["state"] in ("SUCCEEDED", "PARTIAL")]


def _refusals(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"call": line["id"], "tool": line["tool"], **{key: line["verdict"][key] for key in ("code", "reasons", "hint")}}
        for line in lines
        if line["state"] == "DENIED"
    ]


def _line(fault: Fault) -> str:
    return str(fault)


def _bounded(answer: dict[str, Any]) -> dict[str, Any]:
    """A large result becomes a resource, a large output its two ends."""
    for name in ("result", "output"):
        text = canonical(answer[name]).decode("utf-8")
        if len(text) <= MAX_RESULT_BYTES:
            continue
        if name == "result":
            answer["result"], answer["result_resource"] = None, resource_of(str(answer["run"]))
        answer["output"] = f"{text[:SHOWN]} … ({len(text)} characters) … {text[-SHOWN:]}"
    return answer
