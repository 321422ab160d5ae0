"""Files that a person names are read without waiting for anybody."""

import os
import threading
from pathlib import Path

import pytest

from harness.contract.load import load_contract
from harness.core.errors import ContractRefused
from harness.core.files import read_start


def test_a_pipe_without_a_writer_is_empty(tmp_path: Path) -> None:
    """A27: neither a contract nor anything else that is named waits for a writer."""
    pipe = tmp_path / "contract.yaml"
    os.mkfifo(pipe)
    assert read_start(pipe, 10) == b""
    with pytest.raises(ContractRefused):
        load_contract(pipe)


def test_a_pipe_with_its_writer_is_read_to_the_end() -> None:
    """The shell's `<(command)` is such a pipe, whose writer may be slow."""
    read, write = os.pipe()
    go = threading.Event()

    def slow() -> None:
        os.write(write, b"one ")
        go.wait()
        os.write(write, b"two")
        os.close(write)

    writer = threading.Thread(target=slow)
    writer.start()
    threading.Timer(0.05, go.set).start()
    try:
        assert read_start(f"/dev/fd/{read}", 100) == b"one two"
    finally:
        writer.join()
        os.close(read)


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    """The start of a long file; a folder is refused as ever."""
    (tmp_path / "long").write_bytes(b"x" * 100)
    assert read_start(tmp_path / "long", 7) == b"x" * 7
    with pytest.raises(IsADirectoryError):
        read_start(tmp_path, 7)
