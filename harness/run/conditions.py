"""Named conditions: where one holds, a named owner is asked; the run waits, and the answer is data of it.

The option `stop` ends the run; any other lets it go on, and what had failed before its first effect counts as skipped
by whoever chose so.
"""

from harness.contract.completion_terms import EscalationRule
from harness.contract.references import MissingReference, Values, fill
from harness.core.call import Call, Effect, Json, Origin
from harness.core.canonical import digest
from harness.core.ending import Ending, Outcome, ReasonCode
from harness.run.assessor import Assessor
from harness.run.checks import Checker
from harness.run.endings import escalated
from harness.run.entries import fact_entry
from harness.run.questions import ESCALATE, Question, Questions
from harness.run.state import RunState

__all__ = ["STOP", "Conditions"]

STOP = "stop"
"""The option that ends the run."""


class Conditions:
    """The escalations of one contract in one run; each asks once."""

    def __init__(self, run: RunState, checker: Checker, assessor: Assessor) -> None:
        self._run = run
        self._checker = checker
        self._assessor = assessor
        self._questions = Questions(run)
        self._settled: set[int] = set()

    def escalate(self, iteration: int, blocked: Ending | None = None) -> Ending | None:
        """The ending that the first condition makes which holds: the run waits, or somebody chose to stop it.

        `blocked` is the ending that holds otherwise; None comes back for it where a person said to go on.
        """
        rules = self._run.effective.escalations
        waited = blocked
        for number, rule in enumerate(rules):
            if number in self._settled or not self._holds(rule, iteration):
                continue
            ending, answered = self._ask(number, rule, iteration)
            if ending is not None:
                return ending
            if answered:
                self._checker.waive(answered)
                waited = None
        return waited

    def _holds(self, rule: EscalationRule, iteration: int) -> bool:
        judged = rule.when.evaluate(self._assessor.facts(iteration))
        if judged.error:
            detail: dict[str, Json] = {"when": rule.when.text, "error": judged.error}
            self._run.journal.note(fact_entry(self._run.where(iteration), "judged", self._run.clock.now(), detail))
        return judged.value is True and not judged.error

    def _ask(self, number: int, rule: EscalationRule, iteration: int) -> tuple[Ending | None, str]:
        """The ending where the run waits or stops; else who said to go on."""
        run = self._run
        question = Question(self._text(rule), rule.options, "", rule.to)
        call = self._call(number, question, iteration)
        chosen = self._questions.chosen(call, question)
        if chosen is None:
            bundle = self._questions.pending(call, question)
            if bundle is None:
                bundle = self._questions.put(call, question)
                run.parts.herald.tell([bundle])
            return escalated([question.text], [bundle]), ""
        self._questions.record(call, question, chosen)
        self._settled.add(number)
        if chosen.option == STOP or not chosen.option:
            who = f"`{chosen.by}` chose to stop" if chosen.by else "nobody answered in time"
            detail = f"{who}: {question.text}"
            return Ending(Outcome.REJECTED, ReasonCode.STOP_CONDITION, detail, (("by", chosen.by),)), ""
        return None, chosen.by

    def _text(self, rule: EscalationRule) -> str:
        effective, run = self._run.effective, self._run
        values = Values(run.id, run.terms.inputs, effective.contract.params, effective.principal.to_cel())
        try:
            return str(fill(rule.ask, values))
        except MissingReference:
            return rule.ask

    def _call(self, number: int, question: Question, iteration: int) -> Call:
        run = self._run
        return Call(
            id=f"escalate.{number + 1}",
            run=run.id,
            lineage=f"{run.id}.1",
            iteration=iteration,
            attempt=run.attempt,
            origin=Origin.CHECK,
            task=f"escalate.{number + 1}",
            tool=ESCALATE,
            arguments={"question": question.text},
            content=digest(ESCALATE, question.text, list(question.options)),
            occurrence=1,
            received_at=run.clock.now(),
            effect=Effect.READ,
        )
