"""A box that plays a script in a process of its own, without walls: what a real one costs the host, and nothing else.

In a thread of this process, as `harness.testing` has it, both ends would wait for one interpreter lock.
"""

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from harness.core.ports import BoxExit, BoxUsage, ExitKind
from harness.testing import BoxSide

__all__ = ["ForkedBackend", "forked"]

Script = Callable[[BoxSide], None]


def forked(script: Script) -> tuple[socket.socket, int]:
    """The host's end of a script that plays in a child, and the child."""
    near, far = socket.socketpair()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            near.close()
            script(BoxSide(far))
        os._exit(0)
    far.close()
    return near, child


class ForkedBox:
    """See `harness.core.ports.Box`."""

    id = "forked"

    def __init__(self, script: Script) -> None:
        self.channel, self._child = forked(script)
        self.channel.setblocking(False)

    async def verify(self) -> None:
        """There is no confinement to read back."""

    def usage(self) -> BoxUsage:
        """Nothing is measured."""
        return BoxUsage(None, None, None)

    async def kill(self) -> None:
        """SIGKILL."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)

    async def freeze(self) -> None:
        """It is not held."""

    async def thaw(self) -> None:
        """It is not held."""

    async def close(self) -> BoxExit:
        """End it and collect its end."""
        await self.kill()
        if self._child:
            os.waitpid(self._child, 0)
            self._child = 0
        return BoxExit(ExitKind.EXITED, "the script ended")


class ForkedBackend:
    """See `harness.core.ports.Backend`."""

    name = "script"

    def __init__(self, script: Script) -> None:
        self._script = script

    async def start(self, spec: Any) -> ForkedBox:
        """A box that plays the script."""
        return ForkedBox(self._script)

    async def close(self) -> None:
        """Nothing is kept."""

    def kill_now(self) -> None:
        """Nothing is kept."""
