"""The checks of one run: made through the same enforcer as the snippet's calls, with grants and a budget of their own.

They only read, the box never sees them, and every trial is a line of the journal before anything follows from it.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from harness.completion.checks import CheckResult, CheckStatus, Evidence, conclude, obstacles
from harness.contract.completion_terms import CheckKind, CheckRule
from harness.contract.grants import Grant
from harness.contract.tool import ToolContract
from harness.core.budget import Amount, Budget, Metered, Shortage
from harness.core.call import Call, Effect, Json, Origin
from harness.core.canonical import canonical, digest
from harness.core.ports import Entry, Outcome, Receipt, ReceiptKey
from harness.core.state import Event, State
from harness.core.verdict import Decision
from harness.enforcement.facts import NO_APPROVAL, ApprovalFact, Compiled
from harness.enforcement.pipeline import Decided, decide
from harness.executor.execute import Deadline
from harness.output.mask import mask
from harness.run.entries import Told, call_entry, fact_entry
from harness.run.facts import environment_id, run_facts
from harness.run.state import RunState

__all__ = ["Checker", "check_limits"]

MAX_SEEN_CHARS = 4_000
"""Characters of an observation that evidence keeps, as JSON: two pages; its digest covers the whole."""


def check_limits(rules: Sequence[CheckRule], limits: Mapping[str, Amount]) -> dict[str, Amount]:
    """The budget of the checks: every trial after every iteration and around every call, and the run's time again."""
    trials = sum(rule.repeat for rule in rules if rule.tool is not None)
    around = sum(rule.repeat for rule in rules if rule.tool is not None and rule.kind is CheckKind.INVARIANT)
    calls = trials * (int(limits["iterations"]) + 1) + 2 * around * int(limits["calls"])
    return {"calls": calls, "wall_seconds": limits["wall_seconds"]}


