"""A nursery for tests alone: forks the real runner into ordinary processes with no walls at all.

It is no flag of the real boot: nothing that is installed can start a box like this. It ends when its tests do.
"""

import json
import os
import select
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sandbox_image import runner


def main() -> None:
    """A channel comes over descriptor 0: fork a runner for it and say its pid; say how each ended."""
    control = socket.socket(fileno=0)
    runner.warm()
    poll = select.poll()
    poll.register(control, select.POLLIN)
    alive: set[int] = set()
    while True:
        if poll.poll(2 if alive else None):
            content, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not content:
                return
            pid = os.fork()
            if pid == 0:
                null = os.open(os.devnull, os.O_RDWR)
                control.close()
                os.dup2(null, 0)
                runner.serve(socket.socket(fileno=descriptors[0]))
            os.close(descriptors[0])
            alive.add(pid)
            say(control, started=pid)
        for pid in tuple(alive):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                alive.remove(pid)
                say(control, ended=pid, status=os.waitstatus_to_exitcode(status))


def say(control: socket.socket, **fact: int) -> None:
    control.sendall(json.dumps(fact).encode() + b"\n")


if __name__ == "__main__":
    main()
