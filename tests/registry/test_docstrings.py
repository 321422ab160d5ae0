"""Docstrings taken apart, in the three styles that people write."""

import pytest

from harness.registry.docstrings import parse

GOOGLE = """Find records.

    More text.

    Args:
        query (str): What to look for,
            in words.
        limit: How many.

    Returns:
        The hits, best first.

    Raises:
        Stale: when old
    """
NUMPY = """Find records.

    More text.

    Parameters
    ----------
    query : str
        What to look for,
        in words.
    limit : int, optional
        How many.

    Returns
    -------
    The hits, best first.
    """
SPHINX = """Find records.

    More text.

    :param str query: What to look for, in words.
    :param limit: How many.
    :type limit: int
    :returns: The hits, best first.
    :rtype: list
    """


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX])
def test_text_arguments_and_result_are_told_apart(docstring: str) -> None:
    """The same text in three styles says the same."""
    told = parse(docstring)
    assert told.text == "Find records.\n\nMore text."
    assert told.arguments == {"query": "What to look for, in words.", "limit": "How many."}
    assert told.result == "The hits, best first."


def test_what_is_not_understood_stays_text() -> None:
    """Nothing is lost; an example stays an example."""
    told = parse("Do it.\n\nExample:\n    x = 1\n\nArgs:\n    a: b\n\nAnd more: text.")
    assert told.text == "Do it.\n\nExample:\n    x = 1\n\nAnd more: text."
    assert told.arguments == {"a": "b"}


@pytest.mark.parametrize("docstring", [None, "", "   \n  "])
def test_no_docstring_says_nothing(docstring: str | None) -> None:
    """And breaks nothing."""
    told = parse(docstring)
    assert (told.text, told.arguments, told.result) == ("", {}, "")
