"""Numbering: how a frame becomes a call with a name of its own, the same one in every attempt."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.core.call import Call, Origin
from harness.core.canonical import canonical, digest
from harness.core.errors import HostileInput
from harness.gateway.messages import CallFrame
from harness.ledger.replay import Match, Recorded
from harness.run.state import RunState

__all__ = ["Numbering"]

KEPT_TOOLS = 1_000
"""Names of tools whose part of a digest is kept: a box may make up as many as it likes."""


class Numbering:
    """Counts the calls of one iteration. A call that the journal knows keeps the id and the ordinal it had."""

    def __init__(self, run: RunState, iteration: int, recorded: Sequence[Recorded] = ()) -> None:
        self._run = run
        self._iteration = iteration
        self._recorded = {record.match: record for record in recorded}
        self._taken = {record.call for record in recorded}
        self._occurrences: dict[tuple[str, str], int] = {}
        self._ordinals: dict[str, int] = {}
        self._prefixes: dict[str, Any] = {}
        for record in recorded:
            content = record.match.content
            self._ordinals[content] = max(self._ordinals.get(content, 0), record.ordinal)

    def call(self, frame: CallFrame) -> Call:
        """The call of a frame. Never raises for what the box sent."""
        run = self._run
        try:
            content = self._content(frame)
        except HostileInput as error:
            content = digest(f"no canonical form: {error.code}")
        place = (frame.task, content)
        occurrence = self._occurrences.get(place, 0) + 1
        self._occurrences[place] = occurrence
        call = Call(
            id=f"{self._iteration}.{frame.id}",
            run=run.id,
            lineage=run.lineage,
            iteration=self._iteration,
            attempt=run.attempt,
            origin=Origin.SNIPPET,
            task=frame.task,
            tool=frame.tool,
            arguments=frame.args,
            content=content,
            occurrence=occurrence,
            received_at=run.clock.now(),
            ordinal=0 if self._recorded else self._next_ordinal(content),
        )
        if not self._recorded:
            return call
        known = self._recorded.get(Match.of(call))
        if known is not None:
            return replace(call, id=known.call, ordinal=known.ordinal)
        ordinal = self._next_ordinal(content)
        if call.id in self._taken:
            return replace(call, id=f"{call.id}r{run.attempt}", ordinal=ordinal)
        return replace(call, ordinal=ordinal)

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
