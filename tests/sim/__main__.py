"""``make sim``: play many schedules of faults, on all cores, and show the first that fails.

A seed makes a schedule, and the same seed makes the same one again: ``--first SEED --seeds 1``.
"""

import argparse
import asyncio
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from random import Random
from traceback import format_exception
from types import FrameType

from tests.sim.reflection import FAULTS, Step, play, schedule
from tests.support.virtual import VirtualLoop


class Spinning(BaseException):
    """Virtual time stands still while the processor does not."""


BATCH = 20
LONGEST = 60  # seconds of real time: a schedule takes a fraction of one, unless something spins


@dataclass(frozen=True, slots=True)
class Failure:
    seed: int
    steps: list[Step]
    error: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many schedules (200)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    started = time.monotonic()
    failures: list[Failure] = []
    injected: Counter[str] = Counter()
    with ProcessPoolExecutor() as pool:
        batches = [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]
        for number, (found, seen) in enumerate(pool.map(_batch, batches), 1):
            failures += found
            injected += seen
            if number % 10 == 0 or number == len(batches):
                _say(f"{min(number * BATCH, len(seeds))} of {len(seeds)} schedules played")
    for failure in failures[:3]:
        _say(f"seed {failure.seed}: {failure.error}")
        for step in failure.steps:
            _say(f"    {step}")
    faults = ", ".join(f"{name} {count}" for name, count in sorted(injected.items()))
    _say(f"faults injected: {faults}")
    _say(f"in {time.monotonic() - started:.0f} s")
    _say(f"{len(seeds) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


def _batch(seeds: range) -> tuple[list[Failure], Counter[str]]:
    failures: list[Failure] = []
    injected: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        steps = schedule(random)
        injected.update(name for action, name, _ in steps if action == "fault" and name in FAULTS)
        error = _played(steps, seed, streaming=random.random() < 0.5)
        if error:
            failures.append(Failure(seed, _shortest(steps, seed), error))
    return failures, injected


def _played(steps: list[Step], seed: int, *, streaming: bool) -> str:
    """Play one schedule; return what was wrong in the end, or nothing."""
    wrong = ""
    signal.signal(signal.SIGALRM, _spinning)
    signal.alarm(LONGEST)
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        try:
            runner.run(play(steps, seed=seed, streaming=streaming))
        except* Spinning:
            wrong = f"not over after {LONGEST} s of real time: something spins"
        except* BaseException as group:  # noqa: BLE001  # whatever it is, its seed is named
            wrong = "".join(format_exception(group))
    signal.alarm(0)
    return wrong


def _spinning(_number: int, _frame: FrameType | None) -> None:
    raise Spinning


def _shortest(steps: list[Step], seed: int) -> list[Step]:
    """Leave out every step without which it still fails."""
    at = 0
    while at < len(steps):
        without = steps[:at] + steps[at + 1 :]
        if any(_played(without, seed, streaming=streaming) for streaming in (True, False)):
            steps = without
        else:
            at += 1
    return steps


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
