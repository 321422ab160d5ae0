"""Questions to people: what a snippet or a named condition asks, put as a bundle with one line for each option.

A question proposes; only a person's decision settles it, and the record says who decided, what, and when.
"""

from dataclasses import dataclass, replace

from harness.approvals.bundle import Asked, Gathered, issue
from harness.contract.sections import ApprovalTerms
from harness.core.bundle import Bundle, BundleState, WaitState
from harness.core.call import Call, Effect, Json
from harness.core.canonical import digest
from harness.core.clock import utc_text
from harness.run.entries import fact_entry
from harness.run.state import RunState

__all__ = ["ESCALATE", "BadQuestion", "Chosen", "Question", "Questions", "read_question"]

ESCALATE = "harness.escalate"
"""Name under which a snippet asks."""
MAX_OPTIONS = 20
"""More than that nobody compares."""
MAX_TEXT = 2_000
"""Characters of a question: half a page; of an option a tenth of it."""
DEFAULT_OPTIONS = ("yes", "no")
_TERMS = ApprovalTerms()


class BadQuestion(ValueError):
    """What the box sent is no question."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question, as it is put."""

    text: str
    options: tuple[str, ...]
    proposed: str = ""
    """The option that the asker would take; empty for none. It settles nothing."""
    to: str = ""
    """Who is asked: an owner that the contract names."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What became of a question that is closed."""

    option: str
    """Empty where no option was chosen."""
    by: str
    """Who decided; empty where nobody did in time."""
    at: float
    """Seconds since the epoch."""


def read_question(arguments: object, to: str) -> Question:
    """The question that a box sent. Raises BadQuestion."""
    asked = arguments if isinstance(arguments, dict) else {}
    text, options, proposed = asked.get("question"), asked.get("options"), asked.get("proposed")
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
        raise BadQuestion(f"a question is a text of at most {MAX_TEXT} characters")
    given = tuple(options) if isinstance(options, list) and options else DEFAULT_OPTIONS
    texts = all(isinstance(each, str) and 0 < len(each) <= MAX_TEXT // 10 for each in given)
    if not texts or len(given) > MAX_OPTIONS or len(set(given)) < len(given):
        raise BadQuestion(f"the options are at most {MAX_OPTIONS} different texts")
    if proposed is not None and proposed not in given:
        raise BadQuestion("what is proposed is one of the options")
    return Question(text, given, proposed or "", to)


class Questions:
    """The questions of one run. It asks and reads; nothing here answers."""

    def __init__(self, run: RunState) -> None:
        self._run = run

    def pending(self, call: Call, question: Question) -> Bundle | None:
        """The open bundle in which the question stands."""
        return self._run.asks.pending(_option(call, question, 0))

    def chosen(self, call: Call, question: Question) -> Chosen | None:
        """What a person decided; None where the question was not put, or is still open."""
        bundle = None
        for number, option in enumerate(question.options):
            said = self._run.asks.put(_option(call, question, number))
            if said is None or said.bundle.state is BundleState.OPEN:
                return None
            bundle = said.bundle
            if said.ask.state in (WaitState.APPROVED, WaitState.USED):
                return Chosen(option, bundle.decided_by, bundle.decided_at)
        assert bundle is not None, "a question has an option"
        decided = bundle.state in (BundleState.DECIDED, BundleState.REJECTED)
        return Chosen("", bundle.decided_by if decided else "", bundle.decided_at)

    def put(self, call: Call, question: Question) -> Bundle:
        """Store the question, before anybody hears of it."""
        run = self._run
        contract = run.effective.contract
        about: dict[str, Json] = {
            "contract": contract.contract,
            "version": contract.version,
            "principal": run.effective.principal.name,
            "goal": contract.goal,
            "question": question.text,
            "options": list(question.options),
            "proposed": question.proposed,
            "to": question.to,
        }
        now = run.clock.now()
        gathered = Gathered(
            run=run.id,
            lineage=run.lineage,
            iteration=call.iteration,
            attempt=run.attempt,
            kind="question",
            now=now,
            expires_s=(contract.approval or _TERMS).expires,
            about=about,
            oldest_read=run.asks.oldest_read,
        )
        calls = [_option(call, question, number) for number in range(len(question.options))]
        lines = [
            Asked(each, f"{question.text} → {option}", "question")
            for each, option in zip(calls, question.options, strict=True)
        ]
        bundle = issue(gathered, lines)[0]
        detail: dict[str, Json] = {"reference": bundle.reference, **about, "expires_at": bundle.expires_at}
        run.parts.store.store_bundle(bundle, [fact_entry(run.where(call.iteration), "escalation", now, detail)])
        run.asks.add([bundle])
        return bundle

    def record(self, call: Call, question: Question, chosen: Chosen) -> None:
        """Write the answer down as data of the run: what was asked and chosen, by whom, when."""
        run = self._run
        answered: dict[str, Json] = {
            "question": question.text,
            "options": list(question.options),
            "proposed": question.proposed,
            "asked": question.to,
            "answer": chosen.option or None,
            "by": chosen.by,
            "at": utc_text(chosen.at) if chosen.at else None,
        }
        if answered not in run.questions:
            run.questions.append(answered)
            run.journal.note(fact_entry(run.where(call.iteration), "escalation", run.clock.now(), answered))


def _option(call: Call, question: Question, number: int) -> Call:
    """One option as a line of the bundle: what a decision binds, and a resumed run finds again."""
    option = question.options[number]
    return replace(
        call,
        id=f"{call.id}.option{number + 1}",
        arguments={"question": question.text, "option": option},
        effect=Effect.READ,
        digest=digest("question", call.run, question.text, list(question.options), option),
    )
