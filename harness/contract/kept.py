"""Bindings that are kept: a host binds the same contract for run after run, and what comes of it never changes."""

import marshal
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from harness.contract.effective import Effective
from harness.contract.model import Contract
from harness.contract.policy import Policy
from harness.contract.principal import Principal

__all__ = ["KEPT", "Bindings"]

KEPT = 64
"""Contracts of one host in use at a time; a binding holds some 50 kB."""


class Bindings:
    """Bound contracts, by what they were bound from. The one that was used longest ago goes first.

    Only what cannot change behind its name is kept: a loaded contract, or a document of plain values, by its content.
    A path is read each time. A refusal is not kept.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Effective] = OrderedDict()

    def effective(
        self, source: Any, policy: Policy, principal: Principal, bind: Callable[[Any], Effective]
    ) -> Effective:
        """What `bind(source)` gives under these; asked once while it is kept. Raises what `bind` raises."""
        name = _name(source)
        if name is None:
            return bind(source)
        # The kept binding holds contract, policy and principal, so that their ids stay theirs.
        key = (name, id(policy), id(principal))
        kept = self._kept.get(key)
        if kept is None:
            # Of a document a copy is bound: the caller may go on to change its own.
            kept = self._kept[key] = bind(marshal.loads(name) if isinstance(name, bytes) else source)
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return kept


def _name(source: Any) -> int | bytes | None:
    """What tells a source from every other one; None where nothing does."""
    if isinstance(source, Contract):
        return id(source)
    if type(source) is not dict:
        return None
    try:
        # Types count too (`1` is not `True`), and order, which faults and predicates show.
        return marshal.dumps(source, 1)
    except ValueError:
        return None
