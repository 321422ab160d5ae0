"""Tests of `retry`."""

import pytest

from retry import RetryError, retry


class Failing:
    """An operation that fails so many times."""

    def __init__(self, times):
        self.left = times
        self.calls = 0

    def __call__(self):
        self.calls += 1
        self.left -= 1
        if self.left >= 0:
            raise OSError("not yet")
        return "done"


def test_succeeds_at_once():
    assert retry(Failing(0)) == "done"


def test_succeeds_on_the_third_attempt():
    operation = Failing(2)
    assert retry(operation, deadline=0.06) == "done"
    assert operation.calls == 3


def test_gives_up():
    with pytest.raises(RetryError):
        retry(Failing(9), sleep=lambda seconds: None)


def test_other_errors_go_through():
    with pytest.raises(ZeroDivisionError):
        retry(lambda: 1 / 0)
