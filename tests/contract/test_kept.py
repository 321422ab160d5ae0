"""A binding is made once for a document, and never serves another one."""

from typing import Any

import pytest

from harness.contract.effective import Effective, bind
from harness.contract.kept import KEPT, Bindings
from harness.contract.load import load_contract
from harness.contract.policy import BUILT_IN
from harness.contract.principal import Principal
from harness.core.errors import ContractRefused

ANN = Principal("ann", {}, "test")


def _document(**more: Any) -> dict[str, Any]:
    return {
        "contract": "kept",
        "version": 1,
        "output": {"schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}},
        "budget": {
            "tokens": 0, "cost_usd": "0", "wall_seconds": 60, "retries": 0, "iterations": 1, "calls": 5,
        },
        "permissions": {"tools": [], "data_classes": []},
        "completion": {"success": "output.n >= 0"},
        "destination": [{"to": "file:results/${run.id}.json"}],
        **more,
    }  # fmt: skip


class _Binder:
    """Binds, and counts."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, source: Any) -> Effective:
        self.times += 1
        return bind(load_contract(source), BUILT_IN, ANN, {})


def test_the_same_document_is_bound_once() -> None:
    """Equal content is enough; it need not be the same object."""
    kept, binder = Bindings(), _Binder()
    first = kept.effective(_document(), BUILT_IN, ANN, binder)
    assert kept.effective(_document(), BUILT_IN, ANN, binder) is first
    assert binder.times == 1


def test_a_loaded_contract_is_bound_once() -> None:
    """By which object it is."""
    kept, binder, contract = Bindings(), _Binder(), load_contract(_document())
    kept_bind = lambda source: (binder(_document()), bind(source, BUILT_IN, ANN, {}))[1]  # noqa: E731
    assert kept.effective(contract, BUILT_IN, ANN, kept_bind) is kept.effective(contract, BUILT_IN, ANN, kept_bind)
    assert binder.times == 1


@pytest.mark.parametrize("other", [{"version": 2}, {"goal": "another"}])
def test_another_document_is_bound_anew(other: dict[str, Any]) -> None:
    """Whatever differs."""
    kept, binder = Bindings(), _Binder()
    kept.effective(_document(), BUILT_IN, ANN, binder)
    kept.effective(_document(**other), BUILT_IN, ANN, binder)
    assert binder.times == 2


def test_another_principal_or_policy_is_bound_anew() -> None:
    """Equal is not enough where claims and ceilings stand behind it."""
    kept, binder = Bindings(), _Binder()
    kept.effective(_document(), BUILT_IN, ANN, binder)
    kept.effective(_document(), BUILT_IN, Principal("ann", {}, "test"), binder)
    kept.effective(_document(), BUILT_IN.model_copy(), ANN, binder)
    assert binder.times == 3


def test_a_document_that_its_owner_changes_harms_no_later_run() -> None:
    """What was bound is a copy: changed inside, the document is another one, and the first stays as it was."""
    kept, binder, document = Bindings(), _Binder(), _document()
    first = kept.effective(document, BUILT_IN, ANN, binder)
    document["output"]["schema"]["properties"]["n"]["type"] = "string"
    document["completion"]["success"] = "output.n != ''"
    assert kept.effective(document, BUILT_IN, ANN, binder) is not first
    again = kept.effective(_document(), BUILT_IN, ANN, binder)
    assert again is first
    assert again.contract.output.schema_ == _document()["output"]["schema"]


def test_a_refusal_is_told_each_time() -> None:
    """Nothing is kept of it."""
    kept, binder = Bindings(), _Binder()
    for _ in range(2):
        with pytest.raises(ContractRefused):
            kept.effective({"contract": "x"}, BUILT_IN, ANN, binder)
    assert binder.times == 2


def test_no_more_than_so_many_are_kept() -> None:
    """The one that was used longest ago goes."""
    kept, binder = Bindings(), _Binder()
    for version in range(1, KEPT + 2):
        kept.effective(_document(version=version), BUILT_IN, ANN, binder)
    kept.effective(_document(version=KEPT + 1), BUILT_IN, ANN, binder)
    assert binder.times == KEPT + 1
    kept.effective(_document(version=1), BUILT_IN, ANN, binder)
    assert binder.times == KEPT + 2