class Checker:
    """Makes checks and remembers how each stands. Lives on the loop of its run."""

    def __init__(self, run: RunState) -> None:
        self._run = run
        self._rules = run.terms.checks
        terms = replace(run.terms, grants=_grants(self._rules, run))
        self._compiled = Compiled(terms)
        self._budget = Budget(check_limits(self._rules, run.effective.limits))
        self._view = _CheckView(self._budget)
        self._calls = 0
        self._results = {rule.id: CheckResult(rule.id, rule.kind.value, CheckStatus.PENDING) for rule in self._rules}
        self._waived: dict[str, str] = {}
        self.short: Shortage | None = None
        """Set where what a check's tool reported went beyond a limit of the run."""

    @property
    def results(self) -> list[CheckResult]:
        """Every check as it stands, in the order in which they are written."""
        return list(self._results.values())

    @property
    def facts(self) -> dict[str, Json]:
        """What expressions see: the status by id, and `passed` where nothing stands in the way."""
        statuses: dict[str, Json] = {name: {"status": each.status.value} for name, each in self._results.items()}
        return {**statuses, "passed": not self.obstacles}

    @property
    def obstacles(self) -> list[CheckResult]:
        """What stands between a proposal and success. An invariant that no effect has asked for is no obstacle."""
        return [
            each
            for each in obstacles(self._results.values())
            if not (each.kind == CheckKind.INVARIANT.value and each.status is CheckStatus.PENDING)
        ]

    async def make(self, kind: CheckKind, iteration: int, output: Json = None) -> list[CheckResult]:
        """Make every check of a kind; those that did not pass and were not skipped, in their order."""
        return await self._all([rule for rule in self._rules if rule.kind is kind], iteration, output)

    async def around(self, tool: str, iteration: int) -> list[CheckResult]:
        """Make the invariants that guard `tool`; those that do not hold."""
        return await self._all([rule for rule in self._rules if rule.guarding(tool)], iteration, None)

    def guards(self, tool: str) -> bool:
        """Whether any invariant surrounds the effects of `tool`."""
        return any(rule.guarding(tool) for rule in self._rules)

    def waive(self, by: str) -> None:
        """A named owner said to go on: preconditions that did not pass count as skipped by that person."""
        for each in obstacles(self._results.values()):
            if each.kind == CheckKind.PRECONDITION.value and each.status is not CheckStatus.PENDING:
                self._waived[each.id] = by
                self._keep(self._skipped(each, f"{each.status}: {each.detail}", by))

    @property
    def has_invariants(self) -> bool:
        """Whether effects of this run go one at a time."""
        return any(rule.kind is CheckKind.INVARIANT for rule in self._rules)

    async def _all(self, rules: Sequence[CheckRule], iteration: int, output: Json) -> list[CheckResult]:
        made = [await self._one(rule, iteration, output) for rule in rules]
        return obstacles(made)

    async def _one(self, rule: CheckRule, iteration: int, output: Json) -> CheckResult:
        base = CheckResult(rule.id, rule.kind.value, CheckStatus.PENDING, iteration=iteration)
        if rule.id in self._waived:
            result = self._results[rule.id]
        elif rule.skip is not None:
            result = self._skipped(base, rule.skip.because, rule.skip.authorised_by)
        else:
            facts = run_facts(self._run, iteration, output, self.facts)
            evidence = [await self._trial(rule, iteration, facts) for _ in range(rule.repeat)]
            status, detail = conclude(evidence, rule.need)
            result = replace(base, status=status, detail=detail, evidence=tuple(evidence))
        self._keep(result)
        return result

    def _keep(self, result: CheckResult) -> None:
        self._results[result.id] = result
        run = self._run
        run.journal.commit([fact_entry(run.where(result.iteration), "check", run.clock.now(), result.to_json())])

    def recall(self, entries: Iterable[Entry]) -> None:
        """Know what an earlier attempt of this run has found."""
        known = [json.loads(entry.data) for entry in entries if entry.kind == "check"]
        for result in map(CheckResult.from_json, known):
            if result.id in self._results:
                self._results[result.id] = result

    @staticmethod
    def _skipped(result: CheckResult, why: str, by: str) -> CheckResult:
        return replace(result, status=CheckStatus.SKIPPED, detail=why, authorised_by=by)

    # --- one trial -----------------------------------------------------------------------------------------

    async def _trial(self, rule: CheckRule, iteration: int, facts: dict[str, Json]) -> Evidence:
        if rule.tool is None:
            looked = digest({name: value for name, value in facts.items() if name != "budget"})
            return self._judge(rule, facts, Evidence(CheckStatus.PENDING, looked, None, 0.0, ""))
        call = self._call(rule, rule.tool, iteration)
        outcome = await self._execute(call)
        if isinstance(outcome, str):
            return self._evidence(CheckStatus.UNAVAILABLE, outcome, call.id)
        value = outcome.value
        if rule.tool.data and (masked := mask(value, rule.tool.data, self._run.data_classes)) != value:
            sealed = hmac.new(self._run.parts.secret, canonical(value), hashlib.sha256).hexdigest()
        else:
            masked, sealed = value, digest(value)
        seen = Evidence(CheckStatus.PENDING, sealed, _cut(masked), 0.0, "", call=call.id)
        return self._judge(rule, {**facts, "result": value, "args": dict(rule.args)}, seen)

    def _judge(self, rule: CheckRule, facts: Mapping[str, Json], seen: Evidence) -> Evidence:
        judged = rule.expect.evaluate(facts)
        status = CheckStatus.PASSED if judged.value is True and not judged.error else CheckStatus.FAILED
        detail = ""
        if judged.error:
            detail = f"`{rule.expect.text}` failed: {judged.error}"
        elif status is CheckStatus.FAILED:
            detail = f"`{rule.expect.text}` is false"
        made = self._evidence(status, detail, seen.call)
        return replace(made, digest=seen.digest, seen=seen.seen, error=judged.error)

    def _evidence(self, status: CheckStatus, detail: str, call: str) -> Evidence:
        run = self._run
        environment = environment_id(run.parts.backend.name)
        return Evidence(status, "", None, run.clock.now(), environment, detail, call=call)

    def _call(self, rule: CheckRule, tool: ToolContract, iteration: int) -> Call:
        run = self._run
        self._calls += 1
        content = digest(tool.name, rule.args)
        return Call(
            id=f"check.{run.attempt}.{self._calls}",
            run=run.id,
            lineage=run.lineage,
            iteration=iteration,
            attempt=run.attempt,
            origin=Origin.CHECK,
            task=rule.id,
            tool=tool.name,
            arguments=rule.args,
            content=content,
            occurrence=self._calls,
            received_at=run.clock.now(),
        )

    async def _execute(self, call: Call) -> Outcome | str:
        """The outcome of a read, or why there is none."""
        run = self._run
        decided = decide(self._compiled, call, self._view)
        refused = self._refused(decided)
        if refused:
            self._write(decided.call.moved(Event.DENY), Event.DENY, Told(decided.verdict))
            return refused
        self._budget.charge({"calls": 1})
        tool = run.registry.get(call.tool)
        assert tool is not None, "the enforcer allows no tool that is not registered"
        call = decided.call.moved(Event.RESERVE).moved(Event.DISPATCH)
        started = run.clock.monotonic()
        left = float(self._budget.remaining("wall_seconds") or 0)
        pending = run.executor.begin(tool, call, Deadline(min(tool.contract.timeout_s, left)), self._on_retry)
        outcome = pending if isinstance(pending, Outcome) else await pending
        self._budget.charge({"wall_seconds": run.clock.monotonic() - started})
        call = call.moved(outcome.event)
        cost = dict(outcome.cost or {})
        if not cost and tool.contract.cost_usd is not None:
            cost = {"cost_usd": tool.contract.cost_usd}
        self.short = self.short or run.budget.charge(cost, Metered.TOOLS)
        self._write(call, outcome.event, Told(decided.verdict, cost=cost, data=canonical(call.arguments)))
        return outcome if call.state is State.SUCCEEDED else f"`{call.tool}`: {outcome.message}"

    def _refused(self, decided: Decided) -> str:
        """Why the call may not be made; empty where it may."""
        if decided.call.effect is not Effect.READ:
            return f"`{decided.call.tool}` would act, and checks only read"
        if self._budget.remaining("wall_seconds") == 0:
            return "the time of the checks is used up"
        if decided.verdict.decision is not Decision.ALLOW:
            return "; ".join(decided.verdict.reasons) or decided.verdict.code.value
        return ""

    def _on_retry(self) -> Shortage | None:
        short = self._run.budget.charge({"retries": 1}, Metered.HOST)
        self.short = self.short or short
        return short

    def _write(self, call: Call, event: Event, told: Told) -> None:
        self._run.journal.note(call_entry(call, event, self._run.clock.now(), told))


