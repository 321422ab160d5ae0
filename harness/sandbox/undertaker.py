"""Removes ended containers behind the run that used them: 30 ms of the engine's time that nobody waits for.

A thread of its own with blocking requests, so that it outlives the loop of the run; what it has not done when the host
is killed is swept by the next start.
"""

import atexit
import http.client
import queue
import socket
import ssl
import threading
import time

from harness.sandbox.endpoint import Endpoint

__all__ = ["Undertaker"]

REQUEST_SECONDS = 30.0
"""A removal takes 30 ms; a loaded engine some hundred."""
ATTEMPTS, PAUSE_SECONDS = 4, 0.5
"""Five seconds in all: an engine starts again in one or two. What is left after them is swept by the next start."""
LAST_SECONDS = 10.0
"""At the end of the process; what is left then is swept by the next start."""
REMOVED = (200, 204, 404)


class Undertaker:
    """A queue of containers to remove, and the thread that does it; started with the first one."""

    def __init__(self, endpoint: Endpoint, tls: ssl.SSLContext | None) -> None:
        self._endpoint = endpoint
        self._tls = tls
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._left = 0
        self._thread: threading.Thread | None = None

    def bury(self, container: str) -> None:
        """Have a container removed soon, whatever state it is in."""
        with self._changed:
            self._left += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="removal of containers", daemon=True)
                self._thread.start()
                atexit.register(self.wait, LAST_SECONDS)
        self._waiting.put(container)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until everything handed over is removed; False where the time was up."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._left, seconds)

    def _work(self) -> None:
        while True:
            container = self._waiting.get()
            for attempt in range(ATTEMPTS):
                if self._removed(container):
                    break
                time.sleep(PAUSE_SECONDS * (attempt + 1))
            with self._changed:
                self._left -= 1
                self._changed.notify_all()

    def _removed(self, container: str) -> bool:
        """Whether it is gone; False while the engine does not answer, or is not done with starting it."""
        connection = self._connection()
        try:
            connection.request("DELETE", f"/containers/{container}?force=1&v=1")
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return answer.status in REMOVED

    def _connection(self) -> http.client.HTTPConnection:
        if self._endpoint.socket:
            return _UnixConnection(self._endpoint.socket)
        host, port = self._endpoint.address
        if self._tls is not None:
            return http.client.HTTPSConnection(host, port, timeout=REQUEST_SECONDS, context=self._tls)
        return http.client.HTTPConnection(host, port, timeout=REQUEST_SECONDS)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=REQUEST_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
