"""Reads what a process has cost so far: time, processor time and memory of itself alone."""

import gc
import time
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One consumer's cost of one list; times in seconds, memory in MB."""

    wall: float
    cpu: float
    base: float  # resident before the list, with everything imported
    peak: float
    kept: float  # resident after it, with all objects alive
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """One consumer's cost of a replayed watch, from its first event to its last."""

    wall: float
    cpu: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What a fresh process pays before it does anything."""

    wall: float
    resident: float


def memory(field: str, process: int | str = "self") -> float:
    """Return ``VmRSS`` or ``VmHWM`` of a process in MB.

    The kernel keeps both for the program now running. ``getrusage`` does not: the peak it
    reports begins with that of the parent process.
    """
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) / 1000
    raise LookupError(field)


def metered(listing: Callable[[], Sequence[Sized]]) -> Listing:
    """Run ``listing``; what it returns stays alive until the memory has been read."""
    base = memory("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    found = listing()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    gc.collect()
    return Listing(
        wall=wall,
        cpu=cpu,
        base=base,
        peak=memory("VmHWM"),
        kept=memory("VmRSS"),
        count=sum(len(objects) for objects in found),
    )


class Counter:
    """Called for every event; the clock runs from the first to the last.

    Connecting is left out: it costs everyone the same and would drown so short a stretch.
    """

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._count = 0
        self._wall = self._cpu = 0.0

    def __call__(self) -> bool:
        """Note one event; tell whether it was the last."""
        self._count += 1
        if self._count == 1:
            self._wall, self._cpu = time.perf_counter(), time.process_time()
        elif self._count == self._expected:
            self._wall = time.perf_counter() - self._wall
            self._cpu = time.process_time() - self._cpu
            return True
        return False

    def watching(self) -> Watching:
        return Watching(wall=self._wall, cpu=self._cpu, count=self._count - 1)
