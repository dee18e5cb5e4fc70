"""The kernel's own account of another process, or of one and all that it has started."""

import os
import resource
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
STOLEN = 7  # of the times that /proc/stat has of all processors: those that the host gave away
COUNTED = 8  # of these times; the rest is counted in them already


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used so far."""
    user, system = _fields(pid)[11:13]
    return (int(user) + int(system)) / TICK


class Theft:
    """Tells which share of the processors the machine's host has given to others, from now on."""

    def __init__(self) -> None:
        self._before = _times()

    def share(self) -> float:
        passed = [now - before for now, before in zip(_times(), self._before, strict=True)]
        return passed[STOLEN] / max(1, sum(passed))


def has_ended(pid: int) -> bool:
    """Tell whether a child of ours is only waited for any more."""
    return _fields(pid)[0] == "Z"


def family(pid: int) -> Iterator[int]:
    """Yield a process, and those that it has started, and so on; those that live."""
    children = defaultdict(list)
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                children[int(_fields(int(path.name))[1])].append(int(path.name))
            except FileNotFoundError:
                continue  # it has ended since it was listed
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += children[one]


def allow_files(wanted: int) -> int:
    """Let this process, and those that it starts, have so many open files, or as many as may be.

    Return how many that are: only some may have more than they were given.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= wanted:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return hard
    return wanted


def _times() -> list[int]:
    """Return the ticks of all processors together, by what they were used for."""
    first, _, _ = Path("/proc/stat").read_text().partition("\n")
    return [int(ticks) for ticks in first.split()[1 : 1 + COUNTED]]


def _fields(pid: int) -> list[str]:
    """Return what proc(5) counts from the third field on; the second may contain spaces."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
