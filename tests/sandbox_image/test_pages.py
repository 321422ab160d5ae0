"""Pages that a run writes to: learnt from a rehearsal, and a slot's own before its run comes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FAULTS = """
import gc, os, resource, socket
from sandbox_image import pages, runner

def faults(ahead):
    heard, said = os.pipe()
    if os.fork() == 0:
        if ahead:
            pages.own()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        rehearse()
        os.write(said, str(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before).encode())
        os._exit(0)
    os.wait()
    return int(os.read(heard, 100))

rehearse = runner.rehearsal()
runner.warm()
gc.collect()
gc.freeze()
pages.learn(rehearse)
print(faults(False), faults(True))
"""

LAST_WORD = """
import os
from sandbox_image import runner
from sandbox_image.channel import Channel

Channel.close = lambda self, frame: os.write(1, frame)
runner.rehearsal()()
"""

FAILS = """
import os
from sandbox_image import pages

pages.learn(lambda: os._exit(3))
print(pages._ranges)
pages.learn(lambda: 1 / 0)
print(pages._ranges)
pages.own()
"""


def _said(program: str) -> str:
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return ran.stdout


def test_a_run_finds_its_pages_its_own() -> None:
    """Of the pages that a run writes to for the first time, a slot that waited has five in six already."""
    without, ahead = map(int, _said(FAULTS).split())
    assert ahead * 6 <= without or ahead == without  # a kernel before 5.14 knows no such advice


def test_the_rehearsal_is_a_whole_run() -> None:
    """It makes a call, takes the answer, and ends with a result."""
    assert _said(LAST_WORD) == '{"t":"result","value":{"value":{"value":[1,1.5,"text"]}},"none":false}'


def test_a_rehearsal_that_fails_costs_nothing_but_speed() -> None:
    """Nothing is learnt from it, and slots are what they were without."""
    assert _said(FAILS) == "[]\n[]\n"
