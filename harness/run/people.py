"""People: the calls of one iteration that wait for a person, the bundles that put them, and what was decided."""

import msgspec

from harness.approvals.bundle import Asked, Gathered, issue
from harness.contract.sections import ApprovalTerms
from harness.core.bundle import Bundle, BundleState, WaitState
from harness.core.call import Json
from harness.core.state import State
from harness.run.asks import OUTCOME
from harness.run.entries import fact_entry
from harness.run.questions import ESCALATE, Chosen, Question, Questions, read_question
from harness.run.record import CallRecord
from harness.run.state import RunState

__all__ = ["People", "approval_terms"]

_TERMS = ApprovalTerms()


def approval_terms(run: RunState) -> ApprovalTerms:
    """How long this run waits for a person: what its contract says, or a day without holding the box."""
    return run.effective.contract.approval or _TERMS


class People:
    """Keeps what waits. It asks and reads; the desk acts."""

    def __init__(self, run: RunState, iteration: int, waiting: dict[str, CallRecord]) -> None:
        """`waiting`, by call id: calls that wait for an approval, and calls of which a person must say whether they
        happened; the desk puts them there."""
        self._run = run
        self._iteration = iteration
        self.waiting = waiting
        self.questions = Questions(run)

    def question(self, record: CallRecord) -> Question:
        """What a snippet asks, put to whom the contract escalates to. Raises BadQuestion."""
        owner = self._run.effective.contract.owner
        return read_question(record.call.arguments, owner.escalate_to if owner is not None else "")

    def chosen(self, record: CallRecord) -> Chosen | None:
        """What a person chose, written down; None where that is still open."""
        question = self.question(record)
        chosen = self.questions.chosen(record.call, question)
        if chosen is not None:
            self.questions.record(record.call, question, chosen)
        return chosen

    def put(self) -> tuple[list[Bundle], list[Bundle]]:
        """Put what is not yet put: the bundles that were stored now, and all open ones of the waiting calls."""
        fresh: list[Bundle] = []
        open_: dict[str, Bundle] = {}
        for record in self.waiting.values():
            if record.call.tool != ESCALATE:
                continue
            if (pending := self._pending(record)) is None:
                fresh.append(self.questions.put(record.call, self.question(record)))
            else:
                open_[pending.reference] = pending
        for kind in ("approval", OUTCOME):
            asked: list[Asked] = []
            for record in self.waiting.values():
                if record.call.tool == ESCALATE:
                    continue
                if (record.call.state is State.UNKNOWN) is not (kind == OUTCOME):
                    continue
                pending = self._pending(record)
                if pending is None:
                    asked.append(self._asked(record))
                else:
                    open_[pending.reference] = pending
            fresh += self._store(kind, asked)
        return fresh, [*open_.values(), *fresh]

    def decided(self) -> list[CallRecord]:
        """Calls of which a person has spoken, or did not in time, in the order of their submission."""
        self._run.asks.refresh()
        ready = [record for record in self.waiting.values() if self._pending(record) is None]
        for record in ready:
            del self.waiting[record.call.id]
        return ready

    def happened(self, record: CallRecord) -> bool | None:
        """Whether a person says that the call happened; None where nobody said, or nobody in time."""
        said = self._run.asks.happened(record.call.id)
        if said is None or said.ask.state not in (WaitState.APPROVED, WaitState.REJECTED):
            return None
        return said.ask.state is WaitState.APPROVED

    def was_asked(self, record: CallRecord) -> bool:
        """Whether the question was put, and is closed by now."""
        said = self._run.asks.happened(record.call.id)
        return said is not None and said.bundle.state is not BundleState.OPEN

    def _pending(self, record: CallRecord) -> Bundle | None:
        asks = self._run.asks
        if record.call.tool == ESCALATE:
            return self.questions.pending(record.call, self.question(record))
        if record.call.state is not State.UNKNOWN:
            return asks.pending(record.call)
        said = asks.happened(record.call.id)
        return said.bundle if said is not None and said.bundle.state is BundleState.OPEN else None

    # --- bundles ----------------------------------------------------------------------------------------------

    def _asked(self, record: CallRecord) -> Asked:
        run, call = self._run, record.call
        tool = run.registry.get(call.tool)
        text = run.executor.preview(tool, call.arguments) if tool is not None else ""
        if call.state is State.UNKNOWN:
            text = f"did this call happen? {text or call.tool}"
            return Asked(call, text, OUTCOME)
        return Asked(call, text, run.grant(call.tool).approval.value)

    def _store(self, kind: str, asked: list[Asked]) -> list[Bundle]:
        """Stored before anybody hears of it; the same commit carries every answer that was given before."""
        if not asked:
            return []
        run = self._run
        contract = run.effective.contract
        now = run.clock.now()
        about: dict[str, Json] = {
            "contract": contract.contract,
            "version": contract.version,
            "principal": run.effective.principal.name,
            "goal": contract.goal,
        }
        gathered = Gathered(
            run=run.id,
            lineage=run.lineage,
            iteration=self._iteration,
            attempt=run.attempt,
            kind=kind,
            now=now,
            expires_s=approval_terms(run).expires,
            about=about,
            oldest_read=run.asks.oldest_read,
        )
        bundles = issue(gathered, asked)
        for bundle in bundles:
            detail: dict[str, Json] = {
                "reference": bundle.reference,
                "kind": kind,
                "calls": [ask.call for ask in bundle.asks],
                "expires_at": bundle.expires_at,
                "of": msgspec.json.decode(bundle.document)["totals"],
            }
            entry = fact_entry(run.where(self._iteration), "bundle", now, detail)
            run.parts.store.store_bundle(bundle, [entry])
        run.asks.add(bundles)
        return bundles
