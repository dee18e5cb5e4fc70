"""Processors apart: one for whoever is measured, and the others for clusters and ourselves.

On one machine a mirror takes processor time from the API server that it waits for, which it does
nowhere else.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from bench.trial import Failed


@contextmanager
def one_left() -> Iterator[int]:
    """Keep all that is started meanwhile off one processor; yield which one that is."""
    everywhere = os.sched_getaffinity(0)
    if len(everywhere) == 1:
        raise Failed("there is a single processor: nobody can have one alone")
    left = max(everywhere)
    os.sched_setaffinity(0, everywhere - {left})
    try:
        yield left
    finally:
        os.sched_setaffinity(0, everywhere)


def move(pid: int, processor: int | None) -> None:
    """Let a process that was just started run on one processor; 0 is who asks."""
    if processor is not None:
        os.sched_setaffinity(pid, {processor})
