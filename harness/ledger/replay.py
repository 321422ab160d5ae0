"""Replay: what the journal answers when a snippet runs again, after a pause or as a repair.

A resume is the same snippet in a new box: exact matches, recorded order, nothing new before the journal is used up. A
repair is a corrected snippet: what committed is not done again, the rest is decided afresh. Pure: entries in, answers
out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from harness.core.call import Answer, Call
from harness.core.ports import Entry
from harness.core.state import Event, State
from harness.core.verdict import Code, Verdict

__all__ = ["Divergence", "Match", "Recorded", "Release", "RepairIndex", "Replayer", "fold"]


class Match(NamedTuple):
    """What makes a call of a new box the recorded one."""

    origin: str
    lineage: str
    task: str
    tool: str
    content: str
    occurrence: int

    @staticmethod
    def of(call: "Call | Entry") -> "Match":
        """The match of a call or of its journal line."""
        return Match(str(call.origin), call.lineage, call.task, call.tool, call.content, call.occurrence)


class Recorded(NamedTuple):
    """One call as the journal knows it, all its lines folded into one."""

    match: Match
    call: str
    """Its id in the attempt that made it first."""
    iteration: int
    seq: int
    """Place of its first line in the journal: the order of arrival."""
    ordinal: int
    """1-based count of equal (origin, tool, content) within its iteration, over all tasks."""
    state: State
    """After its last line."""
    event: Event
    """Of its last line."""
    effect_dispatched: bool
    """True once a line before the act was written."""
    answer: Answer | None
    """The exact answer that the box was given; None where it was given none."""
    released: int
    """Order of release within the iteration; 0 where no answer was given."""
    answered_at: float
    """The host's time of the answer, which the box's clock took; seconds since the epoch."""
    resolved: Answer | None
    """What became known after the answer (a reconciled or decided UNKNOWN); None where nothing did."""
    verdict: Verdict | None
    arguments: bytes
    """Canonical JSON."""
    digest: str
    key: str

    def __str__(self) -> str:
        answered = f"answered as {self.released}" if self.released else self.state.value
        return f"{self.match.tool} {self.match.content[:12]} (task {self.match.task}, {self.call}, {answered})"


def fold(entries: Iterable[Entry], *, lineage: str = "", iteration: int = 0) -> list[Recorded]:
    """The calls of a journal in order of arrival, of one lineage and iteration where those are given."""
    calls: dict[tuple[int, Match], _Draft] = {}
    ordinals: dict[tuple[int, str, str, str], int] = {}
    for entry in entries:
        if entry.kind != "call" or lineage not in ("", entry.lineage) or iteration not in (0, entry.iteration):
            continue
        match = Match.of(entry)
        draft = calls.get((entry.iteration, match))
        if draft is None:
            equal = (entry.iteration, match.origin, match.tool, match.content)
            ordinals[equal] = ordinals.get(equal, 0) + 1
            draft = calls[entry.iteration, match] = _Draft(match, ordinals[equal])
        draft.add(entry)
    return [draft.recorded() for draft in calls.values()]


class _Draft:
    """A recorded call while its lines are read."""

    __slots__ = ("_lines", "_match", "_ordinal")

    def __init__(self, match: Match, ordinal: int) -> None:
        self._match = match
        self._ordinal = ordinal
        self._lines: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """One more line of the call."""
        self._lines.append(entry)

    def recorded(self) -> Recorded:
        """The call, all its lines folded into one."""
        lines = self._lines
        first, last = lines[0], lines[-1]
        if first is last:
            return self._of_one(first)
        answered = next((line for line in lines if line.released), None)
        resolved = next((line.answer for line in reversed(lines) if line.answer and line is not answered), None)
        verdict = next((line.verdict for line in reversed(lines) if line.verdict is not None), None)
        digest = next((line.digest for line in reversed(lines) if line.digest), "")
        key = next((line.key for line in reversed(lines) if line.key), "")
        return Recorded(
            self._match,
            first.call,
            first.iteration,
            first.seq,
            self._ordinal,
            last.state or State.RECEIVED,
            last.event or Event.RESERVE,
            any(line.event is Event.DISPATCH for line in lines),
            answered.answer if answered is not None else None,
            answered.released if answered is not None else 0,
            answered.at if answered is not None else 0.0,
            resolved,
            verdict,
            next((line.data for line in lines if line.data), b""),
            digest,
            key,
        )

    def _of_one(self, line: Entry) -> Recorded:
        """As most calls stand in a journal: a read that was answered."""
        answered = bool(line.released)
        return Recorded(
            self._match,
            line.call,
            line.iteration,
            line.seq,
            self._ordinal,
            line.state or State.RECEIVED,
            line.event or Event.RESERVE,
            line.event is Event.DISPATCH,
            line.answer if answered else None,
            line.released,
            line.at if answered else 0.0,
            None,
            line.verdict,
            line.data,
            line.digest,
            line.key,
        )


# --- resume ------------------------------------------------------------------------------------------------


class Release(NamedTuple):
    """An answer that may go to the box now, in the recorded order."""

    call: Call
    """As it came from the new box."""
    recorded: Recorded


@dataclass(frozen=True, slots=True)
class Divergence:
    """The snippet no longer does what the journal says that it did."""

    missing: tuple[Recorded, ...]
    """Recorded calls that the new box has not made."""
    instead: tuple[Call, ...]
    """Calls of the new box that the journal does not hold."""

    def __str__(self) -> str:
        missing = "; ".join(map(str, self.missing[:5])) + ("; …" if len(self.missing) > 5 else "")
        made = [f"{call.tool} {call.content[:12]} (task {call.task}, {call.id})" for call in self.instead[:5]]
        instead = "; ".join(made) + ("; …" if len(self.instead) > 5 else "")
        return f"the journal holds {missing}, the snippet made {instead or 'no other call'}"


@dataclass(slots=True)
class Replayer:
    """Serves one iteration that runs again in a new box.

    Feed every call to `arrive`; send what `releases` gives, in that order. What `free` gives is judged on today's
    facts; until the journal is used up it gives nothing, reads included.
    """

    records: Sequence[Recorded]
    _by_match: dict[Match, Recorded] = field(init=False)
    _order: list[Recorded] = field(init=False)
    _next: int = 0
    _arrived: dict[Match, Call] = field(default_factory=dict)
    _held: list[tuple[Call, Recorded | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._by_match = {record.match: record for record in self.records}
        self._order = sorted((record for record in self.records if record.released), key=lambda record: record.released)

    @property
    def used_up(self) -> bool:
        """True once every recorded answer was released."""
        return self._next == len(self._order)

    @property
    def last_released(self) -> int:
        """The highest recorded order of release; the next answer that is new gets the one after it."""
        return self._order[-1].released if self._order else 0

    def known(self, call: Call) -> Recorded | None:
        """What the journal holds of a call; None where it holds none that is equal."""
        return self._by_match.get(Match.of(call))

    def arrive(self, call: Call, record: Recorded | None) -> None:
        """Take a call from the new box, with what is `known` of it."""
        if record is None or record.match in self._arrived:
            self._held.append((call, None))
            return
        self._arrived[record.match] = call
        if not record.released:
            self._held.append((call, record))

    def releases(self) -> list[Release]:
        """The answers that may go now: those next in the recorded order whose calls have arrived."""
        ready: list[Release] = []
        while not self.used_up:
            record = self._order[self._next]
            call = self._arrived.get(record.match)
            if call is None:
                break
            ready.append(Release(call, record))
            self._next += 1
        return ready

    def free(self) -> list[tuple[Call, Recorded | None]]:
        """Calls to judge today, in order of arrival, each with what the journal knows of it; none before `used_up`."""
        if not self.used_up:
            return []
        held, self._held = self._held, []
        return held

    def left_over(self) -> Divergence | None:
        """What is left of the journal; asked when the box is quiescent or has ended. None where it was all met."""
        missing = tuple(record for record in self.records if record.match not in self._arrived)
        if not missing:
            return None
        return Divergence(missing, tuple(call for call, record in self._held if record is None))


# --- repair ------------------------------------------------------------------------------------------------

_COMMITTED = frozenset({State.SUCCEEDED, State.PARTIAL, State.APPLIED_INVALID, State.UNKNOWN, State.DISPATCHED})
_BY_A_PERSON = frozenset({Code.APPROVAL_REJECTED})
"""Denials that nobody is asked about again."""


class _Answering(StrEnum):
    """What a recorded call means for an equal one in a repair."""

    ALWAYS = "always"
    """It committed, or a person said no."""
    IN_PLACE = "in_place"
    """Nothing came of it: answered only to keep the places of later equal calls that committed."""


@dataclass(slots=True)
class RepairIndex:
    """Answers the calls of a corrected snippet from the earlier iterations of its lineage.

    Matching leaves the task out: a repair may move a call into `gather`, and an effect must not be repeated for it.
    """

    records: Sequence[Recorded]
    """Of earlier iterations, in journal order; a later equal call stands for the earlier."""
    fresh_reads: bool = False
    """True: reads are made again; effects never."""
    _index: dict[tuple[str, str, str, int], Recorded] = field(init=False)
    _met: set[tuple[str, str, str, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        latest: dict[tuple[str, str, str, int], Recorded] = {}
        for record in self.records:
            place = (record.match.origin, record.match.tool, record.match.content, record.ordinal)
            before = latest.get(place)
            if before is None or _standing(record) is _Answering.ALWAYS or _standing(before) is _Answering.IN_PLACE:
                latest[place] = record
        last: dict[tuple[str, str, str], int] = {}
        for place, record in latest.items():
            if _standing(record) is _Answering.ALWAYS:
                last[place[:3]] = max(last.get(place[:3], 0), place[3])
        self._index = {place: record for place, record in latest.items() if place[3] <= last.get(place[:3], 0)}

    def answer(self, call: Call) -> Recorded | None:
        """The recorded call that answers `call`; None where it is decided afresh."""
        place = (str(call.origin), call.tool, call.content, call.ordinal or call.occurrence)
        record = self._index.get(place)
        if record is None:
            return None
        if self.fresh_reads and not record.effect_dispatched and _standing(record) is _Answering.ALWAYS:
            return None
        self._met.add(place)
        return record

    def committed(self) -> list[Recorded]:
        """Every call of the lineage that may have changed something, in journal order: what an observation lists."""
        return [record for record in self.records if record.effect_dispatched and record.state in _COMMITTED]

    def left_over(self) -> list[Recorded]:
        """Recorded calls that the corrected snippet has not made: expected, and reported."""
        return [record for place, record in self._index.items() if place not in self._met]


def _standing(record: Recorded) -> _Answering:
    if record.state in _COMMITTED or record.state is State.REPLAYED:
        return _Answering.ALWAYS
    if record.verdict is not None and record.verdict.code in _BY_A_PERSON:
        return _Answering.ALWAYS
    return _Answering.IN_PLACE
