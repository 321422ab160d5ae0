"""The loop ends by contract: on success, on a stop condition, when it is stuck, and at the backstop in any case."""

import asyncio

import pytest

from tests.run.making import counting, document, ended, harness, returning


def snippets(count=99):
    """Proposals that all differ: the box plays a script anyway."""
    return lambda turn: f"{turn.number} + 0" if turn.number <= count else None


def loop(tmp_path, values, propose=None, **sections):
    """Loop over scripted outputs."""
    made = harness(tmp_path, (), counting(values))
    return made.loop_sync(document(**sections), propose or snippets())


def test_it_ends_on_success(tmp_path):
    """The third proposal holds, so no fourth is asked for."""
    result = loop(tmp_path, [1, 2, 12, 13])
    assert ended(result) == ("accepted", "contract_passed")
    assert (result.result, len(result.iterations)) == (12, 3)


def test_the_backstop_ends_it(tmp_path):
    """Without success all iterations run, and not one more."""
    result = loop(tmp_path, [1, 2, 3, 4, 5, 6])
    assert ended(result) == ("rejected", "iteration_limit")
    assert len(result.iterations) == 5
    assert result.ending.detail == (
        "all 5 iterations are used; the result fits its schema, and the success predicate is false"
    )


def test_the_backstop_holds_where_every_predicate_has_a_fault(tmp_path):
    """An expression that errors is recorded, is never success, and does not keep the loop alive."""
    result = loop(tmp_path, [0], completion={"success": "10 / output >= 1"})
    assert ended(result) == ("rejected", "iteration_limit")
    assert dict(result.ending.data)["last"] == "predicate_error"


def test_an_error_in_a_stop_condition_stops_with_its_own_reason(tmp_path):
    """It is neither success nor silence."""
    result = loop(tmp_path, [0], completion={"stop": [{"when": "10 / output >= 1"}]})
    assert ended(result) == ("rejected", "predicate_error")
    assert len(result.iterations) == 1


def test_a_stop_condition_that_holds_stops(tmp_path):
    """In the contract's words."""
    result = loop(tmp_path, [5, 4, 3], completion={"stop": [{"when": "run.iteration >= 2 && output < 5"}]})
    assert ended(result) == ("rejected", "stop_condition")
    assert result.ending.detail == "the stop condition `run.iteration >= 2 && output < 5` holds"


def test_success_and_stopping_are_separate_facts(tmp_path):
    """Where both hold, the result counts."""
    result = loop(tmp_path, [12], completion={"stop": [{"when": "output > 11"}]})
    assert ended(result) == ("accepted", "contract_passed")


@pytest.mark.parametrize(("equal", "reason"), [(2, "iteration_limit"), (3, "stuck"), (4, "stuck")])
def test_the_same_output_again_and_again_is_stuck(tmp_path, equal, reason):
    """`same_output: 3`: two equal ones are none too many, three are."""
    result = loop(tmp_path, [7] * equal + [1, 2, 3, 4], completion={"stop": [{"same_output": 3}]})
    assert ended(result) == ("rejected", reason)


def test_swinging_between_two_outputs_is_stuck(tmp_path):
    """Equal ones need not stand in a row."""
    result = loop(tmp_path, [1, 2, 1, 2, 1], completion={"stop": [{"same_output": 3}]})
    assert ended(result) == ("rejected", "stuck")
    assert result.ending.detail == "the same output came 3 times"


def test_the_same_snippet_again_and_again_is_stuck(tmp_path):
    """Whatever it returns: the agent has nothing new to say."""
    result = loop(tmp_path, [1, 2, 3, 4], lambda turn: "1 + 1", completion={"stop": [{"same_output": 3}]})
    assert result.ending.detail == "the same snippet came 3 times"


@pytest.mark.parametrize(("better", "values"), [("higher", [1, 5, 5, 4, 9]), ("lower", [9, 5, 6, 7, 1])])
def test_a_measure_that_no_longer_improves_is_stuck(tmp_path, better, values):
    """`stalled` over two iterations: the run ends before it would have got better again."""
    stop = {"stalled": {"measure": "output", "iterations": 2, "better": better}}
    result = loop(tmp_path, values, completion={"stop": [stop]})
    assert ended(result) == ("rejected", "stuck")
    assert result.ending.detail == "no progress in 2 iterations: the best measure is still 5"


def test_a_snippet_that_the_language_refuses_is_an_observation(tmp_path):
    """It costs an iteration, so that an agent which proposes nothing else comes to an end."""
    seen = []

    def propose(turn):
        seen.append(turn.last)
        return "import os" if turn.number < 3 else "10"

    result = loop(tmp_path, [10], propose)
    assert ended(result) == ("accepted", "contract_passed")
    assert [fault.code for fault in seen[1].refused] == ["import"]
    assert result.budget["iterations"].used == 3

    hopeless = harness(tmp_path, (), returning(10)).loop_sync(document(), lambda turn: "import os")
    assert ended(hopeless) == ("rejected", "iteration_limit")


def test_an_agent_that_stops_is_judged_by_its_last_proposal(tmp_path):
    """Its word ends nothing well: what it proposed is what counts."""
    result = loop(tmp_path, [3], snippets(1))
    assert ended(result) == ("rejected", "contract_failed")
    assert ended(loop(tmp_path, [3], snippets(0))) == ("rejected", "output_missing")


def test_an_asynchronous_agent(tmp_path):
    """`propose` may await its model."""

    async def propose(turn):
        await asyncio.sleep(0)
        return "1"

    assert loop(tmp_path, [10], propose).result == 10


def test_an_agent_that_raises_cancels_the_run(tmp_path):
    """The exception goes through, and the record says what happened."""

    def propose(turn):
        raise RuntimeError("the model is down")

    made = harness(tmp_path, ())
    with pytest.raises(RuntimeError, match="the model is down"):
        made.loop_sync(document(), propose)
    rows = made.store().runs()
    made._store.close()
    assert [row.status for row in rows] == ["ended"]
    assert b'"cancelled"' in rows[0].ending


def test_what_an_agent_sees(tmp_path):
    """One document: output, printed text, refusals with hints, checks with status, what is left."""
    seen = []

    def script(box):
        box.send({"t": "print", "stream": "out", "text": "hello"})
        box.call("nothing")
        box.result(1)

    def propose(turn):
        if turn.last is not None:
            seen.append(turn.last.to_json())
        return f"{turn.number}" if turn.number < 3 else None

    made = harness(tmp_path, (), script)
    made.loop_sync(document(checks={"postconditions": [{"id": "big", "expect": "output > 5"}]}), propose)
    first = seen[0]
    assert (first["iteration"]["output"], first["iteration"]["printed"]) == (1, "hello")
    assert first["refusals"][0]["code"] == "unlisted"
    assert first["refusals"][0]["hint"]
    assert first["checks"] == [
        {"id": "big", "kind": "postcondition", "status": "failed", "detail": "`output > 5` is false"}
    ]
    assert first["success"] == {"holds": False, "error": ""}
    assert (first["budget_left"]["calls"], first["budget_left"]["iterations"]) == (49, 4)
