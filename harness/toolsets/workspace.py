"""The workspace toolset: read and edit the files of one folder, run its tests in a box, say what was changed.

A host file names an object of it: `python: tools.py:workspace`, with `workspace = Workspace("repo", write=["retry"])`.
"""

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from harness.core.canonical import digest
from harness.registry.decorator import key, no_effect, tool
from harness.toolsets.folder import Folder, NoSuchFile, PathRefused, normal
from harness.toolsets.patch import BadPatch, apply_patch
from harness.toolsets.suite_box import BoxMissing, environment, run_suite

__all__ = ["Change", "Edit", "File", "OperationReused", "OutsideWriteSet", "StaleDigest", "TestRun", "Workspace"]

TEST_SECONDS = 60.0


class OutsideWriteSet(ValueError):
    """The path is none that may be written."""


class StaleDigest(ValueError):
    """The file is no longer the one that was read."""


class OperationReused(ValueError):
    """The id named another operation before."""


class File(TypedDict):
    """A file as it stands."""

    path: str
    text: str
    digest: str


class Edit(TypedDict):
    """The receipt of an edit."""

    operation_id: str
    paths: list[str]
    digest: str
    tree: str


class TestRun(TypedDict):
    """What a run of tests came to; `tree` is the digest of what was tested."""

    command: str
    directory: str
    environment: str
    tree: str
    status: str
    exit_code: int
    collected: int
    passed: int
    failed: int
    tests: list[str]
    output: str


class Change(TypedDict):
    """What differs from the folder as it was when the host started."""

    paths: list[str]
    added: list[str]
    removed: list[str]
    tree: str


class Workspace:
    """One folder and its write set. Edits of one folder go one at a time."""

    def __init__(self, folder: Path | str, write: Sequence[str]) -> None:
        """`write` are paths below `folder`, files or folders, that may be edited; nothing else may."""
        self._folder = Folder(Path(folder))
        self._write = tuple(normal(path.rstrip("/")) for path in write)
        self._lock = threading.Lock()
        self._operations: dict[str, tuple[str, Edit]] = {}
        self._start = self._folder.digests()

    @tool(effect="read", errors={NoSuchFile: no_effect(), PathRefused: no_effect()})
    def list_files(self) -> list[str]:
        """List the files of the workspace."""
        return list(self._folder.digests())

    @tool(
        effect="read",
        scope=("path",),
        errors={NoSuchFile: no_effect(hint="see list_files"), PathRefused: no_effect()},
    )
    def read_file(self, path: str) -> File:
        """Read a file; its digest is what an edit must name.

        Args:
            path: Relative to the workspace.
        """
        data = self._folder.read(path)
        return File(path=path, text=data.decode("utf-8"), digest=hashlib.sha256(data).hexdigest())

    @tool(
        effect="write",
        idempotency=key("operation_id"),
        scope=("path",),
        errors={
            OutsideWriteSet: no_effect(hint="edit files of the write set only"),
            PathRefused: no_effect(hint="write the path in its shortest form, without links"),
            NoSuchFile: no_effect(hint="see list_files"),
            StaleDigest: no_effect(hint="read the file again, and make the patch from what it says now"),
            BadPatch: no_effect(hint="pass a unified diff of this one file, with exact line numbers and context"),
            OperationReused: no_effect(hint="give each operation an id of its own"),
        },
        preview="edit {path}: {patch}",
    )
    def edit_file(self, path: str, prior_digest: str, patch: str, operation_id: str) -> Edit:
        """Change a file, whole or not at all.

        Args:
            path: Relative to the workspace, inside the write set.
            prior_digest: Digest of the file that the patch was made from; empty to make a new file.
            patch: Unified diff of this one file.
            operation_id: Your own name for this edit; the same edit under the same id happens once.
        """
        content = digest([path, prior_digest, patch])
        with self._lock:
            known = self._operations.get(operation_id)
            if known is not None:
                if known[0] != content:
                    raise OperationReused(f"`{operation_id[:80]}` named another edit before")
                return known[1]
            self._check_write(path)
            text = self._text_of(path, prior_digest)
            changed = apply_patch(text, patch).encode("utf-8")
            self._folder.replace(path, changed)
            receipt = Edit(
                operation_id=operation_id,
                paths=[path],
                digest=hashlib.sha256(changed).hexdigest(),
                tree=digest(self._folder.digests()),
            )
            self._operations[operation_id] = (content, receipt)
            return receipt

    @tool(
        effect="read",
        timeout_s=TEST_SECONDS + 5,
        errors={BoxMissing: no_effect(hint="install bubblewrap"), PathRefused: no_effect()},
    )
    def run_tests(self, tests: list[str]) -> TestRun:
        """Run tests over a copy of the workspace, in a box without network.

        Args:
            tests: Paths, or `path::test`; none runs all.
        """
        with self._lock:
            files = self._folder.files()
        tree = digest({path: hashlib.sha256(data).hexdigest() for path, data in files.items()})
        ran = run_suite(files, tests, TEST_SECONDS)
        return TestRun(
            command=ran.command,
            directory=self._folder.path.name,
            environment=environment(),
            tree=tree,
            status=ran.status,
            exit_code=ran.exit_code,
            collected=ran.collected,
            passed=ran.passed,
            failed=ran.failed,
            tests=ran.tests,
            output=ran.output,
        )

    @tool(effect="read", errors={PathRefused: no_effect()})
    def changes(self) -> Change:
        """What differs from the workspace as it was when the host started."""
        now = self._folder.digests()
        paths = [path for path in sorted({*now, *self._start}) if now.get(path) != self._start.get(path)]
        return Change(
            paths=paths,
            added=[path for path in paths if path not in self._start],
            removed=[path for path in paths if path not in now],
            tree=digest(now),
        )

    def _check_write(self, path: str) -> None:
        parts = normal(path)
        if not any(parts[: len(allowed)] == allowed for allowed in self._write):
            raise OutsideWriteSet(f"`{path[:100]}` may not be written")

    def _text_of(self, path: str, prior: str) -> str:
        try:
            data = self._folder.read(path)
        except NoSuchFile:
            if prior:
                raise
            return ""
        if hashlib.sha256(data).hexdigest() != prior:
            raise StaleDigest(f"`{path}` has changed since it was read")
        return data.decode("utf-8")
