"""The installed wheel works outside the checkout: package data, the Dockerfile, the box's packages."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("harness", "sandbox_image", "tool_stubs", "pyproject.toml", "README.md", "Dockerfile.sandbox")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the source, so that nothing is left in the checkout."""
    source = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, source / part)
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(out), "."]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_carries_what_the_box_needs(wheel: Path) -> None:
    """The Dockerfile, the starter, the demo and the box's own packages travel in it."""
    names = set(ZipFile(wheel).namelist())
    wanted = {
        "harness/sandbox/Dockerfile.sandbox",
        "harness/front/starter/contract.yaml",
        "harness/front/starter/snippet.py",
        "harness/front/demo/contract.yaml",
        "sandbox_image/boot.py",
        "tool_stubs/runtime/stub.py",
    }
    assert wanted - names == set()


@pytest.mark.bubblewrap
def test_the_wheel_runs_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """`init`, then a run in a real box, from an installed copy in another folder."""
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    environment = {**os.environ, "PYTHONPATH": str(site)}

    def harness(*arguments: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "harness.front.cli.main", *arguments],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    where = [
        sys.executable,
        "-P",
        "-c",
        "import harness, sandbox_image; print(harness.__file__, sandbox_image.__file__)",
    ]
    found = subprocess.run(where, cwd=work, env=environment, capture_output=True, text=True, timeout=60).stdout.split()
    assert all(path.startswith(str(site)) for path in found)
    harness("init", ".")
    document = json.loads(harness("run", "contract.yaml", "snippet.py", "--json", "--backend", "bubblewrap"))
    assert (document["outcome"], document["result"]) == ("accepted", {"missing": ["pears"], "total": 52})
