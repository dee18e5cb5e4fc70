"""Looks for the first schedule that shows a bug which was built in."""

from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass

from tests.sim.running import Failure, Sum, batch, prepare

SOME = 5  # schedules that a process plays before it reports


@dataclass(frozen=True, slots=True)
class Found:
    """How many schedules it took; ``failure`` is None if none of them showed the bug."""

    played: int
    failure: Failure | None


def seek(bug: str, limit: int, workers: int, first: int = 0) -> Found:
    """Play schedules with ``bug`` built in until one goes wrong."""
    batches = iter(range(first, first + limit, SOME))
    waiting: dict[Future[Sum], int] = {}
    with ProcessPoolExecutor(workers, initializer=prepare) as pool:
        done: dict[int, Sum] = {}
        while True:
            while len(waiting) < workers and (at := next(batches, None)) is not None:
                seeds = range(at, min(at + SOME, first + limit))
                waiting[pool.submit(batch, seeds, bug)] = at
            if not waiting:
                return Found(limit, None)
            for one in wait(waiting, return_when=FIRST_COMPLETED).done:
                done[waiting.pop(one)] = one.result()
            caught = [at for at, found in done.items() if found.failures]
            if caught and all(at > min(caught) for at in waiting.values()):
                # Everything before it has been played: this is the first, whoever was quicker.
                at = min(caught)
                return Found(at - first + done[at].played, done[at].failures[0])
