"""Lines that the tests of the ledger write: one run, its facts, a call, a receipt."""

from dataclasses import replace

from harness.core.call import Answer
from harness.core.ports import Entry, Receipt, ReceiptKey, Reservation, RunRow
from harness.core.state import Event, State
from harness.core.verdict import ALLOW

NOW = 1_700_000_000.0


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: float = NOW) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


def run_row(run: str = "run-1", **changes: object) -> RunRow:
    """A new run."""
    row = RunRow(run, "repair", 3, "d" * 64, "alice", NOW, "running", 1, "host:1", b'{"inputs":{}}', b"", "")
    return replace(row, **changes)  # type: ignore[arg-type]


def fact(kind: str = "run_created", run: str = "run-1", data: bytes = b"{}", attempt: int = 1) -> Entry:
    """A fact of the run."""
    return Entry(run, "L1", 1, attempt, "", "", "", "", "", 0, kind, None, None, NOW, data)


def line(number: int = 1, run: str = "run-1", **changes: object) -> Entry:
    """The line of a read call that has ended."""
    entry = Entry(
        run=run,
        lineage="L1",
        iteration=1,
        attempt=1,
        origin="snippet",
        task="0",
        call=f"1.{number}",
        tool="read_record",
        content="c" * 64,
        occurrence=number,
        kind="call",
        event=Event.RETURN_VALID,
        state=State.SUCCEEDED,
        at=NOW,
        data=b'{"record_id":42}',
        verdict=ALLOW,
        answer=Answer(True, b'{"text":"secret text"}'),
        released=number,
        cost=b'{"calls":1}',
        digest="e" * 64,
        key="",
    )
    return replace(entry, **changes)  # type: ignore[arg-type]


def dispatch(number: int = 1, key: str = "op-1", **changes: object) -> Entry:
    """The line before an effect."""
    return line(
        number,
        tool="update_record",
        event=Event.DISPATCH,
        state=State.DISPATCHED,
        answer=None,
        released=0,
        cost=b"",
        key=key,
        **changes,
    )


def receipt(key: str = "op-1", state: State = State.DISPATCHED, **changes: object) -> Receipt:
    """The receipt of that effect."""
    made = Receipt(ReceiptKey("update_record", "alice@acme", key), "a" * 64, "run-1", "1.1", state, at=NOW)
    return replace(made, **changes)  # type: ignore[arg-type]


def reservation(number: int = 1, key: str = "op-1", **changes: object) -> Reservation:
    """What that effect takes."""
    return replace(Reservation(dispatch(number, key), receipt(key)), **changes)  # type: ignore[arg-type]
