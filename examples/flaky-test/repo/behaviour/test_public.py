"""What callers of `retry` count on. Nobody who mends a test may change it."""

import inspect

import pytest

from retry import RetryError, retry


def failing():
    raise OSError("no")


def pauses(**more):
    slept = []
    with pytest.raises(RetryError) as caught:
        retry(failing, sleep=slept.append, clock=lambda: 0.0, **more)
    return caught.value.attempts, slept


def test_three_attempts():
    assert pauses(jitter=lambda: 0.5)[0] == 3


def test_pauses_double():
    assert pauses(jitter=lambda: 0.5)[1] == [0.02, 0.04]


def test_jitter_spreads_from_a_half_to_one_and_a_half():
    assert pauses(jitter=lambda: 0.0)[1] == [0.01, 0.02]
    assert pauses(jitter=lambda: 1.0)[1] == [0.03, 0.06]


def test_the_signature():
    defaults = {name: each.default for name, each in inspect.signature(retry).parameters.items()}
    assert (defaults["attempts"], defaults["base"], defaults["deadline"]) == (3, 0.02, 1.0)
