"""Announcing: to a real hook on loopback, with what fails said and nothing held up."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from harness.approvals.announce import Silent, Webhook
from harness.approvals.herald import Herald
from tests.approvals.hooks import Hook, hook
from tests.approvals.making import bundle, call


@pytest.fixture
def listener() -> Iterator[Hook]:
    with hook() as server:
        yield server


def told_by(herald: Herald) -> list[dict[str, Any]]:
    """What is logged while one bundle is told."""
    with capture_logs() as logs:
        herald.tell([bundle([call(1, text="secret text")])])
        herald.wait(30)
    return [dict(each) for each in logs]


def test_a_hook_gets_the_event_and_no_argument(listener: Hook) -> None:
    """The whole address, its query too; a media type of its own; counts and a reference."""
    assert told_by(Herald(Webhook(listener.url, ["127.0.0.1"]))) == []
    ((path, media, event),) = listener.told
    assert (path, media) == ("/hook?team=a", "application/cloudevents+json")
    assert (event["type"], event["data"]["calls"], event["data"]["by_effect"]) == (
        "harness.bundle.waiting",
        1,
        {"write": 1},
    )
    assert "secret text" not in str(event)


@pytest.mark.parametrize(
    ("status", "why"), [(500, "the hook answered 500"), (302, "the hook answered 302")], ids=["broken", "redirect"]
)
def test_what_a_hook_did_not_take_is_logged(listener: Hook, status: int, why: str) -> None:
    """No redirect is followed: the event was for this address."""
    listener.status = status
    (line,) = told_by(Herald(Webhook(listener.url, ["127.0.0.1"])))
    assert (line["event"], line["why"], line["log_level"]) == ("not_announced", why, "warning")
    assert len(listener.told) == 1


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:9/", "`127.0.0.1` lies at an address that is not public"),
        ("http://[::ffff:169.254.169.254]/", "`::ffff:169.254.169.254` lies at an address that is not public"),
        ("file:///etc/passwd", "the address is no http or https address of a host"),
    ],
)
def test_a_hook_at_an_address_that_is_not_public_is_refused(url: str, why: str) -> None:
    """Unless the policy lists its host: the one client of the host looks."""
    assert [line["why"] for line in told_by(Herald(Webhook(url)))] == [why]


def test_nobody_waits_for_a_slow_hook(listener: Hook) -> None:
    """`tell` comes back at once; a host that ends waits no longer than it is told to."""
    listener.open.clear()
    herald = Herald(Webhook(listener.url, ["127.0.0.1"]))
    herald.tell([bundle([call(1)])])
    herald.wait(0.05)
    assert herald.telling
    listener.open.set()
    herald.wait(30)
    assert not herald.telling


def test_without_a_hook_nobody_is_told() -> None:
    """And no thread is started."""
    herald = Herald()
    herald.tell([bundle([call(1)])])
    assert not herald.telling
    assert Silent().announce({}) == ""
