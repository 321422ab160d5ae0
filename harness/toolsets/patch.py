"""Unified diffs of one file: parsed and applied exactly, or refused; nothing is guessed, nothing is shifted."""

import re
from dataclasses import dataclass

__all__ = ["BadPatch", "apply_patch"]

MAX_PATCH_CHARS = 200_000
"""Larger than any change that a person would read as one."""

_HUNK = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@.*")


class BadPatch(ValueError):
    """The patch is malformed, or does not fit the text."""


@dataclass(frozen=True, slots=True)
class _Hunk:
    """One run of changed lines."""

    start: int
    """1-based line of the old text."""
    old: tuple[str, ...]
    new: tuple[str, ...]


def apply_patch(text: str, patch: str) -> str:
    """`text` after `patch`, a unified diff whose context and line numbers fit exactly. Raises BadPatch."""
    lines = text.splitlines(keepends=True)
    result: list[str] = []
    position = 0
    for hunk in _parse(patch):
        start = hunk.start - 1 if hunk.old else hunk.start
        if start < position:
            raise BadPatch(f"the hunk at line {hunk.start} stands before the end of the one above it")
        found = tuple(line.rstrip("\n") for line in lines[start : start + len(hunk.old)])
        if found != hunk.old:
            raise BadPatch(f"the lines from {hunk.start} on are not those of the patch: read the file again")
        result += lines[position:start]
        result += [f"{line}\n" for line in hunk.new]
        position = start + len(hunk.old)
    return "".join(result + lines[position:])


def _parse(patch: str) -> list[_Hunk]:
    if len(patch) > MAX_PATCH_CHARS:
        raise BadPatch(f"the patch has more than {MAX_PATCH_CHARS} characters")
    lines = patch.splitlines()
    while lines and not lines[0].startswith("@@"):
        head = lines.pop(0)
        if head and not head.startswith(("--- ", "+++ ", "diff ", "index ")):
            raise BadPatch(f"`{head[:80]}` is no line of a unified diff")
    hunks: list[_Hunk] = []
    while lines:
        hunks.append(_hunk(lines))
    if not hunks:
        raise BadPatch("the patch has no hunk: it begins with `@@ -LINE,COUNT +LINE,COUNT @@`")
    return hunks


def _hunk(lines: list[str]) -> _Hunk:
    """Take one hunk from the front of `lines`."""
    head = lines.pop(0)
    hit = _HUNK.fullmatch(head)
    if hit is None:
        raise BadPatch(f"`{head[:80]}` is no head of a hunk")
    old: list[str] = []
    new: list[str] = []
    wanted = (int(hit[2] or 1), int(hit[4] or 1))
    while (len(old), len(new)) != wanted and lines:
        line = lines.pop(0)
        sign, rest = line[:1] or " ", line[1:]
        if sign not in " +-":
            raise BadPatch(f"`{line[:80]}` begins with none of ` `, `+`, `-`")
        if sign != "+":
            old.append(rest)
        if sign != "-":
            new.append(rest)
    if (len(old), len(new)) != wanted:
        raise BadPatch(f"the hunk `{head[:80]}` has {len(old)} old and {len(new)} new lines")
    return _Hunk(int(hit[1]), tuple(old), tuple(new))
