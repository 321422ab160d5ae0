"""The one function of this package."""

import random
import time


class RetryError(Exception):
    """Every attempt failed, or the next would come too late."""

    def __init__(self, attempts):
        super().__init__(f"gave up after {attempts} attempts")
        self.attempts = attempts


def retry(operation, *, attempts=3, base=0.02, deadline=1.0, jitter=random.random, sleep=time.sleep, clock=time.monotonic):
    """Call `operation` until it returns; pauses double, each between half and one and a half of its length."""
    started = clock()
    for number in range(1, attempts + 1):
        try:
            return operation()
        except OSError as error:
            pause = base * 2 ** (number - 1) * (0.5 + jitter())
            if number == attempts or clock() - started + pause > deadline:
                raise RetryError(number) from error
            sleep(pause)
