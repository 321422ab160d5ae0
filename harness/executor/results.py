"""What a tool returned or raised, turned into the outcome of the call: bounds, shape, schema, postcondition, errors.

†A raise from a tool with an effect is unknown unless its class is declared without effect; a bad result after the act
is applied but invalid.
"""

import contextlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import structlog

from harness.contract.expression import Predicate, compile_predicate
from harness.contract.schema import Validator, compile_schema
from harness.contract.tool import ErrorRule
from harness.core.budget import Amount
from harness.core.call import Call, Effect, Idempotency, Json
from harness.core.errors import HarnessError
from harness.core.ports import Outcome
from harness.core.state import Event
from harness.executor.bounds import json_fault, size_fault
from harness.executor.current import CALL
from harness.executor.partial import Partial
from harness.registry.registry import Tool

__all__ = ["Judged", "Results", "scrub"]

TEXT_CHARS = 2_000
"""Characters of a declared error's text that reach the snippet: a paragraph, not a page."""
RAW_CHARS = 100_000
"""Characters of an error's text that are looked at: more is cut off before anything costs time."""
MIN_SECRET_CHARS = 4
"""Shorter values are no secrets, and cutting them out would shred every text."""

_log = structlog.get_logger("harness.executor")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Judged:
    """The outcome of one attempt, and whether another one is allowed."""

    outcome: Outcome
    retry: bool = False
    """True only for a declared, retryable error where repeating is safe."""


