"""Pods that call as the first thing they do, before anybody can know their address."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from isthmus.embedded.machine.programs import Programs, Site
from isthmus.embedded.machine.streams import connect
from tests.dataplane.fleet import served, shared
from tests.dataplane.joined import Pair, account, pair
from tests.dataplane.test_limits import PROGRAMS_HERE, WEST
from tests.dataplane.workloads import create
from tests.support.machine import pod

pytestmark = pytest.mark.sockets

REQUEST = b"POST /200 HTTP/1.1\r\nhost: w\r\ncontent-length: 4\r\n\r\nfour"


@dataclass
class Jobs:
    """Programs that call each of these places as soon as they run, and what they heard first."""

    places: tuple[tuple[str, int], ...] = ()
    heard: asyncio.Queue[tuple[bytes, ...]] = field(default_factory=asyncio.Queue)

    @asynccontextmanager
    async def __call__(self, site: Site) -> AsyncIterator[None]:
        async def job() -> None:
            calls = (_called(site.address, address, port) for address, port in self.places)
            self.heard.put_nowait(tuple(await asyncio.gather(*calls)))

        task = asyncio.create_task(job())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})


async def _called(source: str, address: str, port: int) -> bytes:
    try:
        reader, writer = await connect(source, address, port)
    except OSError as error:
        return str(error).encode()
    writer.write(REQUEST)
    try:
        return await reader.readline()
    except OSError as error:
        return str(error).encode()
    finally:
        writer.transport.abort()


JOBS = Jobs()


@pytest.fixture(scope="module")
def two(runner: asyncio.Runner) -> Iterator[Pair]:
    programs: Programs = {**PROGRAMS_HERE, "test/job": JOBS}
    made = pair(east=(account("known"), pod("curl")), west=WEST, programs=programs)
    with shared(runner, made) as found:
        runner.run(furnished(found))
        yield found


async def furnished(two: Pair) -> None:
    await served(two.east, "web-west", "db-west")
    places = [await two.east.listener(name) for name in ("web-west", "db-west")]
    JOBS.places = tuple((one.partition(":")[0], int(one.partition(":")[2])) for one in places)


ANSWERS = (b"HTTP/1.1 200 OK\r\n", b"welcome\n")


async def test_the_first_call_of_a_pod_is_answered(two: Pair) -> None:
    for number in range(5):
        made = pod(f"job-{number}", "test/job", serviceAccountName="default")
        await two.east.kubectl.create(made)
        assert await JOBS.heard.get() == ANSWERS


async def test_the_first_call_of_an_account_is_answered(two: Pair) -> None:
    """Its certificate has to be made, and to reach the egress, meanwhile."""
    for number in range(5):
        name = f"new-{number}"
        await create(two.east.client, [account(name)])
        await two.east.kubectl.create(pod(name, "test/job", serviceAccountName=name))
        assert await JOBS.heard.get() == ANSWERS
