"""The facts that checks may look at, read from the run and its store; reading changes nothing."""

from collections.abc import Mapping

from harness.core.budget import Amount, Shortage
from harness.core.call import Call
from harness.core.ports import Receipt, ReceiptKey
from harness.enforcement.facts import ApprovalFact
from harness.run.state import RunState

__all__ = ["DeskView"]


class DeskView:
    """`harness.enforcement.facts.View` over a live run."""

    def __init__(self, run: RunState) -> None:
        self._run = run
        self._seen: dict[ReceiptKey, Receipt] = {}

    def receipt(self, key: ReceiptKey) -> Receipt | None:
        """The outcome stored under `key`, today's."""
        return self._run.parts.store.receipt(key) or self._seen.get(key)

    def in_flight(self, key: ReceiptKey) -> str:
        """Id of the call of this run that holds `key` right now; empty where none does."""
        return self._run.flying.get((key.tool, key.key), "")

    def shortage(self, request: Mapping[str, Amount]) -> Shortage | None:
        """The first limit that `request` would exceed."""
        return self._run.budget.shortage(request)

    def approval(self, call: Call) -> ApprovalFact:
        """What a person has said of `call`."""
        return self._run.asks.fact(call, self._run.grant(call.tool).tool.input_schema)

    def unknown(self, call: Call) -> str:
        """Id of another call of this lineage with the same content whose ending is not known."""
        return self._run.unknown.get((call.lineage, call.content), "")

    def remember(self, receipt: Receipt) -> None:
        """A receipt that a lost reservation showed."""
        self._seen[receipt.key] = receipt
