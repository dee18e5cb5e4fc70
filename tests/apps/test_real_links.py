"""Many links in a real cluster, some of them to targets that are dead or hostile."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import yaml

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import Served, serve
from isthmus.kube.client import Client
from lab.controlplane import ControlPlane, Settings, control_plane
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
from tests.apps.test_many_links import BAD, GOOD, HOSTILE, SERVICES_EACH
from tests.apps.test_real import controller, free_port, page, pytestmark, reached, until_served
from tests.support.waiting import until

__all__ = ["pytestmark"]  # needs what the other test of real API servers needs

PATIENCE = 60.0  # seconds


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with control_plane(Settings(name="east", domain="east.cluster.local")) as east:
        yield east


@asynccontextmanager
async def targets() -> AsyncIterator[list[tuple[Cluster, Served]]]:
    async with AsyncExitStack() as stack:
        found = []
        for number in range(GOOD + BAD):
            made = Cluster(f"west-{number}")
            west = Place(made.name, Client(made.transport()), made)
            for index in range(SERVICES_EACH):
                await west.create(SERVICES, exported(f"web-{index}"))
            found.append((made, await stack.enter_async_context(serve(made))))
        yield found


async def converged(east: Place, linked: list[Served]) -> None:
    """Link to all of them, and wait until the good ones are mirrored."""
    for one in linked:
        host, port = one.url.removeprefix("https://").split(":")
        gateway = {"addresses": [host], "port": int(port)}
        raw = yaml.safe_dump(one.kubeconfig()).encode()
        await east.create(PLAIN_SECRETS, secret(one.cluster, raw))
        await east.create(LINKS, link(one.cluster, gateway=gateway))
    wanted = GOOD * SERVICES_EACH
    await until(east.mirrors, lambda found: len(found) == wanted, within=PATIENCE)


async def unlinked(east: Place, linked: list[Served]) -> None:
    for one in linked:
        await east.delete(LINKS, one.cluster)
        await east.delete(PLAIN_SECRETS, f"cluster-credentials-{one.cluster}", "isthmus")
    await until(lambda: east.all(LINKS), lambda found: found == [], within=PATIENCE)
    assert await east.mirrors() == []


@pytest.mark.e2e
async def test_forty_links_of_a_real_cluster_converge_beside_ten_bad_ones(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """How fast they are, alone and beside the others, is compared where time is virtual."""
    async with reached(plane) as east, targets() as found:
        await furnish(east)
        await until_served(east)
        served = [one for _, one in found]
        port = free_port()
        async with controller(plane, tmp_path, port):
            await until(lambda: page(port, "/readyz"), bool, within=PATIENCE)
            await converged(east, served[:GOOD])
            await unlinked(east, served[:GOOD])
            for spoil, (cluster, _) in zip(HOSTILE, found[GOOD:], strict=True):
                spoil(cluster)
            await converged(east, served)

            async def connected() -> list[str]:
                return [(await east.condition("Connected", one.cluster))[0] for one in served]

            expected = ["True"] * GOOD + ["False"] * BAD
            await until(connected, lambda seen: seen == expected, within=PATIENCE)
            assert len(await east.mirrors()) == GOOD * SERVICES_EACH
            await unlinked(east, served)
