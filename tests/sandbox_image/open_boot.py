"""A boot for tests alone: the real runner in an ordinary process, over an inherited descriptor, with no walls at all.

It is no flag of the real boot: nothing that is installed can start a box like this.
"""

import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sandbox_image import runner

if __name__ == "__main__":
    runner.serve(socket.socket(fileno=int(sys.argv[1])))
