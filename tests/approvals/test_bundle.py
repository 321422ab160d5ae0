"""Bundles: ids, previews, order, totals; announcements."""

import json

import msgspec
import pytest

from harness.approvals.announce import announcement
from harness.approvals.bundle import MAX_CALLS, MAX_PREVIEW_CHARS, Asked, asked_first, issue, preview_line, shown
from harness.core.call import Effect
from tests.approvals.making import bundle, call, gathered


def test_ids_cannot_be_guessed_and_do_not_stand_in_the_reference() -> None:
    """F09: the id has 256 random bits; the public reference says nothing of it."""
    one, two = bundle(), bundle()
    assert one.id != two.id
    assert len(one.id) == 43
    assert one.id not in one.reference
    assert not set(one.reference.removeprefix("ask-")) - set("0123456789abcdef")


@pytest.mark.parametrize(
    ("text", "line"),
    {
        "line break": ("a\nb", "a\\x0ab"),
        "terminal": ("\x1b[2Jgone", "\\x1b[2Jgone"),
        "html": ("<b>&", "\\x3cb\\x3e\\x26"),
        "bidirectional": ("\u202eevil", "\\u202eevil"),
        "zero width": ("a\u200bb", "a\\u200bb"),
        "line separator": ("a\u2028b", "a\\u2028b"),
        "surrogate": ("\ud800", "\\ud800"),
        "plain": ("zażółć 10 €", "zażółć 10 €"),
        "other spaces": ("a\u00a0b\tc", "a\\xa0b\\x09c"),
    }.values(),
)
def test_a_preview_is_one_line_and_carries_no_control(text: str, line: str) -> None:
    """Nothing that a terminal, a page or a reader's eye would obey passes."""
    assert preview_line(text) == (line, False)


def test_a_long_preview_is_cut_and_says_so() -> None:
    """The raw arguments stand beside it."""
    line, cut = preview_line("x" * 5000)
    assert (len(line), cut) == (MAX_PREVIEW_CHARS + 1, True)


def test_a_call_without_a_written_preview_shows_its_arguments() -> None:
    """Canonical, escaped."""
    made = issue(gathered(), [Asked(call(1, text="<x>"), "", "before_execute")])[0]
    assert shown(made.asks[0]).preview == 'update {"text":"\\x3cx\\x3e"}'
    assert shown(made.asks[0]).arguments == {"text": "<x>"}


def test_destructive_calls_are_shown_first_and_stored_in_order() -> None:
    """Approved calls execute in the order of their submission, whatever a person saw first."""
    made = bundle([call(1, record=1), call(2, Effect.DESTRUCTIVE, record=2), call(3, record=3)])
    assert [ask.call for ask in made.asks] == ["1.1", "1.2", "1.3"]
    assert [line.ask.call for line in asked_first(made)] == ["1.2", "1.1", "1.3"]


def test_very_many_calls_form_several_bundles() -> None:
    """Size is capped: a person can still go through one."""
    made = issue(gathered(), [Asked(call(n, record=n), "", "always") for n in range(MAX_CALLS + 1)])
    assert [len(each.asks) for each in made] == [MAX_CALLS, 1]


def test_a_table_is_shown_with_its_totals() -> None:
    """Calls and sums by tool."""
    made = bundle([call(1, amount=5), call(2, amount=7.5)])
    assert msgspec.json.decode(made.document)["totals"] == {"update": {"calls": 2, "sums": {"amount": 12.5}}}


def test_an_announcement_carries_counts_and_the_reference_alone() -> None:
    """No argument, no digest, no id."""
    made = bundle([call(1, text="secret text"), call(2, Effect.DESTRUCTIVE)])
    text = json.dumps(announcement(made))
    assert announcement(made)["data"]["by_effect"] == {"write": 1, "destructive": 1}
    assert made.reference in text
    assert [found for found in (made.id, "secret text", *(ask.digest for ask in made.asks)) if found in text] == []
