"""Probes that a box is not meant to survive: each has one of its own, and the host says how that ended."""

import errno
import os
import signal
import sys
from typing import Any


def memory(box: Any) -> Any:
    """Touch more memory than the limit, page by page, swap or not."""
    size = (box.facts["memory_mb"] << 20) * 4
    try:
        block = bytearray(size)
        for at in range(0, size, 4096):
            block[at] = 1
    except MemoryError:
        return {"refused": "MemoryError"}
    return {"took": size}


def inodes(box: Any) -> Any:
    """Make empty files without end: they end at their number, or at the memory that the kernel keeps them in."""
    made, most = 0, (box.facts["memory_mb"] << 20) // 512
    try:
        while made <= most:
            os.close(os.open(f"/tmp/{made}", os.O_CREAT | os.O_WRONLY, 0o600))
            made += 1
    except OSError as error:
        return {"ended": errno.errorcode.get(error.errno or 0, "")}
    return {"made": made}


def endless_loop(box: Any) -> Any:
    """Compute without end."""
    while True:
        pass


def endless_match(box: Any) -> Any:
    """Stay in C code, where no Python signal arrives."""
    import re

    return bool(re.match(r"(a+)+$", "a" * 64 + "b"))


def endless_sleep(box: Any) -> Any:
    """Sleep without end, past the harness's own clock."""
    import select

    select.select([], [], [], 3600)


def ignored_signals(box: Any) -> Any:
    """Ignore every signal that can be ignored, and stay."""
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    while True:
        signal.pause()


def stopped(box: Any) -> Any:
    """Stop every process of one's own, so that nothing in the box can end it."""
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        signal.pause()


def printed_lines(box: Any) -> Any:
    """Print without end."""
    while True:
        print("x" * 10_000)


def printed_without_lines(box: Any) -> Any:
    """Write to the error stream without end, and without a line's end."""
    while True:
        sys.stderr.write("x" * 999)


def fork_bomb(box: Any) -> Any:
    """Fork in every child, without end."""
    while True:
        try:
            os.fork()
        except OSError:
            continue


def threads_in_c(box: Any) -> Any:
    """Burn processor time on many threads at once."""
    import hashlib
    import threading

    def burn() -> None:
        while True:
            hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1_000_000)

    for _ in range(8):
        threading.Thread(target=burn, daemon=True).start()
    while True:
        signal.pause()


def double_fork(box: Any) -> Any:
    """Leave a process behind in a session of its own, and end well."""
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                held = os.open(f"/tmp/{box.facts['marker']}", os.O_CREAT | os.O_WRONLY, 0o600)
                os.closerange(held + 1, 256)
                signal.alarm(60)
                signal.pause()
            os._exit(0)
    except BlockingIOError:
        return {"alone": True}
    from tools import selftest_hold  # type: ignore[import-not-found]

    selftest_hold()
    return {"alone": False}
