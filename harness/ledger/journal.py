"""The journal of one run: what must be durable before the act, and what may wait for the group.

Effects and decisions are committed before they count. Reads share commits: their lines ride on the next one, or on
a group commit of their own. Every commit carries every answer that was released before it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from harness.core.budget import Amount
from harness.core.errors import StoreError
from harness.core.ports import Entry, Fence, KeyTaken, Receipt, Reservation, RunRow, Store

__all__ = ["GROUP_BYTES", "GROUP_LINES", "GROUP_SECONDS", "Journal", "entry_bytes"]

GROUP_LINES = 256
"""Lines that make a group commit due: at 17 µs each it takes 4 ms, and falls on fewer than 1 call in 100."""
GROUP_BYTES = 1_048_576
"""Bytes of arguments and answers that make a group commit due: what a run may hold in memory for its journal."""
GROUP_SECONDS = 0.05
"""How long a read's line may stay in memory: what a killed host forgets of its reads, which a resume makes again."""


def entry_bytes(entry: Entry) -> int:
    """What a line adds to `journal_bytes`: arguments, answer and cost; the rest of a line is some 600 bytes."""
    return len(entry.data) + len(entry.cost) + (len(entry.answer.body) if entry.answer is not None else 0)


class Journal:
    """Lines of one run under one attempt. Belongs to the loop of the run.

    `used` gives the budget's snapshot, which goes with every line. Every method raises StoreError once a later
    attempt owns the run.
    """

    def __init__(
        self, store: Store, run: str, attempt: int, used: Callable[[], Mapping[str, Amount]] | None = None
    ) -> None:
        self._store = store
        self._run = run
        self._attempt = attempt
        self._used = used
        self._timer: asyncio.TimerHandle | None = None
        self._bytes = 0
        self.bytes = 0
        """Bytes that this journal was given, by `entry_bytes`: the run's `journal_bytes`."""

    @property
    def pending(self) -> int:
        """Lines not yet durable, of all runs that share the store."""
        return self._store.pending

    def note(self, entry: Entry) -> None:
        """Write a line down; it is durable with the next commit, at the latest after `GROUP_SECONDS`."""
        self._store.note(entry, self._snapshot())
        self._group(entry)

    def settle(self, entry: Entry, receipt: Receipt | None) -> None:
        """Write an outcome and its receipt down; nothing outside may learn of it before a commit."""
        self._store.settle(entry, receipt, self._snapshot())
        self._group(entry)

    def begin(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """Write a new run down: its row goes with its first commit."""
        self._store.note_run(row, entries)
        self._group_soon()

    def end(self, row: RunRow, entries: Sequence[Entry]) -> None:
        """Write down how a run was closed; its ending and its result are durable by then, from a `commit`."""
        self._store.note_finish(row, entries)
        self._group_soon()

    def reserve(self, reservation: Reservation) -> KeyTaken | Fence | None:
        """Take key, approval and line, durable on return; None where they were taken."""
        lost = self._store.reserve(reservation)
        self.bytes += entry_bytes(reservation.entry)
        self._committed()
        return lost

    def reserve_all(self, reservations: Sequence[Reservation]) -> Sequence[KeyTaken | Fence | None]:
        """As `reserve`, for effects of one turn: they share a commit, each for itself."""
        lost = self._store.reserve_all(reservations)
        self.bytes += sum(entry_bytes(reservation.entry) for reservation in reservations)
        self._committed()
        return lost

    def commit(self, entries: Sequence[Entry]) -> None:
        """Write facts that must be durable before they count: a bundle, a decision, a result."""
        self._store.append(entries, self._snapshot())
        self.bytes += sum(map(entry_bytes, entries))
        self._committed()

    async def commit_aside(self, entry: Entry) -> None:
        """As `commit`, for one fact, while the loop goes on: runs that end at the same time share it."""
        self._store.note(entry, self._snapshot())
        self.bytes += entry_bytes(entry)
        await asyncio.shield(asyncio.wrap_future(self._store.flush_soon()))
        self._committed()
        self._refuse_fenced()

    def flush(self) -> None:
        """Make everything that was written down durable."""
        self._store.flush()
        self._committed()
        self._refuse_fenced()

    def _refuse_fenced(self) -> None:
        if self._store.is_fenced(self._run, self._attempt):
            raise StoreError(f"a later attempt owns the run `{self._run}`", hint="stop this one")

    def _snapshot(self) -> Mapping[str, Amount] | None:
        return self._used() if self._used is not None else None

    def _group(self, entry: Entry) -> None:
        size = entry_bytes(entry)
        self.bytes += size
        self._bytes += size
        if self._store.pending >= GROUP_LINES or self._bytes >= GROUP_BYTES:
            self.flush()
        else:
            self._group_soon()

    def _group_soon(self) -> None:
        if self._timer is None:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return
            self._timer = loop.call_later(GROUP_SECONDS, self._due)

    def _due(self) -> None:
        """The group's time is up. A fence shows itself on the next line of the run; a full disk on the next flush."""
        self._timer = None
        if self._store.pending:
            self._store.flush_soon()

    def _committed(self) -> None:
        self._bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
