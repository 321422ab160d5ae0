"""docs/isolation.md, written from the data that the boxes are made of; a test compares the page with it."""

import sys
from collections.abc import Iterator

from harness.front.selftest.table import TRIES
from harness.sandbox.docker_args import WALLS as ENGINE_LINES
from harness.sandbox.isolation import WALLS
from harness.sandbox.seccomp import RULES
from harness.sandbox.spec import SETTINGS, SandboxSpec

__all__ = ["isolation_page"]

HEAD = """# Isolation

What holds in every box, line by line. This page is written from the data that the boxes are made of
(`harness/sandbox/isolation.py`, `spec.py`, `seccomp.py`, `docker_args.py`); a test compares the two.
`harness selftest` tries the opposite of each line on your machine; `harness policy explain` prints them beside
your policy.
"""


def isolation_page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_walls(), *_settings(), *_engine(), *_calls()]).rstrip("\n") + "\n"


def _walls() -> Iterator[str]:
    yield "## Walls\n"
    yield "| wall | holds | docker | bubblewrap | without it | probes |"
    yield "|---|---|---|---|---|---|"
    for wall in WALLS:
        probes = ", ".join(f"`{name}`" for name in TRIES[wall.name])
        yield _row(wall.name, wall.holds, wall.docker, wall.bubblewrap, wall.threat, probes)
    yield ""


def _settings() -> Iterator[str]:
    usual = SandboxSpec()
    yield "## Numbers\n"
    yield "A contract's budget narrows them, a policy's ceilings bound them.\n"
    yield "| setting | default | unit | reason | without it |"
    yield "|---|---|---|---|---|"
    for each in SETTINGS:
        yield _row(f"`{each.name}`", str(getattr(usual, each.name)), each.unit, each.reason, each.threat)
    yield ""


def _engine() -> Iterator[str]:
    yield "## What the engine is asked for\n"
    yield "| key | value | reason |"
    yield "|---|---|---|"
    for each in ENGINE_LINES:
        yield _row(f"`{each.key.lstrip('/')}`", f"`{each.value}`", each.reason)
    yield ""


def _calls() -> Iterator[str]:
    yield "## System calls\n"
    yield "What no line names is refused. `start`, `connect`, `zygote` and `engine` are gone when a snippet runs.\n"
    yield "| calls | stage | who needs them |"
    yield "|---|---|---|"
    for rule in RULES:
        yield _row(f"`{rule.names}`", rule.stage.value, rule.reason)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(isolation_page())
