"""Cold starts: by the number of exports, of pods of one of them, and of links."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec.structs import replace

from bench import results
from bench.mirroring.clusters import export, export_pods, linked, target
from bench.mirroring.cold import Cold, Trial
from bench.mirroring.figures import Growing, Round, Size, Sync
from bench.mirroring.halves import Half, read, write
from bench.mirroring.plan import Plan, ground
from bench.mirroring.targets import targets
from bench.progress import Progress
from lab.versions import ETCD, KUBERNETES

EACH = 20  # exports of each of many targets

Filled: TypeAlias = Callable[[int, int], AbstractContextManager[Trial]]


def cold(plan: Plan) -> Growing:
    """Mirror so many exported Services from nothing."""
    with ground() as folder, target() as west:

        @contextmanager
        def filled(before: int, count: int) -> Iterator[Trial]:
            if count:
                asyncio.run(export(west, range(before, count)))
            yield Trial(targets=(linked(west),), mirrors=count, folder=folder)

        return _growing(plan, filled)


def pods(plan: Plan) -> Growing:
    """Mirror one headless Service with so many named pods from nothing."""
    with ground() as folder, target() as west:

        @contextmanager
        def filled(before: int, count: int) -> Iterator[Trial]:
            if count:
                asyncio.run(export_pods(west, range(before, count)))
            there = linked(west, has_pods=True)
            # Each pod has a mirror, and so has the Service itself, which names those of its pods.
            mirrors = count + bool(count)
            yield Trial(targets=(there,), mirrors=mirrors, folder=folder, pods=count)

        return _growing(plan, filled)


def links(plan: Plan) -> Growing:
    """Mirror the few Services of each of so many targets from nothing."""
    with ground() as folder:

        @contextmanager
        def filled(_: int, count: int) -> Iterator[Trial]:
            with targets(max(count, 1), EACH if count else 0) as found:
                yield Trial(targets=found, mirrors=EACH * count, folder=folder)

        return _growing(plan, filled)


def first_half(count: int) -> None:
    """Let the controller mirror so many exports; the floor follows when there is time for it."""
    with ground() as folder, target() as west:
        there = (linked(west),)
        empty = Cold(Trial(targets=there, mirrors=0, folder=folder)).ours()
        asyncio.run(export(west, range(count)))
        load = os.getloadavg()[0]
        side = Cold(Trial(targets=there, mirrors=count, folder=folder))
        ours = side.ours()
        write(count, Half(ours=ours, empty=empty, load=load, groups=side.groups))
    print(f"{count:,} took {ours.wall:.1f} s; kept until --side floor", file=sys.stderr)


def second_half(count: int) -> Growing:
    """Let the floor write what the controller has written in the first half."""
    half = read(count)
    with ground() as folder, target() as west:
        trial = Trial(targets=(linked(west),), mirrors=count, folder=folder)
        floor = Cold(trial, groups=half.groups).floor()
    rounds = (Round(ours=half.ours, floor=floor, load=half.load),)
    return Growing(sizes=(_size(trial, count, half.empty, rounds),))


def _growing(plan: Plan, filled: Filled) -> Growing:
    progress = Progress("cold starts", len(plan.sizes) + 1)
    with filled(0, 0) as trial:
        empty = Cold(trial).ours()
    progress.step("a controller with nothing to do")
    sizes: list[Size] = []
    for count in plan.sizes:
        with filled(sizes[-1].count if sizes else 0, count) as trial:
            side_by_side = Cold(trial, plan.peers)
            wanted = plan.rounds[count]
            size = _size(trial, count, empty, side_by_side.rounds(wanted))
            sizes.append(replace(size, wanted=wanted, missing=side_by_side.missing))
        progress.step(f"{count}")
    return Growing(sizes=tuple(sizes))


def _size(trial: Trial, count: int, empty: Sync, rounds: tuple[Round, ...]) -> Size:
    return Size(
        count=count,
        mirrors=trial.mirrors,
        date=datetime.now(UTC).date().isoformat(),
        machine=results.machine(KUBERNETES, ETCD),
        empty=empty,
        rounds=rounds,
    )
