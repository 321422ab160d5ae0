"""A child process of the harness: started with nothing of the host, waited for without a thread, its end told apart."""

import asyncio
import fcntl
import os
import select
import signal
import struct
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from harness.core.errors import EnvironmentUnavailable

__all__ = ["Child", "Handle", "exit_status", "pipe_with"]

WORDS_BYTES = 4096
"""Of what a child says before it fails: a sentence and a traceback."""

_GET_INFO = 0xC040FF0B
"""PIDFD_GET_INFO of linux/pidfd.h, for the structure of 64 bytes."""
_INFO_EXIT = 1 << 3
_EXIT_OFFSET = 60
"""Of `exit_code` in `struct pidfd_info`."""


class Handle:
    """A process by its descriptor: never another one that got its id later."""

    def __init__(self, pid: int) -> None:
        """Raises ProcessLookupError where it is gone."""
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)

    def send(self, number: signal.Signals) -> bool:
        """Send a signal; False where the process is gone."""
        if self._descriptor < 0:
            return False
        try:
            signal.pidfd_send_signal(self._descriptor, number)
        except ProcessLookupError:
            return False
        return True

    def alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._descriptor >= 0 and not _readable(self._descriptor)

    async def ended(self, seconds: float | None = None) -> bool:
        """Wait until the process has ended; False where the time was up."""
        if not self.alive():
            return True
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._descriptor, _settle, done)
        try:
            async with asyncio.timeout(seconds):
                await done
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(self._descriptor)
        return True

    def status(self) -> int | None:
        """Wait status of an ended and collected process, from kernels that keep it (6.15 on); else None."""
        if self._descriptor < 0:
            return None
        answer = bytearray(struct.pack("<Q", _INFO_EXIT) + bytes(56))
        with suppress(OSError):
            fcntl.ioctl(self._descriptor, _GET_INFO, answer)
            if struct.unpack_from("<Q", answer)[0] & _INFO_EXIT:
                return int(struct.unpack_from("<i", answer, _EXIT_OFFSET)[0])
        return None

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _settle(done: "asyncio.Future[None]") -> None:
    if not done.done():
        done.set_result(None)


class Child:
    """One program, started with an empty environment, no terminal and only the descriptors that it is given."""

    def __init__(self, command: Sequence[str], *, pass_fds: Sequence[int], user: int | None) -> None:
        """`user`: the user and group to become first. Raises EnvironmentUnavailable where it does not start."""
        self._words, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(write, True)
        try:
            self._process = subprocess.Popen(
                command,
                env={},
                cwd="/",
                user=user,
                group=user,
                extra_groups=None if user is None else [],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=write,
                pass_fds=pass_fds,
                close_fds=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            os.close(self._words)
            raise EnvironmentUnavailable(f"`{command[0]}` does not start: {error}") from None
        finally:
            os.close(write)
        self.handle = Handle(self._process.pid)

    def words(self) -> str:
        """The end of what it has said on its standard error."""
        try:
            return os.read(self._words, WORDS_BYTES).decode("utf-8", "replace")
        except BlockingIOError:
            return ""

    async def collect(self, seconds: float) -> int | None:
        """Its exit status (negative: the signal) once it has ended; None where it has not in time."""
        if self._process.returncode is None and not await self.handle.ended(seconds):
            return None
        return self._process.wait()

    def close(self) -> None:
        """Let go of the descriptors. Idempotent."""
        if self._words >= 0:
            os.close(self._words)
            self._words = -1
        self.handle.close()


def exit_status(wait_status: int) -> int:
    """A wait status as `subprocess` says it: the exit status, or the signal as a negative number."""
    return os.waitstatus_to_exitcode(wait_status)


def pipe_with(content: bytes) -> int:
    """The read end of a pipe that holds `content` (less than 64 KiB) and then ends."""
    read, write = os.pipe2(os.O_CLOEXEC)
    try:
        os.write(write, content)
    finally:
        os.close(write)
    return read
