"""A box for a test suite: a copy of a tree, pytest over it, no network, nothing of the host but its Python; what came.

It holds code that a model wrote. The suite runs in the same process as the code that it tests: that code could lie
about its tests, so what counts is also held by a look at what was changed.
"""

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

from harness.core.errors import EnvironmentUnavailable
from harness.toolsets.folder import normal
from harness.walls.bubblewrap import find_program

__all__ = ["BoxMissing", "Ran", "environment", "run_suite"]

SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache")
"""What a Python needs of the system, read-only."""
MEMORY_BYTES = 1 << 30
FILE_BYTES = 8 << 20
"""A report or an output that is larger is cut by the kernel."""
PROCESSES = 256
OUTPUT_CHARS = 4_000
"""Head and tail that are kept of what the suite printed: one page of each."""

_LIMITS = (
    "import os,resource as r,sys\n"
    f"r.setrlimit(r.RLIMIT_AS,({MEMORY_BYTES},)*2)\n"
    f"r.setrlimit(r.RLIMIT_FSIZE,({FILE_BYTES},)*2)\n"
    "r.setrlimit(r.RLIMIT_CORE,(0,0))\n"
    "r.setrlimit(r.RLIMIT_CPU,(int(sys.argv[1]),)*2)\n"
    "os.execv(sys.executable,[sys.executable,*sys.argv[2:]])\n"
)
"""Sets the limits inside, then becomes the suite."""


class BoxMissing(RuntimeError):
    """There is no bubblewrap, and nothing runs without walls."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a suite came to."""

    command: str
    status: str
    """`passed`, `failed`, `nothing_collected`, `timeout`, `broken`."""
    exit_code: int
    collected: int
    passed: int
    failed: int
    """Failures and errors."""
    tests: list[str]
    """`module::test` of each test that was executed."""
    output: str
    """Head and tail of what was printed."""


def environment() -> str:
    """Python, pytest and machine in which suites run here."""
    machine = f"{platform.system()} {platform.machine()}"
    try:
        pytest = f"pytest {metadata.version('pytest')}"
    except metadata.PackageNotFoundError:
        pytest = "no pytest"
    return f"python {platform.python_version()}, {pytest}, {machine}"


def run_suite(files: dict[str, bytes], tests: Sequence[str], timeout_s: float) -> Ran:
    """Run `tests` (paths, `path::test`; none: all) over a copy of `files`. Raises BoxMissing, PathRefused."""
    for test in tests:
        normal(test.partition("::")[0])
    with tempfile.TemporaryDirectory(prefix="harness-suite-") as folder:
        copy, report = Path(folder, "repo"), Path(folder, "report")
        report.mkdir()
        copy.mkdir()
        for path, data in files.items():
            target = copy / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        output = report / "output.txt"
        suite = ["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=/report/junit.xml", "--", *tests]
        code = _execute(_command(copy, report, suite, timeout_s), output, timeout_s)
        return _read(" ".join(["pytest", *tests]), code, report / "junit.xml", output)


def _command(copy: Path, report: Path, suite: Sequence[str], timeout_s: float) -> list[str]:
    prefixes = dict.fromkeys((*SYSTEM, *(os.path.abspath(path) for path in (sys.base_prefix, sys.prefix))))
    return [
        _program(),
        *("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "suite"),
        *("--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp"),
        *("--setenv", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1", "--setenv", "PYTHONHASHSEED", "0"),
        # the empty /tmp first: an environment that lies below it must not be hidden by it
        *("--dev", "/dev", "--size", str(FILE_BYTES * 8), "--tmpfs", "/tmp"),
        *(word for path in prefixes for word in ("--ro-bind-try", path, path)),
        *("--bind", str(copy), "/repo", "--bind", str(report), "/report", "--chdir", "/repo"),
        *("--", os.path.abspath(sys.executable), "-I", "-S", "-c", _LIMITS, str(int(timeout_s) + 1), *suite),
    ]


def _program() -> str:
    try:
        return str(find_program().path)
    except EnvironmentUnavailable as error:
        raise BoxMissing(f"{error.message}, and a suite does not run without walls") from error


def _execute(command: Sequence[str], output: Path, timeout_s: float) -> int | None:
    """The exit status; None where the time ran out. The whole tree ends with its first process."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env={}, cwd="/"
        )
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            process.kill()
            process.wait()


_NOTHING_COLLECTED = (4, 5)
"""pytest's statuses for a path or a test that is not there, and for no test at all."""


def _read(command: str, code: int | None, report: Path, output: Path) -> Ran:
    cases = _cases(report)
    failed = sum(bool(case.findall("failure") or case.findall("error")) for case in cases)
    skipped = sum(bool(case.findall("skipped")) for case in cases)
    if code is None:
        status = "timeout"
    elif not cases and code in (0, *_NOTHING_COLLECTED):
        status = "nothing_collected"
    elif code == 0 and not failed:
        status = "passed"
    else:
        status = "failed" if code == 1 and cases else "broken"
    return Ran(
        command=command,
        status=status,
        exit_code=-1 if code is None else code,
        collected=len(cases),
        passed=len(cases) - failed - skipped,
        failed=failed,
        tests=[f"{case.get('classname', '')}::{case.get('name', '')}" for case in cases],
        output=_bounded(output),
    )


def _cases(report: Path) -> list[ElementTree.Element]:
    try:
        if report.is_symlink() or report.stat().st_size > FILE_BYTES:
            return []
        return ElementTree.parse(report).getroot().findall(".//testcase")
    except (OSError, ElementTree.ParseError):
        return []


def _bounded(output: Path) -> str:
    text = output.read_bytes()[:FILE_BYTES].decode("utf-8", "replace")
    if len(text) <= 2 * OUTPUT_CHARS:
        return text
    return f"{text[:OUTPUT_CHARS]}\n[… {len(text) - 2 * OUTPUT_CHARS} characters cut …]\n{text[-OUTPUT_CHARS:]}"
