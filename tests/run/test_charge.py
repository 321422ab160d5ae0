"""What the agent's own models cost: priced from a kept table, in exact decimals, refused where there is no price."""

import asyncio
from decimal import Decimal

import pytest

from harness.contract.policy import Policy
from harness.core.errors import ChargeRefused
from harness.run.prices import price, table_version
from tests.run.making import document, ended, harness, returning

MODEL = "gpt-4o"
USAGE = {"input_tokens": 1000, "output_tokens": 100}
COST = Decimal("0.0035")
"""Of `USAGE` with `MODEL`, as the table has it."""


def charged(tmp_path, *, models=(), policy=None, uses=1, **budget):
    """A session whose agent charges its model before its only snippet."""
    made = harness(tmp_path, (), returning(10), **({"policy": policy} if policy else {}))

    async def work():
        async with made, made.session(document(budget=budget, models=list(models))) as session:
            for _ in range(uses):
                session.charge(MODEL, USAGE)
            await session.run("1")
            return await session.finish()

    return asyncio.run(work())


def test_the_price_is_exact():
    """Decimal, with the table's version beside it."""
    use = price(MODEL, USAGE)
    assert (use.tokens, use.cost_usd, use.table) == (1100, COST, table_version())
    assert table_version().startswith("genai-prices ")


@pytest.mark.parametrize(
    ("model", "usage", "models", "code"),
    [
        ("no-such-model", USAGE, (), "unknown_model"),
        (MODEL, USAGE, ("claude-sonnet-4-5",), "model_not_allowed"),
        (MODEL, {}, (), "bad_usage"),
        (MODEL, {"input_tokens": -1}, (), "bad_usage"),
        (MODEL, {"input_tokens": 1.5}, (), "bad_usage"),
        (MODEL, {"input_tokens": float("nan")}, (), "bad_usage"),
        (MODEL, {"input_tokens": True}, (), "bad_usage"),
        (MODEL, {"tokens": 3}, (), "bad_usage"),
        (MODEL, {"input_tokens": 1, "cache_read_tokens": 2}, (), "bad_usage"),
    ],
)
def test_what_has_no_price_is_refused(model, usage, models, code):
    """Never free: an unknown model, one that the contract does not name, a usage that is no count."""
    with pytest.raises(ChargeRefused) as caught:
        price(model, usage, models)
    assert [fault.code for fault in caught.value.faults] == [code]


@pytest.mark.parametrize(
    ("tokens", "outcome"), [(1099, "rejected"), (1100, "accepted"), (1101, "accepted")], ids=["over", "at", "under"]
)
def test_tokens(tmp_path, tokens, outcome):
    """1,100 tokens under a limit one below, at it, one above."""
    result = charged(tmp_path, tokens=tokens, cost_usd="1")
    assert result.outcome.value == outcome
    assert (result.budget["tokens"].used, result.budget["tokens"].metered.value) == (1100, "charged")


@pytest.mark.parametrize(
    ("limit", "outcome"), [("0.00349", "rejected"), ("0.0035", "accepted"), ("0.00351", "accepted")]
)
def test_money(tmp_path, limit, outcome):
    """The same for the last digit of the money."""
    result = charged(tmp_path, tokens=9999, cost_usd=limit)
    assert result.outcome.value == outcome
    assert result.budget["cost_usd"].used == COST


def test_none_means_none(tmp_path):
    """With 0 tokens the first charge ends the run, and says which limit it was."""
    result = charged(tmp_path)
    assert ended(result) == ("rejected", "budget_exhausted")
    assert dict(result.ending.data) == {"dimension": "tokens", "limit": "0", "amount": "1100"}
    assert result.iterations == []


def test_money_adds_up_exactly(tmp_path):
    """A hundred charges are a hundred times one."""
    result = charged(tmp_path, tokens=1_000_000, cost_usd="0.35", uses=100)
    assert ended(result) == ("accepted", "contract_passed")
    assert result.budget["cost_usd"].used == COST * 100


@pytest.mark.parametrize(("uses", "ending"), [(0, "policy_refused"), (1, "contract_passed")])
def test_a_policy_may_want_tokens_charged(tmp_path, uses, ending):
    """A run whose use nobody reported does not count."""
    policy = Policy(policy="p", version=1, metered={"tokens": ["charged"]})
    result = charged(tmp_path, policy=policy, uses=uses, tokens=9999, cost_usd="1")
    assert result.reason.value == ending
