"""The controller may do what it does, and nothing else: seen on a real API server.

All that a controller ever does is done here under the account and the roles that are shipped, and
the server's own audit log says what that was.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import yaml

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve
from isthmus.install import objects
from isthmus.install.values import Values, parse
from isthmus.kube.client import Client
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import audience
from isthmus.model.objects import Key
from isthmus.pki.anchor import create_anchor
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import chain_pem, key_pem
from isthmus.xds.resources import CLUSTER
from lab.controlplane import ControlPlane, Settings, control_plane
from tests.apps.clusters import (
    EVENTS,
    GRANTS,
    LINKS,
    PLAIN_NAMESPACES,
    PLAIN_SECRETS,
    SERVICES,
    SLICES,
    Place,
    egress_slice,
    endpoints,
    exported,
    link,
    secret,
    settled,
)
from tests.apps.signers import CSR, PODS, Bytes
from tests.apps.test_catalogue import Way, grant, offering, target
from tests.apps.test_hearing import refuse
from tests.install.real import (
    ACCOUNT,
    CONTROLLER,
    HOME,
    REAL,
    Running,
    controlling,
    install,
    reached,
    token,
)
from tests.install.rights import Right, Use, granted, unused, used
from tests.support.waiting import until

pytestmark = REAL
CREATED = 6  # Services of one namespace that is missing: more than one worker wants to make it


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    settings = Settings(name="east", domain="east.cluster.local", audit=True)
    with control_plane(settings) as east:
        yield east


def whole(*sets: str) -> Values:
    """An installation with all its papers."""
    now = datetime.now(UTC)
    anchor = create_anchor(MESH_DOMAIN, now)
    issuer = create_issuer(anchor, "east", MESH_DOMAIN, now)
    trust = {
        "anchors": chain_pem(anchor.certificate).decode(),
        "issuer": {
            "certificate": chain_pem(issuer.certificate).decode(),
            "key": key_pem(issuer.key).decode(),
        },
    }
    return parse(("clusterName=east", *sets), {"trust": yaml.safe_dump({"trust": trust})})


@dataclass(frozen=True, slots=True)
class World:
    """East, which is installed as it is shipped, and west, which is read by its API."""

    east: Place
    west: Place
    kubeconfig: bytes
    way: Way
    running: Running


@asynccontextmanager
async def world(plane: ControlPlane, installed: Values) -> AsyncIterator[World]:
    made = Cluster("west", domain="west.cluster.local", service_range="10.98.0.0/16")
    way = Way()
    async with reached(plane) as east, serve(made) as served:
        await install(east, installed)
        west = Place("west", Client(made.transport()), made)
        raw = yaml.safe_dump(served.kubeconfig()).encode()
        bearer = await token(east, CONTROLLER)
        async with reached(plane, bearer) as own, controlling(own, way) as running:
            yield World(east, west, raw, way, running)


async def link_by_api(here: World) -> None:
    """Import by the target's API, into a namespace that is missing here, too."""
    east, west = here.east, here.west
    await west.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    for number in range(CREATED):
        await west.create(SERVICES, exported(f"web-{number}", namespace="shop"))
    await west.create(SERVICES, exported("db", headless=True))
    await west.create(SLICES, endpoints("db", "db-0", "db-1"))
    await east.create(PLAIN_SECRETS, secret("west", here.kubeconfig))
    await east.create(LINKS, link("west", createNamespaces=True))
    shop = [f"shop/web-{number}-west" for number in range(CREATED)]
    await settled(east, ["db-west", "db-0-west", "db-1-west", *shop])


async def follow_changes(here: World) -> None:
    """Let ports and pods change, and let exports go."""
    east, west = here.east, here.west
    await west.edit(SERVICES, "web-0", {"spec": {"ports": [{"name": "http", "port": 81}]}}, "shop")

    async def port() -> int:
        found = await east.get(SERVICES, "web-0-west", "shop") or {"spec": {"ports": [{"port": 0}]}}
        return int(found["spec"]["ports"][0]["port"])

    await until(port, lambda found: found == 81)
    one = endpoints("db", "db-0")["endpoints"]
    await west.edit(SLICES, "db-abcde", {"endpoints": one})
    for number in range(1, CREATED):
        await west.delete(SERVICES, f"web-{number}", "shop")
    await settled(east, ["db-west", "db-0-west", "shop/web-0-west"], within=30)


