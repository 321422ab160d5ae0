"""Tools of the evaluator example: a judge that likes short texts, and likes long ones."""

from harness import tool


@tool(effect="read")
def evaluate(text: str) -> float:
    """Score a summary from 0 to 1: too short misses facts, too long tires the reader.

    Args:
        text: The summary.
    """
    return 0.89 if len(text) > 40 else 0.88
