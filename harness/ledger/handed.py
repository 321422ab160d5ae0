"""What was handed over to a store and rides on its next commit: in order, from any thread."""

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from harness.core.errors import StoreError
from harness.core.ports import Receipt, ReceiptKey
from harness.ledger.transaction import Transaction

__all__ = ["Handed", "Item", "write_items"]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to write."""

    run: str
    attempt: int
    """Whose it is; dropped where a later attempt owns the run by then."""
    work: Callable[[Transaction], None]
    receipt: Receipt | None = None
    """To be found under its key at once."""

    @property
    def place(self) -> tuple[str, int]:
        """Run and attempt."""
        return self.run, self.attempt


class Handed:
    """A queue. Whoever commits takes all of it, and says what became of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: list[Item] = []
        self._receipts: dict[ReceiptKey, Receipt] = {}
        self._fenced: set[tuple[str, int]] = set()

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Item) -> None:
        """Hand over. Raises StoreError from an attempt that is known to be fenced."""
        with self._lock:
            if item.place in self._fenced:
                raise StoreError(f"a later attempt owns the run `{item.run}`", hint="stop this one")
            self._items.append(item)
            if item.receipt is not None:
                self._receipts[item.receipt.key] = item.receipt

    def take(self) -> Sequence[Item]:
        """All that waits, to be written now."""
        with self._lock:
            items, self._items = self._items, []
            return items

    def put_back(self, items: Sequence[Item]) -> None:
        """They could not be written: first in the queue again."""
        with self._lock:
            self._items[:0] = items

    def written(self, items: Sequence[Item], fenced: Collection[tuple[str, int]]) -> None:
        """They are on disk, but those of the attempts `fenced`, which were dropped."""
        with self._lock:
            self._fenced.update(fenced)
            for item in items:
                if item.receipt is not None and self._receipts.get(item.receipt.key) is item.receipt:
                    del self._receipts[item.receipt.key]

    def receipt(self, key: ReceiptKey) -> Receipt | None:
        """The outcome under a key that is not known to be on disk."""
        return self._receipts.get(key)

    def is_fenced(self, run: str, attempt: int) -> bool:
        """True once something of this attempt was dropped."""
        return (run, attempt) in self._fenced


def write_items(tx: Transaction, items: Sequence[Item]) -> set[tuple[str, int]]:
    """Write what was handed over; the attempts that a later one has fenced, whose items were dropped."""
    fenced: set[tuple[str, int]] = set()
    for item in items:
        if item.place in fenced:
            continue
        try:
            item.work(tx)
        except StoreError:
            fenced.add(item.place)
    return fenced
