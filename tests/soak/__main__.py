"""``make soak``: a controller process on sockets and real time, while links come and go.

A source and its targets are embedded clusters in this process; the controller is a process of its
own, as users run it. In every round all links are ended and written anew, exports change and
connections break; then all has to be in its place again, and the controller's memory, tasks and
open files are measured. In the end a line is laid through each of them, and there must be no slope.
Where a slope could not have been seen the run is undecided, and fails as well (2; a leak is 1).
"""

import argparse
import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

from tests.soak.churn import Clusters, clusters
from tests.soak.measuring import Measured, Verdict, controller, judged, slopes, table
from tests.soak.slopes import TooFew
from tests.support.arguments import at_least_one, ended, positive

LEAST = 1000  # restarts of links
SPOKEN = 60.0  # seconds between two lines
ROUND = 120.0  # seconds within which a round must have settled


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=positive, default=120.0, help="how long (120)")
    parser.add_argument("--links", type=at_least_one, default=4, help="how many links at once (4)")
    parser.add_argument("--seed", type=int, default=1, help="of what changes when (1)")
    given = parser.parse_args()
    return asyncio.run(_soak(given.minutes * 60, given.links, Random(given.seed)))


async def _soak(seconds: float, links: int, random: Random) -> int:
    started = time.monotonic()
    measured: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="isthmus-soak-") as folder:
        async with AsyncExitStack() as stack:
            world = await stack.enter_async_context(clusters(links))
            process = await stack.enter_async_context(controller(world.kubeconfig, Path(folder)))
            await world.link()
            await world.settled(ROUND)
            restarts, spoken = 0, 0.0
            _say(f"{links} links to targets with {world.exports} exports each")
            while time.monotonic() - started < seconds:
                restarts += await _round(world, random)
                if process.has_ended:
                    _say(f"the controller has ended:\n{process.last_words()}")
                    return 1
                measured.append(await process.measure(restarts))
                if time.monotonic() - spoken > SPOKEN:
                    spoken = time.monotonic()
                    _say(f"{(spoken - started) / 60:5.1f} min: {measured[-1]}")
    return _judge(measured, time.monotonic() - started)


async def _round(world: Clusters, random: Random) -> int:
    """End all links and begin them anew, amid changes; return how many there were."""
    await world.unlink(ROUND)
    await world.change(random)
    await world.link()
    await world.change(random)
    await world.settled(ROUND)
    await world.forget()
    return world.links


def _judge(measured: list[Measured], seconds: float) -> int:
    restarts = measured[-1].restarts if measured else 0
    rounds = len(measured)
    _say(f"\n{restarts} restarts of links in {rounds} rounds and {seconds / 60:.0f} minutes")
    try:
        found = slopes(measured)
    except TooFew as error:
        _say(f"no verdict: {error}")
        return Verdict.UNDECIDED.value
    for line in table(found):
        _say(line)
    if restarts < LEAST:
        _say(f"no verdict: fewer than {LEAST} restarts, in which a process is still warming up")
        return Verdict.UNDECIDED.value
    verdict, reasons = judged(found)
    for line in reasons:
        _say(line)
    _say(verdict.name.lower().replace("_", " "))
    return verdict.value


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    ended(main)
