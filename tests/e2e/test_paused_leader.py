"""A leader that is stopped for longer than its lease, and woken up again, writes nothing more."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from isthmus.embedded.api.answers import Answer
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Serve
from isthmus.embedded.fronts.server import Served, serve
from isthmus.kube.client import Client
from isthmus.kube.transport import Request
from tests.apps.clusters import (
    LINKS,
    PLAIN_SECRETS,
    SERVICES,
    Place,
    exported,
    furnish,
    link,
    secret,
)
from tests.apps.test_real import free_port, page
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.sockets]

ISTHMUS = Path(sys.executable).with_name("isthmus")
MANY = 40
STARTING = 60.0  # seconds for two processes to start on a machine that has other things to do


@dataclass(frozen=True, slots=True)
class Replica:
    process: asyncio.subprocess.Process
    admin_port: int

    async def leads(self) -> bool:
        return "isthmus_leading 1.0" in await page(self.admin_port, "/metrics")


@asynccontextmanager
async def replica(east: Served, folder: Path, name: str) -> AsyncIterator[Replica]:
    kubeconfig, port = folder / f"{name}.yaml", free_port()
    kubeconfig.write_text(yaml.safe_dump(east.kubeconfig()))
    with (folder / f"{name}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            str(ISTHMUS),
            *("controller", "--kubeconfig", str(kubeconfig), "--cluster-name", "east"),
            *("--allow-loopback", "--admin-port", str(port), "--workers", "4"),
            stderr=log,
        )
    try:
        yield Replica(process, port)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class Writes:
    """Whatever is written to mirrors, as the API server sees it."""

    def __init__(self, east: Cluster) -> None:
        self.seen: list[str] = []
        east.faults.add(self._note, is_mirror_write)

    async def _note(self, request: Request, serve_: Serve) -> Answer:
        self.seen.append(f"{request.method} {request.path}")
        return await serve_(request)


def is_mirror_write(request: Request) -> bool:
    about = "/services" in request.path or "/endpointslices" in request.path
    return request.method != "GET" and about


async def the_leader(replicas: list[Replica]) -> Replica:
    async def leading() -> list[Replica]:
        return [one for one in replicas if await one.leads()]

    (found,) = await until(leading, lambda found: len(found) == 1, within=STARTING)
    return found


async def test_a_leader_that_was_stopped_for_longer_than_its_lease_ends_and_writes_nothing(
    tmp_path: Path,
) -> None:
    clusters = Cluster("east"), Cluster("west", service_range="10.97.0.0/16")
    async with AsyncExitStack() as stack:
        served = [await stack.enter_async_context(serve(one)) for one in clusters]
        places = [Place(one.name, Client(one.transport()), one) for one in clusters]
        east, west = places
        await furnish(east)
        replicas = [
            await stack.enter_async_context(replica(served[0], tmp_path, name))
            for name in ("first", "second")
        ]
        leader = await the_leader(replicas)
        (other,) = (one for one in replicas if one is not leader)

        # Writes are slow, so that it is stopped in the middle of many.
        slow = clusters[0].faults
        slow.add(effects.delayed(0.2), is_mirror_write)
        for number in range(MANY):
            await west.create(SERVICES, exported(f"web-{number}"))
        raw = yaml.safe_dump(served[1].kubeconfig()).encode()
        await east.create(PLAIN_SECRETS, secret("west", raw))
        await east.create(LINKS, link("west"))
        await until(east.mirrors, lambda found: 5 <= len(found) < MANY, within=STARTING)
        leader.process.send_signal(signal.SIGSTOP)
        slow.clear()

        # What it had in mind is not wanted any more.
        for number in range(0, MANY, 2):
            await west.delete(SERVICES, f"web-{number}")
        wanted = sorted(f"web-{number}-west" for number in range(1, MANY, 2))
        await until(east.mirrors, lambda found: found == wanted, within=STARTING)
        assert await other.leads()

        writes = Writes(clusters[0])
        leader.process.send_signal(signal.SIGCONT)
        assert await asyncio.wait_for(leader.process.wait(), 10) == 1
        assert await other.leads()
        assert writes.seen == []
        assert await east.mirrors() == wanted
        await west.create(SERVICES, exported("late"))
        await until(east.mirrors, lambda found: found == sorted([*wanted, "late-west"]))
        assert len(writes.seen) == 2
