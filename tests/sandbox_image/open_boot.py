"""A boot for tests alone: the real runner in an ordinary process, over an inherited descriptor, with no walls at all.

It is no flag of the real boot: nothing that is installed can start a box like this.
"""

import importlib.util
import socket
import sys
import time
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def stand_in(name, **members):
    """A module in place of one that is not written yet."""
    if importlib.util.find_spec(name.rpartition(".")[0]) is None or importlib.util.find_spec(name) is None:
        parent = name.rpartition(".")[0]
        sys.modules.setdefault(parent, types.ModuleType(parent))
        module = types.ModuleType(name)
        module.__dict__.update(members)
        sys.modules[name] = module
        setattr(sys.modules[parent], name.rpartition(".")[2], module)


class Clock:
    def __init__(self):
        self.at = 0

    def answered(self, at_us):
        self.at = at_us

    def monotonic(self):
        return time.monotonic()


def install(chance, sleep):
    time.sleep = sleep
    return Clock()


def build(language, imports, tools, extras):
    return {"__name__": "__main__", "__builtins__": __builtins__, **extras}


stand_in("sandbox_image.chance", install=install)
stand_in("sandbox_image.language.namespace", build=build)

from sandbox_image import runner  # noqa: E402

if __name__ == "__main__":
    runner.serve(socket.socket(fileno=int(sys.argv[1])))
