"""Numbering: how a frame becomes a call with a name of its own, the same one in every attempt."""

import hashlib
from collections.abc import Sequence
from typing import Any

from harness.core.call import Call, Origin
from harness.core.canonical import canonical, digest
from harness.core.errors import HostileInput
from harness.gateway.messages import CallFrame
from harness.ledger.replay import Recorded
from harness.run.state import RunState

__all__ = ["Numbering"]

_SNIPPET = Origin.SNIPPET.value
KEPT_TOOLS = 1_000
"""Names of tools whose part of a digest is kept: a box may make up as many as it likes."""


class Numbering:
    """Counts the calls of one iteration. A call that the journal knows keeps the id and the ordinal it had."""

    def __init__(self, run: RunState, iteration: int, recorded: Sequence[Recorded] = ()) -> None:
        self._run = run
        self._iteration = iteration
        self._recorded: dict[tuple[object, ...], Recorded] = {record.match: record for record in recorded}
        self._taken = {record.call for record in recorded}
        self._occurrences: dict[tuple[str, str], int] = {}
        self._ordinals: dict[str, int] = {}
        self._prefixes: dict[str, Any] = {}
        for record in recorded:
            content = record.match.content
            self._ordinals[content] = max(self._ordinals.get(content, 0), record.ordinal)

    def call(self, frame: CallFrame) -> tuple[Call, Recorded | None]:
        """The call of a frame, and what the journal of this iteration knows of it.

        Never raises for what the box sent.
        """
        run = self._run
        try:
            content = self._content(frame)
        except HostileInput as error:
            content = digest(f"no canonical form: {error.code}")
        place = (frame.task, content)
        occurrence = self._occurrences[place] = self._occurrences.get(place, 0) + 1
        known: Recorded | None = None
        if self._recorded:
            known = self._recorded.get((_SNIPPET, run.lineage, frame.task, frame.tool, content, occurrence))
        number = known.call if known is not None else self._number(frame)
        call = Call(
            number,
            run.id,
            run.lineage,
            self._iteration,
            run.attempt,
            Origin.SNIPPET,
            frame.task,
            frame.tool,
            frame.args,
            content,
            occurrence,
            run.clock.now(),
            ordinal=known.ordinal if known is not None else self._next_ordinal(content),
        )
        return call, known

    def _number(self, frame: CallFrame) -> str:
        """An id that no call of the journal has."""
        number = f"{self._iteration}.{frame.id}"
        return f"{number}r{self._run.attempt}" if number in self._taken else number

    def _content(self, frame: CallFrame) -> str:
        """`digest(tool, arguments)`, the tool's part kept. Raises HostileInput."""
        prefix = self._prefixes.get(frame.tool)
        if prefix is None:
            text = canonical(frame.tool)
            prefix = hashlib.sha256(len(text).to_bytes(8, "big") + text)
            if len(self._prefixes) < KEPT_TOOLS:
                self._prefixes[frame.tool] = prefix
        state, text = prefix.copy(), canonical(frame.args)
        state.update(len(text).to_bytes(8, "big") + text)
        return str(state.hexdigest())

    def _next_ordinal(self, content: str) -> int:
        ordinal = self._ordinals[content] = self._ordinals.get(content, 0) + 1
        return ordinal
