"""The pool of daemon threads: capped, never joined, a job starts once or never."""

import subprocess
import sys
import threading
import time

import pytest

from harness.executor.threads import DaemonPool, Job


@pytest.fixture
def pool():
    made = DaemonPool(2)
    yield made
    made.close()


def test_a_job_that_was_withdrawn_never_runs(pool: DaemonPool) -> None:
    """Withdrawn first: the work is not done, not even later."""
    done = []
    job = Job(lambda: done.append(1))
    assert job.withdraw() is True
    job.run()
    assert (done, job.finished) == ([], False)


def test_a_job_that_started_cannot_be_withdrawn() -> None:
    """Started first: it is told so, however often it is asked."""
    job = Job(lambda: None)
    job.run()
    assert (job.withdraw(), job.withdraw(), job.finished) == (False, False, True)


def test_no_more_threads_than_the_cap_and_every_job_is_done(pool: DaemonPool) -> None:
    """Twenty jobs on two threads: all of them, two at a time at most."""
    lock, together, most, done = threading.Lock(), 0, 0, threading.Semaphore(0)

    def work() -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        time.sleep(0.002)
        with lock:
            together -= 1
        done.release()

    for _ in range(20):
        pool.submit(Job(work))
    assert all(done.acquire(timeout=5) for _ in range(20))
    assert (most, pool.threads) == (2, 2)


def test_a_job_gets_a_thread_while_another_one_hangs(pool: DaemonPool) -> None:
    """One lost thread does not hold up the rest of the cap, whatever was idle before."""
    hang, done = threading.Event(), threading.Semaphore(0)
    for _ in range(3):
        pool.submit(Job(done.release))
        assert done.acquire(timeout=5)
    pool.submit(Job(hang.wait))
    for _ in range(5):
        pool.submit(Job(done.release))
    assert all(done.acquire(timeout=5) for _ in range(5))
    hang.set()


def test_a_hanging_tool_does_not_hold_up_the_exit() -> None:
    """B01: the interpreter ends while a thread of the pool sleeps for an hour."""
    program = (
        "import threading, time\n"
        "from harness.executor.threads import DaemonPool, Job\n"
        "started = threading.Event()\n"
        "DaemonPool(1).submit(Job(lambda: (started.set(), time.sleep(3600))))\n"
        "started.wait()\n"
    )
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], timeout=20, capture_output=True, check=False)
    assert (done.returncode, done.stderr, time.monotonic() - begun < 10) == (0, b"", True)


def test_a_closed_pool_lets_its_idle_threads_go() -> None:
    """Nothing is left behind but what hangs."""
    pool, done = DaemonPool(3), threading.Semaphore(0)
    before = set(threading.enumerate())
    for _ in range(3):
        pool.submit(Job(done.release))
    assert all(done.acquire(timeout=5) for _ in range(3))
    pool.close()
    deadline = time.monotonic() + 5
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.005)
    assert set(threading.enumerate()) - before == set()
