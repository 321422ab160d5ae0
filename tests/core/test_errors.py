"""Errors: one tree, faults with a place and a way out."""

import pytest

from harness.core import errors
from harness.core.errors import ContractRefused, Fault, HarnessError, HostileInput, Place, Refused


def test_every_error_is_in_the_one_tree() -> None:
    """Whoever catches HarnessError catches them all."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BaseException)]
    assert all(issubclass(kind, HarnessError) for kind in kinds)
    assert {kind.__name__ for kind in kinds} <= set(errors.__all__)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place(), ""),
        (Place("a.yaml", 3, 7, "budget.calls"), "a.yaml:3:7 budget.calls"),
        (Place("a.yaml", 0, 0, "budget"), "a.yaml budget"),
        (Place("", 3), "line 3"),
        (Place(key="budget"), "budget"),
    ],
)
def test_a_place_reads_like_a_place(place: Place, text: str) -> None:
    """File, line, column, key; what is unknown is left out."""
    assert str(place) == text


def test_a_refusal_shows_every_fault() -> None:
    """All at once, each on its line with its hint."""
    faults = [
        Fault("unknown_key", "`budgt` is not a key", "did you mean `budget`?", Place("a.yaml", 2)),
        Fault("missing", "`output` is missing"),
    ]
    refused = ContractRefused(faults)
    assert str(refused) == "a.yaml:2: `budgt` is not a key (did you mean `budget`?)\n`output` is missing"
    assert refused.faults == tuple(faults)


def test_a_refusal_without_a_fault_is_a_mistake() -> None:
    """Nothing is refused without saying why."""
    with pytest.raises(ValueError, match="at least one fault"):
        Refused([])


def test_hostile_input_keeps_only_the_head() -> None:
    """200 bytes for the audit, however much came."""
    assert HostileInput("too_long", "a frame is too long", head=b"x" * 10_000).head == b"x" * 200