class Results:
    """Turns endings into outcomes, for one tool. Never raises for what a tool does."""

    def __init__(self, tool: Tool, secrets: Collection[str] = ()) -> None:
        contract = tool.contract
        self._tool = tool
        self._name = contract.name
        self._read = contract.effect is Effect.READ
        self._secrets = tuple(secrets)
        self._validator: Validator | None = compile_schema(contract.output_schema) if contract.output_schema else None
        self._postcondition: Predicate | None = None
        if contract.postcondition:
            env = {"args": contract.input_schema, "result": contract.output_schema}
            self._postcondition = compile_predicate(contract.postcondition, env)
        self._repeat_is_safe = self._read or contract.idempotency.kind is not Idempotency.NONE

    def of(self, tool: Tool) -> bool:
        """Whether these are the results of that very tool."""
        return self._tool is tool

    # --- returned ------------------------------------------------------------------------------------------

    def returned(self, value: object, call: Call) -> Judged:
        """A value came back."""
        try:
            return self._returned(value, call)
        except Exception as error:  # noqa: BLE001 - the act is done: whatever looking at its result does, it stands
            self._tell("tool_result_unread", error)
            return self._invalid(f"$ could not be looked at ({type(error).__name__})")

    def _returned(self, value: object, call: Call) -> Judged:
        if isinstance(value, Partial):
            return self._partial(value)
        plain = not json_fault(value)
        if not plain and (fault := size_fault(value)):
            return self._invalid(fault)
        try:
            encoded = self._tool.encode(value)
        except HarnessError as error:
            return self._invalid(error.message)
        except Exception as error:  # noqa: BLE001 - a result of any type, with methods of its own
            return self._invalid(f"$ does not have the shape that the tool declares ({type(error).__name__})")
        if not (plain and _same(encoded, value)) and (fault := json_fault(encoded)):
            return self._invalid(fault)
        if self._validator is not None and not self._validator.ok(encoded):
            return self._invalid(self._schema_words(encoded))
        if fault := self._postcondition_fault(encoded, call):
            return self._invalid(fault)
        return Judged(Outcome(Event.RETURN_VALID, value=encoded, cost=self._cost(value)))

    def _schema_words(self, value: Json) -> str:
        """Where and what was expected; never what came, which masks may have to hide."""
        assert self._validator is not None, "only asked where a schema found a fault"
        faults = self._validator.faults(value)[:5]
        return "; ".join(f"{fault.path or '$'}: expected {fault.expected or 'another value'}" for fault in faults)

    def _postcondition_fault(self, value: Json, call: Call) -> str:
        if self._postcondition is None:
            return ""
        judged = self._postcondition.evaluate({"args": dict(call.arguments), "result": value})
        if judged.value is True and not judged.error:
            return ""
        why = "could not be judged" if judged.error else "does not hold"
        return f"the postcondition {why}: {self._tool.contract.postcondition}"

    def _invalid(self, fault: str) -> Judged:
        event = Event.RETURN_INVALID_READ if self._read else Event.RETURN_INVALID_EFFECT
        message = f"the result of `{self._name}` is not valid: {fault}"
        hint = "the tool broke its own contract; tell whoever runs the harness"
        return Judged(Outcome(event, error_type="InvalidResult", message=message, hint=hint))

    def _partial(self, partial: Partial) -> Judged:
        value: Json = {"done": partial.done, "left": partial.left}
        if fault := json_fault(value):
            return self._invalid(fault)
        message = scrub(partial.message, self._secrets) or f"`{self._name}` did part of its work"
        hint = "`done` took effect and must not be repeated; `left` did not"
        return Judged(Outcome(Event.RETURN_PARTIAL, value=value, error_type="Partial", message=message, hint=hint))

    def _cost(self, value: object) -> Mapping[str, Amount] | None:
        """What the tool says the call used; None, so that what was reserved counts, where it cannot say."""
        if self._tool.cost is None:
            return None
        try:
            cost = dict(self._tool.cost(value))
            return cost if all(amount >= 0 for amount in cost.values()) else None
        except Exception as error:  # noqa: BLE001 - tool code: the act stands, and its reservation is charged
            self._tell("tool_cost_unread", error)
            return None

    # --- raised --------------------------------------------------------------------------------------------

    def raised(self, error: BaseException) -> Judged:
        """An exception left the tool."""
        if isinstance(error, Partial):
            return self._partial(error)
        rule = self._rule(error)
        name = type(error).__name__
        if rule is None:
            self._tell("tool_raised", error)
            return Judged(self._undeclared(name))
        message = scrub(_text_of(error), self._secrets) or f"`{self._name}` raised `{name}`"
        no_effect = self._read or rule.no_effect
        event = Event.RAISE_NO_EFFECT if no_effect else Event.LOSE
        retry = rule.retry and (no_effect or self._repeat_is_safe)
        return Judged(Outcome(event, error_type=name, message=message, hint=rule.hint), retry)

    def _rule(self, error: BaseException) -> ErrorRule | None:
        """The rule of the nearest declared class."""
        rules = {kind: rule for kind, rule in self._tool.error_types if isinstance(error, kind)}
        return next((rules[kind] for kind in type(error).__mro__ if kind in rules), None)

    def _undeclared(self, name: str) -> Outcome:
        if self._read:
            message = f"`{self._name}` raised `{name}`, which it does not declare; its text stays on the host"
            return Outcome(Event.RAISE_NO_EFFECT, error_type=name, message=message, hint="see the host's log")
        message = f"`{self._name}` raised `{name}`, which it does not declare: whether it took effect is not known"
        return Outcome(Event.LOSE, error_type=name, message=message)

    def _tell(self, event: str, error: BaseException) -> None:
        """The host's log gets what the snippet does not: the text, without secrets, and the place; never a value."""
        with contextlib.suppress(OSError, ValueError):  # a log that is closed or full must not hang a call
            _log.warning(
                event,
                call=CALL.get(),
                tool=self._name,
                error_type=type(error).__name__,
                error=scrub(_text_of(error), self._secrets),
                at=_place_of(error),
            )

    # --- never seen ----------------------------------------------------------------------------------------

    def not_started(self, why: str) -> Judged:
        """The tool's code was certainly not entered."""
        message = f"`{self._name}` did not start: {why}"
        return Judged(Outcome(Event.RAISE_NO_EFFECT, error_type="NotStarted", message=message, hint="it had no effect"))

    def bad_arguments(self, error: BaseException) -> Judged:
        """The arguments fit the schema and could not be made into the tool's own types; nothing ran."""
        self._tell("tool_arguments_unread", error)
        message = f"`{self._name}` could not read its arguments ({type(error).__name__}); nothing of it ran"
        hint = "a value fits the schema and not the type behind it, a date that does not exist for example"
        return Judged(Outcome(Event.RAISE_NO_EFFECT, error_type="BadArguments", message=message, hint=hint))

    def late(self, seconds: float, settled: bool) -> Judged:
        """The deadline passed. `settled` is False where the tool may still be running."""
        message = f"`{self._name}` did not answer within {seconds:g} seconds"
        event = Event.LOSE
        if self._read:
            event = Event.RAISE_NO_EFFECT
        else:
            message += ": whether it took effect is not known"
        return Judged(Outcome(event, error_type="Timeout", message=message, settled=settled))

    def doubtful(self, outcome: Outcome) -> Outcome:
        """A failure without effect after an attempt whose ending was not seen proves nothing about that attempt."""
        if outcome.event is not Event.RAISE_NO_EFFECT:
            return outcome
        return replace(outcome, event=Event.LOSE)


def scrub(text: str, secrets: Collection[str]) -> str:
    """One bounded line of text without the secrets, control characters and surrogates."""
    known = sorted((secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS), key=len, reverse=True)
    if len(text) > RAW_CHARS:
        text = text[:RAW_CHARS]
        known_at_the_cut = len(known[0]) if known else 0  # half a secret must not stay at the end
        text = text[: RAW_CHARS - known_at_the_cut] if _ends_inside(text, known) else text
    for secret in known:
        text = text.replace(secret, "[secret]")
    text = _CONTROL.sub("\ufffd", " ".join(text.split()))
    return text if len(text) <= TEXT_CHARS else text[: TEXT_CHARS - 1] + "…"


def _ends_inside(text: str, secrets: Collection[str]) -> bool:
    return any(text.endswith(secret[:size]) for secret in secrets for size in range(1, len(secret)))


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - tool code: an exception may have a `__str__` of its own
        return ""


def _place_of(error: BaseException) -> str:
    """`FILE:LINE` of the innermost frame."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""


def _same(encoded: Json, value: object) -> bool:
    """Whether encoding changed nothing, so that the bounds need not be looked at again."""
    return encoded is value or (type(encoded) is type(value) and bool(encoded == value))
