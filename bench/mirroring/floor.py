"""The floor: the same writes from a bare client, with nothing decided and nothing recovered.

``python -m bench.mirroring.floor write JOB`` creates objects as fast as it can and says what
that has cost; ``… follow JOB`` copies every change of a Service in the target, for ever.
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import aiohttp
import msgspec

from bench.mirroring.clusters import TWIN, Server, twin
from bench.population import namespace
from bench.requests import session, spread
from bench.target import SERVICES

FOLLOWING = "following"
REVISION = "example.com/revision"
JSON = {"Content-Type": "application/json"}


class Post(msgspec.Struct, frozen=True):
    path: str
    body: bytes


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Where to write; and what, in an order that is kept within each group."""

    east: Server
    west: Server
    groups: tuple[tuple[Post, ...], ...] = ()


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    wall: float
    cpu: float


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    annotations: Mapping[str, str] = {}


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: _Object


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
        return Cost(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)


async def follow(job: Job) -> None:
    """Write each change of a twin in the target to its twin in the source."""
    decoder = msgspec.json.Decoder(_Event)
    query = {"watch": "1", "labelSelector": TWIN}
    forever = aiohttp.ClientTimeout(None)
    async with (
        session(job.west) as there,
        session(job.east) as here,
        there.get(SERVICES, params=query, timeout=forever) as answer,
    ):
        answer.raise_for_status()
        print(FOLLOWING, flush=True)
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for event in map(decoder.decode, lines):
                if event.type == "MODIFIED":
                    await _copy(here, event.object.metadata)


async def _copy(here: aiohttp.ClientSession, changed: _Metadata) -> None:
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
        print(msgspec.json.encode(asyncio.run(write(job))).decode())


if __name__ == "__main__":
    main()
