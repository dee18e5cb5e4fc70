"""A controller with little: few files to open, little memory. It serves what it can, ends with a
word if it cannot, and the next one converges."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import Served, serve
from isthmus.kube.client import Client
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
from tests.apps.test_real import free_port
from tests.support.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.sockets]

ISTHMUS = Path(sys.executable).with_name("isthmus")
STARTING = 60.0  # seconds for a process to start on a machine that has other things to do
MANY = 60
FEW_FILES, LITTLE_MEMORY = "ulimit -n 64", f"ulimit -d {128 * 1024}"


@dataclass(frozen=True, slots=True)
class Pair:
    east: Place
    west: Place
    served: tuple[Served, Served]

    async def link(self, name: str) -> None:
        """Link to west, whose cluster may be known under one name only; others wait in vain."""
        raw = yaml.safe_dump(self.served[1].kubeconfig()).encode()
        await self.east.create(PLAIN_SECRETS, secret(name, raw))
        await self.east.create(LINKS, link(name))


@asynccontextmanager
async def pair() -> AsyncIterator[Pair]:
    clusters = Cluster("east"), Cluster("west", service_range="10.97.0.0/16")
    async with serve(clusters[0]) as first, serve(clusters[1]) as second:
        east, west = (Place(one.name, Client(one.transport()), one) for one in clusters)
        await furnish(east)
        yield Pair(east, west, (first, second))


@asynccontextmanager
async def limited(two: Pair, folder: Path, limit: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a controller in east as a process that has no more than this."""
    kubeconfig = folder / "east.yaml"
    kubeconfig.write_text(yaml.safe_dump(two.served[0].kubeconfig()))
    words = [
        *(str(ISTHMUS), "controller", "--kubeconfig", str(kubeconfig), "--cluster-name", "east"),
        *("--allow-loopback", "--admin-port", str(free_port()), "--workers", "4"),
    ]
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", f'{limit}; exec "$@"', "sh", *words), stderr=log
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


@pytest.mark.parametrize("limit", [FEW_FILES, LITTLE_MEMORY])
async def test_little_is_enough_for_a_link_with_its_mirrors(tmp_path: Path, limit: str) -> None:
    async with pair() as two:
        for number in range(MANY):
            await two.west.create(SERVICES, exported(f"web-{number}"))
        await two.link("west")
        async with limited(two, tmp_path, limit) as process:
            wanted = sorted(f"web-{number}-west" for number in range(MANY))
            await until(two.east.mirrors, lambda found: found == wanted, within=STARTING)
            assert process.returncode is None


async def test_links_that_find_no_file_to_open_wait_and_the_others_go_on(tmp_path: Path) -> None:
    """Sixty Links, each with connections of its own, do not fit into 64 files."""
    async with pair() as two:
        await two.west.create(SERVICES, exported("web"))
        await two.link("west")
        async with limited(two, tmp_path, FEW_FILES) as process:
            await until(two.east.mirrors, lambda found: found == ["web-west"], within=STARTING)
            for number in range(MANY):
                await two.link(f"dead-{number}")
            last = f"dead-{MANY - 1}"
            await until(
                lambda: two.east.condition("Connected", last),
                lambda found: found == ("False", "NoFilesLeft"),
                within=STARTING,
            )
            await two.west.create(SERVICES, exported("late"))
            wanted = ["late-west", "web-west"]
            await until(two.east.mirrors, lambda found: found == wanted, within=STARTING)
            assert process.returncode is None
        for number in range(MANY):
            await two.east.delete(LINKS, f"dead-{number}")
        await two.west.create(SERVICES, exported("later"))
        async with limited(two, tmp_path, "true"):
            wanted = ["late-west", "later-west", "web-west"]
            await until(two.east.mirrors, lambda found: found == wanted, within=STARTING)
