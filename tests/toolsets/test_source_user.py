"""A server's process is somebody else than the host: it reads neither its store nor its keys and secrets."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ContractRefused
from harness.toolsets.errors import SourceUnavailable
from harness.toolsets.mcp_user import user_of
from tests.toolsets.making import HERE, Place

PYTHON = Path("/usr/bin/python3")
"""One that every user may start; the tests' own may lie in a home."""
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0 or not PYTHON.exists(), reason="only root can become another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A host's folder that others may enter, with a store, a key and a secret, as the harness makes them."""
    made = Path(tempfile.mkdtemp(prefix="source-user-"))
    made.chmod(0o755)
    (made / ".harness").mkdir(mode=0o700)
    for name in (".harness/journal.db", ".harness/seed.key", "api.key"):
        (made / name).write_text("private")
        (made / name).chmod(0o600)
    shutil.copy(HERE / "fake_server.py", made)
    yield made
    shutil.rmtree(made)


def spy(folder: Path, python: str, **more: Any) -> dict[str, Any]:
    """What a server of that host finds out."""
    command = [python, "-I", "-S", str(folder / "fake_server.py"), "spies"]
    said = {"mcp": {"name": "fake", "command": command, "start_seconds": 60, **more}}
    place = Place(folder, said, secrets={"api": {"file": "api.key"}})
    place.overlay("fake", remove={"preview": "remove it"})
    place.admit()
    [outcome] = place.call(("work", {}), timeout_s=60)
    found: dict[str, Any] = json.loads(str(outcome.value))
    return found


@ROOT_ONLY
def test_a_source_apart_reads_neither_store_nor_keys(folder: Path) -> None:
    """An id that owns nothing, no group of the host's; only what everybody may read is read."""
    found = spy(folder, str(PYTHON), user="apart")
    assert (len(found["ids"]), min(found["ids"]) >= 0x6000_0000, found["groups"]) == (1, True, [])
    assert not {"journal.db", "seed.key", "api.key"} & {*found["read"]}
    assert "fake_server.py" in found["read"]


@ROOT_ONLY
def test_a_source_as_an_account_is_that_account(folder: Path) -> None:
    """By name, with the account's own group and no other."""
    found = spy(folder, str(PYTHON), user="nobody")
    assert (0 in found["ids"], found["groups"]) == (False, [])
    assert not {"journal.db", "seed.key", "api.key"} & {*found["read"]}


@pytest.mark.bubblewrap
def test_a_box_of_a_source_shows_no_store_and_no_secret(folder: Path) -> None:
    """As the host's own user too, and where it may write everything else."""
    found = spy(folder, sys.executable, box={"write": ["."]})
    assert not {"journal.db", "seed.key", "api.key"} & {*found["read"]}
    assert "fake_server.py" in found["read"]


@pytest.mark.bubblewrap
def test_what_a_box_hides_below_its_working_folder_stays_hidden(folder: Path) -> None:
    """The working folder is shown without it."""
    (folder / "private").mkdir()
    (folder / "private" / "letters.txt").write_text("private")
    assert "letters.txt" not in spy(folder, sys.executable, box={"hide": ["private"]})["read"]


@ROOT_ONLY
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("root", "the account `root` is root, which reads everything"),
        ("no-such-account", "there is no account `no-such-account` here"),
    ],
)
def test_an_account_that_is_no_protection_is_refused(name: str, message: str) -> None:
    """Before anything starts."""
    with pytest.raises(SourceUnavailable) as refused:
        user_of(name)
    assert refused.value.message == message


def test_without_root_a_user_of_its_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not run as the host instead."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SourceUnavailable) as refused:
        user_of("apart")
    assert refused.value.message == "a source wants a user of its own, and only root can become another one"


def test_an_address_has_no_user(tmp_path: Path) -> None:
    """The host file is refused where it says what cannot hold."""
    with pytest.raises(ContractRefused) as refused:
        Place(tmp_path, {"mcp": {"name": "far", "url": "https://example.org/mcp", "user": "apart"}})
    assert "an address has no process to set up" in str(refused.value)