async def link_by_gateway(here: World) -> None:
    """Import by a catalogue, from a target that grants it."""
    north = await target(exported("api"))
    north.name = "north"
    await north.create(GRANTS, grant())
    async with offering(north, here.way):
        wanted = link("north", via="gateway", credentialsSecret="none")
        del wanted["spec"]["credentialsSecret"], wanted["spec"]["clusterDomain"]
        await here.east.create(LINKS, wanted)
        await until(here.east.mirrors, lambda found: "api-north" in found, within=30)
        await here.east.delete(LINKS, "north")
        await until(here.east.mirrors, lambda found: "api-north" not in found, within=30)


async def export(here: World) -> None:
    """Export to others, and hear that a gateway refuses what it is told for it."""
    east, controller = here.east, here.running.controller
    await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "store"}})
    await east.create(SERVICES, exported("till", namespace="store"))
    await east.create(SLICES, endpoints("till", "10.2.0.1", namespace="store"))
    await east.create(GRANTS, {"metadata": {"name": "west"}, "spec": {"cluster": "west"}})

    async def accepted() -> bool:
        found = await east.get(GRANTS, "west") or {}
        return bool(found.get("status", {}).get("conditions"))

    await until(accepted, bool)
    authority = "till.store.svc.east.cluster.local:80"

    async def is_told() -> bool:
        snapshot = here.running.told.get("gateway")
        return snapshot is not None and authority in snapshot.of(CLUSTER)

    await until(is_told, bool)
    refuse(controller.dataplane.hearing, here.running, "gateway", CLUSTER, authority)
    await until(lambda: east.all(EVENTS, "store"), bool)


async def sign(here: World) -> None:
    """Give a certificate to a proxy that shows the token of its pod."""
    account = "isthmus-gateway"
    pod = {
        "metadata": {"name": "one", "namespace": HOME},
        "spec": {
            "serviceAccountName": account,
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "main",
                    "image": "any",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
        },
    }
    await here.east.create(PODS, pod)
    bearer = await token(here.east, account, audience("east"), "one")
    signing = here.running.controller.dataplane.signing
    await signing.sign("10.1.0.1", [f"Bearer {bearer}"], Bytes([CSR]))
    assert signing.issued == 1
    await here.east.client.delete(PODS, Key(HOME, "one"), grace=0)


async def unlink(here: World) -> None:
    await here.east.delete(LINKS, "west")
    await here.east.delete(PLAIN_SECRETS, "cluster-credentials-west", HOME)
    await until(lambda: here.east.all(LINKS), lambda found: found == [], within=30)
    assert await here.east.mirrors() == []


def seen(plane: ControlPlane, since: int = 0) -> list[Use]:
    return list(used(plane.audited()[since:], ACCOUNT))


async def test_the_controller_uses_every_right_that_it_has_and_lacks_none(
    plane: ControlPlane,
) -> None:
    shipped = whole()
    async with world(plane, shipped) as here:
        await here.east.create(SLICES, egress_slice("10.1.0.7", "10.1.0.8"))
        await link_by_api(here)
        await follow_changes(here)
        await link_by_gateway(here)
        await export(here)
        await sign(here)
        await unlink(here)
        # What it may not see all of, it leaves.
        assert await here.east.get(PLAIN_NAMESPACES, "shop") is not None
    uses = seen(plane)
    refused = {one for one in uses if not one.is_allowed}
    assert {(one.verb, one.namespace) for one in refused} <= {("list", "shop")}
    rights = granted(objects(shipped))
    assert unused(rights, uses, HOME) == []
    more = {*rights, Right("delete", "", "pods"), Right("get", "", "secrets", HOME)}
    assert unused(more, uses, HOME) == [
        Right("delete", "", "pods"),
        Right("get", "", "secrets", HOME),
    ]


async def test_whoever_is_to_remove_namespaces_uses_all_that_takes(plane: ControlPlane) -> None:
    shipped = whole("removeNamespaces=true")
    async with reached(plane) as east:
        await east.delete(PLAIN_NAMESPACES, "shop")

        async def is_gone() -> bool:
            return await east.get(PLAIN_NAMESPACES, "shop") is None

        await until(is_gone, bool, within=30)
        since = len(plane.audited())
        async with world(plane, shipped) as here:
            await link_by_api(here)
            await unlink(here)
            await until(is_gone, bool, within=30)
    uses = seen(plane, since)
    assert [one for one in uses if not one.is_allowed] == []
    added = granted(objects(shipped)) - granted(objects(whole()))
    assert added == {Right("delete", "", "namespaces"), Right("list", "*", "*")}
    assert unused(added, uses, HOME) == []
    listed = {one.resource for one in uses if (one.verb, one.namespace) == ("list", "shop")}
    assert {"secrets", "pods", "deployments", "leases", "networkpolicies"} <= listed