class _CheckView:
    """The facts that decide a check's call: its own budget; reads have no key, and nobody is asked."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def receipt(self, key: ReceiptKey) -> Receipt | None:
        return None

    def in_flight(self, key: ReceiptKey) -> str:
        return ""

    def unknown(self, call: Call) -> str:
        return ""

    def shortage(self, request: Mapping[str, Amount]) -> Shortage | None:
        return self._budget.shortage({name: amount for name, amount in request.items() if name == "calls"})

    def approval(self, call: Call) -> ApprovalFact:
        return NO_APPROVAL


def _grants(rules: Sequence[CheckRule], run: RunState) -> dict[str, Grant]:
    """One grant a tool: the contract itself writes the arguments, so nothing is bound."""
    return {
        rule.tool.name: Grant(
            tool=rule.tool,
            bound={},
            limits=(),
            calls=None,
            approval=max(
                run.effective.policy.approval_for(rule.tool), rule.tool.approval, key=lambda each: each.strictness
            ),
            visible_schema=dict(rule.tool.input_schema),
            masks=frozenset(rule.tool.data.values()) - run.data_classes,
        )
        for rule in rules
        if rule.tool is not None
    }


def _cut(value: Json) -> Json:
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_SEEN_CHARS else {"cut": text[:MAX_SEEN_CHARS], "characters": len(text)}
