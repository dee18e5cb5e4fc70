"""How long one change in the target takes to be a change of its mirror.

Both sides work at the same time and take turns: a mirror has the exported Services, the floor has
twins that are not exported. The clock runs from sending the change to seeing it in the source, for
both by the same eyes.
"""

import asyncio
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import uuid4

import aiohttp
import msgspec

from bench import peers
from bench.mirroring.clusters import TWIN, TWINS, Server, server, twin
from bench.mirroring.floor import FOLLOWING, REVISION, Job
from bench.requests import send, session
from bench.trial import Failed
from bench.watching import ADDED, Event, watch
from isthmus.model.objects import Key
from lab.controlplane import ControlPlane
from lab.process import Process, Supervisor

PATIENCE = 60.0  # seconds for one change
LONGEST_PAUSE = 0.1  # seconds between two changes, so that they fall at any moment
EXPORT = re.compile(r"payments-\d+")  # in whatever the name of its mirror is


class Expected(NamedTuple):
    revision: str
    moment: asyncio.Future[float]


class Observer:
    """Sees what happens in the source, the moment a watch shows it."""

    def __init__(self) -> None:
        self.mirrored: list[Key] = []
        self._awaited: dict[str, asyncio.Future[float]] = {}
        self._grown = asyncio.Event()

    def expect(self) -> Expected:
        """Return a revision that no cluster has ever seen, and when it will be seen."""
        expected = Expected(str(uuid4()), asyncio.Future())
        self._awaited[expected.revision] = expected.moment
        return expected

    async def until(self, mirrors: int) -> None:
        """Wait until there are so many mirrors."""
        while len(self.mirrored) < mirrors:
            self._grown.clear()
            await self._grown.wait()

    async def watch(self, opened: aiohttp.ClientSession) -> None:
        async for event in watch(opened, "app.kubernetes.io/part-of=payments"):
            self._see(event)

    def _see(self, event: Event) -> None:
        found = event.object.metadata
        exported = EXPORT.search(found.name)
        if event.type == ADDED and exported and TWIN not in found.labels:
            self.mirrored.append(Key(found.namespace, exported[0]))
            self._grown.set()
        awaited = self._awaited.pop(found.annotations.get(REVISION, ""), None)
        if awaited is not None:
            awaited.set_result(time.perf_counter())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """When changes are made: from so many mirrors on, until there are so many."""

    begin: int
    end: float
    samples: int  # of each side, at most
    pause: float = LONGEST_PAUSE


class Samples(NamedTuple):
    """Seconds, of a mirror and of the floor beside it."""

    mirror: tuple[float, ...] = ()
    floor: tuple[float, ...] = ()

    def plus(self, other: "Samples") -> "Samples":
        return Samples(self.mirror + other.mirror, self.floor + other.floor)


async def changes(west: Server, east: Server, stretch: Stretch) -> Samples:
    """Change Services of the target, one after another, and see each mirror change."""
    observer = Observer()
    random = Random(1)
    found: dict[bool, list[float]] = {False: [], True: []}
    async with session(west) as there, session(east) as here, asyncio.TaskGroup() as group:
        watching = group.create_task(observer.watch(here))
        try:
            async with asyncio.timeout(PATIENCE):
                await observer.until(stretch.begin)
        except TimeoutError:
            raise Failed(f"{len(observer.mirrored)} of {stretch.begin} mirrors are seen") from None
        for number in range(2 * stretch.samples):
            if len(observer.mirrored) >= stretch.end:
                break
            is_ours = number % 2 == 0
            key = random.choice(observer.mirrored if is_ours else _twins())
            found[is_ours].append(await _change(there, key, observer.expect()))
            await asyncio.sleep(random.uniform(0, stretch.pause))
        watching.cancel()
    return Samples(tuple(found[True]), tuple(found[False]))


async def _change(there: aiohttp.ClientSession, key: Key, seen: Expected) -> float:
    path = f"/api/v1/namespaces/{key.namespace}/services/{key.name}"
    patch = {"metadata": {"annotations": {REVISION: seen.revision}}}
    began = time.perf_counter()
    await send(there, "PATCH", path, patch)
    try:
        async with asyncio.timeout(PATIENCE):
            return await seen.moment - began
    except TimeoutError:
        raise Failed(f"a change was not seen within {PATIENCE:.0f} s") from None


def _twins() -> list[Key]:
    return [
        Key(metadata["namespace"], metadata["name"])
        for metadata in (twin(number)["metadata"] for number in TWINS)
    ]


@contextmanager
def following(west: ControlPlane, east: ControlPlane, folder: Path) -> Iterator[None]:
    """Let the floor copy every change of a twin."""
    job = folder / "follow.json"
    job.touch(mode=0o600)
    job.write_bytes(msgspec.json.encode(Job(east=server(east), west=server(west))))
    log = folder / "floor.log"
    log.unlink(missing_ok=True)
    copier = Process(
        name="floor",
        argv=(
            *("/usr/bin/env", f"PYTHONPATH={peers.ROOT}", sys.executable),
            *("-m", "bench.mirroring.floor", "follow", str(job)),
        ),
        ready=lambda: FOLLOWING in log.read_text(),
    )
    supervisor = Supervisor(logs=folder)
    try:
        supervisor.start([copier])
        yield
    finally:
        supervisor.stop_all()
