"""The `file:` destination: whole or not at all, once per run, never through a link, never over what exists."""

import asyncio
import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.core.clock import SystemClock
from harness.output.deliver import Deliverer, Delivery, DeliveryStatus


@dataclass(frozen=True)
class To:
    """A destination of a contract."""

    url: str
    format: str = "json"


class Clock(SystemClock):
    """Stands still."""

    def now(self) -> float:
        return 1_700_000_000.0


def deliver(folder: Path, url: str, result: object, form: str = "json", *, again: bool = False) -> Delivery:
    """One delivery of run `r1`."""
    return asyncio.run(Deliverer(folder, Clock()).deliver("r1", To(url, form), result, again=again))


def tree(folder: Path) -> list[str]:
    """Every file and folder below, by name: nothing may be left over."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_json_result_is_one_document(tmp_path):
    """The file holds the result, folders are made, and the delivery says where it lies and what it holds."""
    delivery = deliver(tmp_path, "file:results/deep/r1.json", {"name": "é", "n": 1})
    where = tmp_path / "results/deep/r1.json"
    assert where.read_bytes() == '{\n  "name": "é",\n  "n": 1\n}\n'.encode()
    assert delivery.to_json() == {
        "to": "file:results/deep/r1.json",
        "status": "delivered",
        "at": "2023-11-14T22:13:20.000000Z",
        "where": str(where),
        "bytes": 29,
        "digest": hashlib.sha256(where.read_bytes()).hexdigest(),
    }
    assert tree(tmp_path) == ["results", "results/deep", "results/deep/r1.json"]
    assert where.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("result", "text"),
    [([{"a": 1}, {"a": 2}], '{"a":1}\n{"a":2}\n'), ({"a": 1}, '{"a":1}\n'), ([], "")],
    ids=["rows", "one", "none"],
)
def test_a_jsonl_result_is_one_line_an_item(tmp_path, result, text):
    """A list becomes its items, anything else one line."""
    assert deliver(tmp_path, "file:r1.jsonl", result, "jsonl").status is DeliveryStatus.DELIVERED
    assert (tmp_path / "r1.jsonl").read_text() == text


def test_a_large_result_is_written_whole(tmp_path):
    """In several pieces, where need be; the bytes are the same."""
    result = ["x" * 1000] * 200
    assert deliver(tmp_path, "file:r1.json", result).status is DeliveryStatus.DELIVERED
    assert json.loads((tmp_path / "r1.json").read_text()) == result


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("file:../r1.json", "leads out of the folder by `..`"),
        ("file:results/../../r1.json", "leads out of the folder by `..`"),
        ("file:/tmp/r1.json", "is an absolute path"),
        ("file:///tmp/r1.json", "is an absolute path"),
        ("file:", "names no file"),
        ("file:results/", "names no file"),
        ("file:.", "names no file"),
        ("file:a\nb", "holds characters that do not print"),
        ("file:a\x00b", "holds characters that do not print"),
        ("file:" + "x" * 256, "has a part of more than 255 bytes"),
        ("s3://bucket/x", "destinations of the kind `s3` are not available yet"),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path, url, sentence):
    """Nothing outside the folder is ever named, and nothing is written."""
    delivery = deliver(tmp_path, url, 1)
    assert delivery.status is DeliveryStatus.FAILED
    assert sentence in delivery.detail
    assert "\n" not in delivery.detail
    assert tree(tmp_path) == []


@pytest.mark.parametrize("name", ["a;touch pwned;.json", "$(id).json", "`id`.json", "a b'\".json", "-rf", "%2e%2e"])
def test_a_name_is_a_name(tmp_path, name):
    """A21: what looks like a command, an option or an escape is a literal file name."""
    assert deliver(tmp_path, f"file:{name}", 1).status is DeliveryStatus.DELIVERED
    assert tree(tmp_path) == [name]


def test_a_file_that_exists_is_left_alone(tmp_path):
    """Once per run: an existing name is refused, whatever it holds."""
    (tmp_path / "r1.json").write_text("mine")
    delivery = deliver(tmp_path, "file:r1.json", 1)
    assert (delivery.status, delivery.detail) == (DeliveryStatus.FAILED, f"`{tmp_path}/r1.json` exists")
    assert delivery.hint == "put `${run.id}` into the name, or move the file away"
    assert (tmp_path / "r1.json").read_text() == "mine"
    assert tree(tmp_path) == ["r1.json"]


def test_a_retry_of_the_run_finds_its_own_file(tmp_path):
    """F10: a host that died after the write and before the record does not deliver twice."""
    deliver(tmp_path, "file:r1.json", {"a": 1})
    before = (tmp_path / "r1.json").stat().st_ino
    assert deliver(tmp_path, "file:r1.json", {"a": 1}, again=True).status is DeliveryStatus.DELIVERED
    assert (tmp_path / "r1.json").stat().st_ino == before
    assert deliver(tmp_path, "file:r1.json", {"a": 2}, again=True).detail == f"`{tmp_path}/r1.json` exists"


def test_a_dead_draft_is_swept(tmp_path):
    """A draft that a killed host left does not stop the next attempt, and is gone afterwards."""
    deliver(tmp_path, "file:r1.json", 1)
    os.unlink(tmp_path / "r1.json")
    script = "import os, sys; from harness.output.destinations import file; file.os.link = lambda *a, **k: os._exit(9)"
    script += "; from pathlib import Path; file.write(Path(sys.argv[1]), 'file:r1.json', 'r1', b'half')"
    os.spawnl(os.P_WAIT, sys.executable, "python", "-c", script, str(tmp_path))
    assert [re.fullmatch(r"\.harness-[0-9a-f]{24}\.part", name) is not None for name in tree(tmp_path)] == [True]
    assert deliver(tmp_path, "file:r1.json", 1).status is DeliveryStatus.DELIVERED
    assert tree(tmp_path) == ["r1.json"]


@pytest.mark.parametrize("kind", ["directory", "link", "dangling", "fifo", "linked folder", "file as folder"])
def test_what_is_no_plain_new_file_is_refused_at_once(tmp_path, kind):
    """A24, A27: directories, links, pipes under the name: refused, not followed, not waited for."""
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "host"
    folder.mkdir()
    target, url, sentence = folder / "r1.json", "file:r1.json", ""
    if kind == "directory":
        target.mkdir()
        sentence = f"`{target}` is a directory"
    elif kind in ("link", "dangling"):
        victim = outside / "victim"
        if kind == "link":
            victim.write_text("host content")
        target.symlink_to(victim)
        sentence = f"`{target}` is a link, and links are not followed"
    elif kind == "fifo":
        os.mkfifo(target)
        sentence = f"`{target}` is not a regular file"
    elif kind == "linked folder":
        (folder / "results").symlink_to(outside)
        url, sentence = "file:results/r1.json", f"`{folder}/results/r1.json` leads through "
    else:
        (folder / "results").write_text("")
        url, sentence = "file:results/r1.json", f"`{folder}/results/r1.json` leads through something that is not a"
    before = tree(tmp_path)
    delivery = deliver(folder, url, 1)
    assert delivery.status is DeliveryStatus.FAILED
    assert delivery.detail.startswith(sentence)
    assert tree(tmp_path) == before
    assert Deliverer(folder, Clock()).why_not(To(url)).startswith(sentence)


def test_a_hard_link_elsewhere_is_not_written_through(tmp_path):
    """A28: a name that is a second link to another file exists, so it is refused and the other file is whole."""
    (tmp_path / "other").write_text("host content")
    os.link(tmp_path / "other", tmp_path / "r1.json")
    assert deliver(tmp_path, "file:r1.json", 1).status is DeliveryStatus.FAILED
    assert (tmp_path / "other").read_text() == "host content"


def test_a_read_only_folder_leaves_the_delivery_pending(short_tmp):
    """The result is kept: the sentence says what to mend, and a later attempt can work."""
    folder = Path(short_tmp) / "host"
    folder.mkdir()
    os.chmod(short_tmp, 0o711)
    os.chmod(folder, 0o555)
    assert _as_nobody(folder) == ["pending", f"`{folder}/r1.json` cannot be written: permission denied"]


def test_a_missing_folder_is_made(tmp_path):
    """The folder of the host file need not hold the results folder yet."""
    assert deliver(tmp_path / "new", "file:r1.json", 1).status is DeliveryStatus.DELIVERED


def test_nothing_is_promised_that_cannot_be_kept(tmp_path):
    """`why_not` is empty where a delivery would work, and changes nothing."""
    deliverer = Deliverer(tmp_path, Clock())
    assert deliverer.why_not(To("file:results/r1.json")) == ""
    assert deliverer.why_not(To("file:r1.json", "parquet")) == (
        "the format `parquet` is not available yet (use json or jsonl)"
    )
    assert tree(tmp_path) == []


@pytest.mark.parametrize("result", [float("nan"), float("inf"), {"a": object()}, "\ud800"])
def test_what_is_no_json_is_not_written(tmp_path, result):
    """C11, C12: a value that slipped through every other check is refused here too."""
    assert deliver(tmp_path, "file:r1.json", result).status is DeliveryStatus.FAILED
    assert tree(tmp_path) == []


def _as_nobody(folder: Path) -> list[str]:
    """Deliver in a child that root's power over permissions does not help."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            delivery = deliver(folder, "file:r1.json", 1)
            os.write(write, json.dumps([delivery.status.value, delivery.detail]).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    found: list[str] = json.loads(text)
    return found
