"""Probes of limits that a box answers by itself, from inside: what is asked for without end must end early."""

import errno
import os
import threading
from typing import Any


def processes(box: Any) -> str:
    """Fork without end: the limit of processes is met, and shows as such."""
    most: int = box.facts["pids"]
    children: list[int] = []
    read, write = os.pipe()
    try:
        while len(children) <= most * 2:
            child = os.fork()
            if child == 0:
                os.close(write)
                os.read(read, 1)
                os._exit(0)
            children.append(child)
    except OSError as error:
        return "" if error.errno == errno.EAGAIN else f"the limit shows as {error}"
    finally:
        os.close(write)
        for child in children:
            os.waitpid(child, 0)
    return f"{len(children)} processes were started under a limit of {most}"


def threads(box: Any) -> str:
    """Start threads without end."""
    most: int = box.facts["pids"]
    started: list[threading.Thread] = []
    stop = threading.Event()
    try:
        while len(started) <= most * 2:
            thread = threading.Thread(target=stop.wait)
            thread.start()
            started.append(thread)
    except (RuntimeError, MemoryError):
        return ""
    finally:
        stop.set()
        for thread in started:
            thread.join()
    return f"{len(started)} threads were started under a limit of {most}"


def descriptors(box: Any) -> str:
    """Open descriptors without end."""
    kept: list[int] = []
    try:
        while len(kept) <= 4096:
            kept.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        return "" if error.errno in (errno.EMFILE, errno.ENFILE) else f"the limit shows as {error}"
    finally:
        for each in kept:
            os.close(each)
    return "4096 descriptors are open"


def disk(box: Any) -> str:
    """Fill the work folder with several files."""
    size, piece = box.facts["disk_mb"] << 20, bytes(1 << 20)
    names: list[str] = []
    written = 0
    try:
        while written <= size * 3 // 2:
            names.append(f"/tmp/fill-{len(names)}")
            with open(names[-1], "wb", buffering=0) as file:
                for _ in range(4):
                    written += file.write(piece)
    except OSError as error:
        return "" if error.errno in (errno.ENOSPC, errno.EFBIG) else f"the limit shows as {error}"
    finally:
        for name in names:
            os.unlink(name)
    return f"{written >> 20} MiB were written under a limit of {size >> 20}"


def sparse_files(box: Any) -> str:
    """Make a file that claims a terabyte."""
    try:
        with open("/tmp/sparse", "wb") as file:
            file.truncate(1 << 40)
        return "a file of 1 TiB stands there"
    except OSError as error:
        return "" if error.errno in (errno.EFBIG, errno.ENOSPC) else f"the limit shows as {error}"
    finally:
        os.unlink("/tmp/sparse")


def priorities(box: Any) -> str:
    """Go before other processes of the machine."""
    try:
        os.nice(-1)
    except OSError:
        return ""
    return "the priority was raised"


def locked_memory(box: Any) -> str:
    """Lock memory, which no swap can move."""
    return str(box.refused("mlock", 0, 4096))


def timers(box: Any) -> str:
    """Make kernel timers and watches, which no limit counts."""
    return str(box.refused("timer_create", 0, 0, 0)) or str(box.refused("inotify_init1", 0))
