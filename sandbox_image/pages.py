"""Pages of memory that a run writes to: learnt once from a rehearsal, made a slot's own while it waits for its run.

A fork shares every page until one side writes to it, and each first write costs 3 to 4 µs: of a short run's time in the
box that is three quarters. Standard library only.
"""

import array
import ctypes
import os
from collections.abc import Callable, Iterator

__all__ = ["learn", "own"]

PAGE = os.sysconf("SC_PAGE_SIZE")
ENTRY_BYTES = 8
"""Of /proc/self/pagemap, for each page."""
PRESENT, EXCLUSIVE = 1 << 63, 1 << 56
MADV_POPULATE_WRITE = 23
"""Linux 5.14; an older kernel refuses it, and the pages come one by one as they did."""
PIECE = 1 << 16

_libc = ctypes.CDLL(None, use_errno=True)
_ranges: list[tuple[int, int]] = []
"""Address and bytes; empty where nothing was learnt."""


def learn(rehearse: Callable[[], object]) -> None:
    """Let a fork rehearse, and keep which pages it wrote to. Call it with one thread, after the last warming up.

    Where it cannot be learnt, slots are what they are without.
    """
    idle = set(_written(_nothing))  # what a fork has to itself because the one that it came from writes on
    _ranges[:] = _joined([page for page in _written(rehearse) if page not in idle])


def own() -> None:
    """Make the learnt pages this process's own, before anybody waits for it."""
    for start, size in _ranges:
        if _libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), MADV_POPULATE_WRITE):
            return


def _nothing() -> None:
    """The rehearsal of a fork that does nothing."""


def _written(rehearse: Callable[[], object]) -> list[int]:
    """Addresses of the pages that a fork shares with nobody when it has rehearsed."""
    places = list(_writable())
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            rehearse()
            _tell(places, said)
        finally:
            os._exit(0)
    os.close(said)
    entries = array.array("Q")
    entries.frombytes(b"".join(_pieces(heard)))
    os.close(heard)
    os.waitpid(child, 0)
    addresses = (page for start, end in places for page in range(start, end, PAGE))
    own = PRESENT | EXCLUSIVE
    return [page for page, entry in zip(addresses, entries, strict=False) if entry & own == own]


def _writable() -> Iterator[tuple[int, int]]:
    """Start and end of all that this process can write to and shares with its forks until it does."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            place, rights = line.split(maxsplit=2)[:2]
            if rights == "rw-p":
                start, end = place.split("-")
                yield int(start, 16), int(end, 16)


def _tell(places: list[tuple[int, int]], said: int) -> None:
    """The kernel's word on each page, as it is: whoever looks at it here writes to pages of its own."""
    pagemap = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    for start, end in places:
        os.write(said, os.pread(pagemap, (end - start) // PAGE * ENTRY_BYTES, start // PAGE * ENTRY_BYTES))


def _joined(pages: list[int]) -> list[tuple[int, int]]:
    """Neighbours as one range."""
    ranges: list[tuple[int, int]] = []
    for page in pages:
        if ranges and sum(ranges[-1]) == page:
            ranges[-1] = (ranges[-1][0], ranges[-1][1] + PAGE)
        else:
            ranges.append((page, PAGE))
    return ranges


def _pieces(descriptor: int) -> Iterator[bytes]:
    while piece := os.read(descriptor, PIECE):
        yield piece
