"""Plays one schedule: the same seed is the same play, to the last turn of the event loop."""

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from traceback import format_exception

from isthmus.kube import client
from isthmus.kube.exchange import Limits
from tests.sim import reflection
from tests.sim.acts import act
from tests.sim.ending import LONG_QUIET, QUIET, watch_it_end
from tests.sim.healing import heal
from tests.sim.layout import Layout, layout
from tests.sim.ledger import Ears
from tests.sim.loop import SimLoop
from tests.sim.places import build
from tests.sim.rotating import rotate, rotation_schedule
from tests.sim.scene import Scene
from tests.sim.steps import Step, schedule


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that a play is made from."""

    seed: str
    layout: Layout
    steps: tuple[Step, ...]
    quiet: float = QUIET
    kind: str = "whole"  # or "rotation", or "reflection"
    streaming: bool = False  # how a reflector is to read


@dataclass(slots=True)
class Outcome:
    """What came of it. ``wrong`` is empty if nothing was."""

    wrong: str = ""
    rule: str = ""
    injected: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    writes: int = 0
    seconds: float = 0.0  # of virtual time
    lines: list[str] = field(default_factory=list)


def story(seed: str) -> Story:
    """Make up a story."""
    random = Random(seed)
    chosen, made = random.random(), layout(random)
    if chosen < 0.04:
        return Story(seed, made, tuple(rotation_schedule(random)), kind="rotation")
    if chosen < 0.08:
        steps = [Step(kind, "", what, number) for kind, what, number in reflection.schedule(random)]
        streams = random.random() < 0.5
        return Story(seed, made, tuple(steps), kind="reflection", streaming=streams)
    quiet = LONG_QUIET if random.random() < 0.02 else QUIET
    return Story(seed, made, tuple(schedule(random, made)), quiet)


def play(told: Story, *, lines: bool = False) -> Outcome:
    """Act a story out, and see whether anything happens that must not, or does not that must."""
    build()
    outcome = Outcome()
    loop = SimLoop(Random(f"{told.seed} loop"))
    with (
        _no_garbage(),
        _pages_of(told.layout.page),
        asyncio.Runner(loop_factory=lambda: loop) as runner,
    ):
        try:
            match told.kind:
                case "rotation":
                    runner.run(_rotate(told, outcome, lines=lines))
                case "reflection":
                    runner.run(_reflect(told, outcome))
                case _:
                    runner.run(_play(told, loop, outcome, lines=lines))
        except* BaseException as group:  # noqa: BLE001  # whatever it is, its seed is named
            outcome.wrong = outcome.wrong or "".join(format_exception(group))
            outcome.rule = outcome.rule or "error"
    return outcome


async def _play(told: Story, loop: SimLoop, outcome: Outcome, *, lines: bool) -> None:
    scene = Scene(told.layout, told.seed, loop)
    scene.ledger.lines = outcome.lines if lines else None
    ears = Ears(scene.ledger)
    try:
        with _listening(ears):
            for step in told.steps:
                await act(scene, step)
                if scene.ledger.crimes:
                    break
            else:
                await heal(scene)
                await watch_it_end(scene, quiet=told.quiet)
            await _close(scene)
    finally:
        outcome.injected, outcome.pairs = scene.injected, scene.pairs
        outcome.writes = scene.ledger.writes.total()
        outcome.seconds = loop.time()
        if scene.ledger.crimes:
            first = scene.ledger.crimes[0]
            outcome.rule, outcome.wrong = first.rule, str(first)


async def _rotate(told: Story, outcome: Outcome, *, lines: bool) -> None:
    now = asyncio.get_running_loop().time

    def say(line: str) -> None:
        if lines:
            outcome.lines.append(f"{now():9.3f}  {line}")

    def happens(fault: str) -> None:
        outcome.injected[f"rotation: {fault}"] += 1

    outcome.rule = "I9"  # whatever is raised: the watch over strangers is all that raises here
    outcome.wrong = await rotate(told.steps, told.seed, say, happens)
    outcome.rule = "L1" if outcome.wrong else ""
    outcome.seconds = now()


async def _reflect(told: Story, outcome: Outcome) -> None:
    steps = [(step.kind, step.what, int(step.number)) for step in told.steps]

    def happens(fault: str) -> None:
        outcome.injected[f"reflection: {fault}"] += 1

    outcome.rule = "L1"
    seed = Random(told.seed).randint(0, 999)
    await reflection.play(steps, seed=seed, streaming=told.streaming, happens=happens)
    outcome.rule = ""
    outcome.seconds = asyncio.get_running_loop().time()


async def _close(scene: Scene) -> None:
    for slot in scene.slots.values():
        slot.wants_to_run = False
    tasks = [slot.replica.task for slot in scene.slots.values() if slot.replica is not None]
    for slot in scene.slots.values():
        scene.kill(slot)
    tasks += list(scene.late)
    for task in scene.late:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """When garbage is collected is nothing that a seed decides."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect(0)


@contextmanager
def _pages_of(size: int) -> Iterator[None]:
    """Let clients ask for so many objects at once: small worlds have no second page else."""
    before = vars(client)["Limits"]
    vars(client)["Limits"] = partial(Limits, page=size)
    try:
        yield
    finally:
        vars(client)["Limits"] = before


@contextmanager
def _listening(ears: Ears) -> Iterator[None]:
    log = logging.getLogger("isthmus")
    before = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(ears)
    try:
        yield
    finally:
        log.removeHandler(ears)
        log.setLevel(before[0])
        log.propagate = before[1]
