"""Reconciling: what became of a call whose ending was not seen, as the tool's own look-up says.

†`did not happen` counts only when the executor is proven ended or the tool honours the key; a thread that may still
run keeps the call unknown.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from harness.core.call import Call, Idempotency, Json
from harness.core.ports import Outcome
from harness.core.state import Event
from harness.executor.attempt import Attempt
from harness.executor.results import Judged, Results
from harness.registry.registry import Tool

__all__ = ["DidNotHappen", "Happened", "Question", "question"]

KEY = "key"
"""A look-up that has a parameter of this name, which the tool has not, gets the idempotency key."""


@dataclass(frozen=True, slots=True)
class Happened:
    """What a reconcile function returns where the operation took effect."""

    result: object
    """What the call would have returned."""


@dataclass(frozen=True, slots=True)
class DidNotHappen:
    """What a reconcile function returns where it is certain that nothing took effect.

    Returning None says less: that it does not know.
    """


class Question:
    """Reads the ending of a look-up. Every judgement is PROVE_DONE, PROVE_NOT_DONE, or LOSE: still unknown."""

    def __init__(self, results: Results, ended: bool, honours_key: bool) -> None:
        self._results = results
        self._may_deny = ended or honours_key

    def returned(self, value: object, call: Call) -> Judged:
        """`Happened(result)`, `DidNotHappen()`, None; any other value is the result of a call that happened."""
        if value is None:
            return self._unknown("the tool does not know")
        if isinstance(value, DidNotHappen):
            return self._denied()
        result = value.result if isinstance(value, Happened) else value
        judged = self._results.returned(result, call)
        if judged.outcome.event is not Event.RETURN_VALID:
            return self._unknown(judged.outcome.message)
        return Judged(replace(judged.outcome, event=Event.PROVE_DONE))

    def no_look_up(self) -> Judged:
        """The tool has none."""
        return self._unknown("the tool has no look-up")

    def _denied(self) -> Judged:
        if not self._may_deny:
            return self._unknown("the tool may still be at work, so nobody can say that it did not happen")
        message = "the tool says that the call did not take effect"
        return Judged(
            Outcome(Event.PROVE_NOT_DONE, error_type="DidNotHappen", message=message, hint="it may be repeated")
        )

    def raised(self, error: BaseException) -> Judged:
        """No answer."""
        return self._unknown(f"the look-up raised `{type(error).__name__}`")

    def bad_arguments(self, error: BaseException) -> Judged:
        """No answer."""
        return self.raised(error)

    def not_started(self, why: str) -> Judged:
        """No answer."""
        return self._unknown(why)

    def late(self, seconds: float, settled: bool) -> Judged:
        """No answer."""
        return self._unknown(f"the look-up did not answer within {seconds:g} seconds")

    def _unknown(self, why: str) -> Judged:
        message = f"whether the call took effect is still not known: {why}"
        return Judged(Outcome(Event.LOSE, error_type="Unknown", message=message))


def question(tool: Tool, call: Call, results: Results, timeout_s: float, ended: bool) -> Attempt | Judged:
    """The attempt that asks the tool's look-up about `call`; the judgement at once where it has none.

    The look-up gets those of the call's arguments that it names, as the tool itself would get them.
    """
    contract = tool.contract
    honours_key = bool(call.key) and contract.idempotency.kind in (Idempotency.KEY, Idempotency.DERIVED)
    reading = Question(results, ended, honours_key)
    if tool.reconcile is None:
        return reading.no_look_up()
    decode = _named_only(tool.reconcile, tool.decode, call.key)
    return Attempt(call, tool.reconcile, inspect.iscoroutinefunction(tool.reconcile), decode, reading, timeout_s)


def _named_only(
    look_up: Callable[..., object], decode: Callable[[dict[str, Json]], dict[str, Any]], key: str
) -> Callable[[dict[str, Json]], dict[str, Any]]:
    parameters = inspect.signature(look_up).parameters.values()
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters)
    names = {each.name for each in parameters}

    def decode_named(arguments: dict[str, Json]) -> dict[str, Any]:
        decoded = decode(arguments)
        if KEY in names:
            decoded.setdefault(KEY, key)
        return {name: value for name, value in decoded.items() if takes_all or name in names}

    return decode_named
