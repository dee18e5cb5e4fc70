"""Plays many stories on all cores, and adds up what happened in them."""

import gc
import logging
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from isthmus.envoy.leash import end_with
from tests.sim import mutations
from tests.sim.places import build
from tests.sim.play import Outcome, Story, play, story

BATCH = 10
LONGEST = 120  # seconds of real time: a story takes a fraction of one, unless something spins


class TooLong(BaseException):
    """Real time is up."""


@dataclass(frozen=True, slots=True)
class Failure:
    seed: str
    rule: str
    wrong: str


@dataclass(slots=True)
class Sum:
    """What came of many plays."""

    played: int = 0
    failures: list[Failure] = field(default_factory=list)
    injected: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    writes: int = 0
    seconds: float = 0.0

    def add(self, other: "Sum") -> None:
        self.played += other.played
        self.failures += other.failures
        self.injected += other.injected
        self.pairs += other.pairs
        self.writes += other.writes
        self.seconds += other.seconds

    def count(self, seed: str, outcome: Outcome) -> None:
        self.played += 1
        self.injected += outcome.injected
        self.pairs += outcome.pairs
        self.writes += outcome.writes
        self.seconds += outcome.seconds
        if outcome.wrong:
            self.failures.append(Failure(seed, outcome.rule, outcome.wrong))


def batch(seeds: range, bug: str = "") -> Sum:
    """Play some seeds, with a bug built in if one is named; stop at the first that shows it.

    One that goes wrong without the bug as well does not show it.
    """
    found = Sum()
    for seed in seeds:
        told = story(str(seed))
        with mutations.built_in(bug):
            outcome = played(told)
        if bug and outcome.wrong and played(told).wrong:
            outcome = Outcome()
        found.count(str(seed), outcome)
        if bug and found.failures:
            break
    return found


def played(told: Story, *, lines: bool = False) -> Outcome:
    """Play a story, within reason."""
    with _deadline():
        try:
            return play(told, lines=lines)
        except TooLong:
            return Outcome(f"not over after {LONGEST} s of real time", "spins")


def many(seeds: range, workers: int) -> Iterator[Sum]:
    """Play all seeds, and yield sums as they come; whoever has heard enough just stops."""
    batches = [seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)]
    pool = ProcessPoolExecutor(workers, initializer=_begin, initargs=(os.getpid(),))
    try:
        yield from pool.map(batch, batches)
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """Be one of many processes: Ctrl-C is for the first of them, and none outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    prepare()


def prepare() -> None:
    """Get a process ready: clusters are built once, and what is imported is no garbage."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    logging.getLogger("isthmus").addHandler(logging.NullHandler())  # what ends late is not heard
    build()
    gc.collect()
    gc.freeze()


def with_fixed_hashes() -> None:
    """Sets of words are walked in an order that depends on a number of the process; the same seed
    is the same play only with the same number. So begin anew with it, unless that is done."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        arguments = [sys.executable, "-m", "tests.sim", *sys.argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, "PYTHONHASHSEED": "0"})


@contextmanager
def _deadline() -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
