"""The floor: the same writes from a bare client, with nothing decided and nothing recovered.

``python -m bench.mirroring.floor write JOB`` creates objects as fast as it can and says what
that has cost; ``… read JOB`` does so for reading and holding all of both clusters; ``… follow JOB``
copies every change of a Service in the target, for ever.
"""

import asyncio
import gc
import sys
import time
from pathlib import Path
from typing import Generic, TypeVar

import aiohttp
import msgspec

from bench.meter import memory
from bench.mirroring.clusters import TWIN, Server, twin
from bench.population import namespace
from bench.requests import session, spread
from bench.target import ENDPOINT_SLICES, SERVICES
from bench.watching import Metadata, watch
from isthmus.model.objects import EndpointSlice, Service

T = TypeVar("T")

FOLLOWING = "following"
REVISION = "example.com/revision"
JSON = {"Content-Type": "application/json"}


class Post(msgspec.Struct, frozen=True):
    path: str
    body: bytes


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Where to write; and what, in an order that is kept within each group."""

    east: Server
    west: Server | None = None
    groups: tuple[tuple[Post, ...], ...] = ()


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from the first request to the last answer; memory in MB."""

    wall: float
    cpu: float
    peak: float = 0.0
    kept: float = 0.0


class _Listed(msgspec.Struct, Generic[T], frozen=True):
    items: tuple[T, ...]


async def write(job: Job) -> Cost:
    """Create everything; the clock runs from the first request to the last answer."""
    async with session(job.east) as opened:

        async def create(group: tuple[Post, ...]) -> None:
            for one in group:
                async with opened.post(one.path, data=one.body, headers=JSON) as answer:
                    answer.raise_for_status()
                    await answer.read()

        wall, cpu = time.perf_counter(), time.process_time()
        await spread(job.groups, create)
        return Cost(
            wall=time.perf_counter() - wall,
            cpu=time.process_time() - cpu,
            peak=memory("VmHWM"),
        )


async def read(job: Job) -> Cost:
    """List what a mirror has to know, Services and slices of both clusters, and keep it."""
    held: list[object] = []
    wall, cpu = time.perf_counter(), time.process_time()
    for one in filter(None, (job.west, job.east)):
        async with session(one) as opened:
            for path, shape in ((SERVICES, Service), (ENDPOINT_SLICES, EndpointSlice)):
                decoder = msgspec.json.Decoder(_Listed[shape])  # type: ignore[valid-type]  # one of two
                async with opened.get(path) as answer:
                    answer.raise_for_status()
                    held.append(decoder.decode(await answer.read()))
    cost = Cost(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)
    gc.collect()
    return msgspec.structs.replace(cost, peak=memory("VmHWM"), kept=memory("VmRSS"))


async def follow(job: Job) -> None:
    """Write each change of a twin in the target to its twin in the source."""
    assert job.west is not None, "somebody has to be followed"
    async with session(job.west) as there, session(job.east) as here:
        async for event in watch(there, TWIN, lambda: print(FOLLOWING, flush=True)):
            if event.type == "MODIFIED":
                await _copy(here, event.object.metadata)


async def _copy(here: aiohttp.ClientSession, changed: Metadata) -> None:
    number = int(changed.name.rpartition("-")[2])
    body = twin(number)
    body["metadata"]["annotations"][REVISION] = changed.annotations[REVISION]
    path = f"/api/v1/namespaces/{namespace(number)}/services/{changed.name}"
    async with here.put(path, data=msgspec.json.encode(body), headers=JSON) as answer:
        answer.raise_for_status()
        await answer.read()


def main() -> None:
    task, path = sys.argv[1:]
    job = msgspec.json.decode(Path(path).read_bytes(), type=Job)
    if task == "follow":
        asyncio.run(follow(job))
    else:
        cost = asyncio.run(read(job) if task == "read" else write(job))
        print(msgspec.json.encode(cost).decode())


if __name__ == "__main__":
    main()
