"""What proxies refuse is told to those whom it concerns."""

import asyncio
from dataclasses import replace
from typing import Protocol

from isthmus.apps.controller.carrying.hearing import MOST, Hearing
from isthmus.apps.controller.carrying.proxies import Role
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.core.status import Facts, status
from isthmus.envoy.ads import AdsServer, Connected, Papers
from isthmus.kube.client import Client
from isthmus.model.identities import MESH_DOMAIN, Identity
from isthmus.xds.resources import CLUSTER, LISTENER, ROUTES
from isthmus.xds.session import ORDER, Asked
from isthmus.xds.snapshot import Snapshot
from tests.apps.clusters import EVENTS, PLAIN_NAMESPACES, VirtualClock, place
from tests.apps.telling import Told, mirrored, told
from tests.support.builders import link

WHO = Identity("east", MESH_DOMAIN, "isthmus", "isthmus-egress")


def hearing(made: Told, client: Client | None = None) -> Hearing:
    ads = AdsServer(MESH_DOMAIN, lambda: Papers(b"", b"", b""), lambda _: None)
    client = client or Client(place("east").cluster.transport())
    outside = Outside(client=client, clock=VirtualClock())
    carrying = made.sources.carrying
    return Hearing(Config(cluster_name="east"), outside, ads, made.proxies, carrying)


class Telling(Protocol):
    """Knows what proxies were told last."""

    def last(self, role: Role) -> Snapshot: ...


def refuse(heard: Hearing, made: Telling, role: Role, type_url: str, name: str) -> None:
    """Let a proxy that has all others refuse one resource."""
    proxy, snapshot = Connected(WHO, role, name="one"), made.last(role)
    said = proxy.session.publish(snapshot)
    for kind in ORDER:
        others = tuple(one for one in snapshot.of(kind) if (kind, one) != (type_url, name))
        said += proxy.session.receive(Asked(type_url=kind, subscribe=others or ("none",)))
        while said:
            one = said.pop()
            said += proxy.session.receive(Asked(type_url=one.type_url, nonce=one.nonce))
    for one in proxy.session.receive(Asked(type_url=type_url, subscribe=(name,))):
        proxy.session.receive(Asked(type_url=type_url, nonce=one.nonce, error=f"bad\n {name}"))
    heard.ads.connected.add(proxy)
    for hears in heard.ads._told:
        hears()


async def test_what_an_egress_refuses_is_said_of_the_link_that_it_is_for() -> None:
    async with told() as made:
        made.tell(mirrored("db"), "curl")
        await made.settle()
        heard = hearing(made)
        assert heard.by_link() == {}
        (port,) = (one for one in made.last("egress").of(LISTENER) if one.startswith("out|"))
        for type_url, name in (
            (CLUSTER, "west|shop/curl"),
            (CLUSTER, "identify"),
            (ROUTES, "west"),
            (LISTENER, port),
        ):
            heard.ads.connected.clear()
            refuse(heard, made, "egress", type_url, name)
            kind = type_url.rpartition(".")[2]
            assert heard.by_link() == {"west": (f"{kind} {name}: bad {name}",)}


async def test_what_a_gateway_refuses_is_one_event_at_the_service() -> None:
    east = place("east")
    await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    async with told() as made:
        made.tell(mirrored())
        await made.settle()
        heard = hearing(made, east.client)
        complaints: list[object] = []
        task = asyncio.create_task(heard.run(complaints.append))
        await made.settle()
        authority = "web-1.shop.svc.cluster.local:80"
        for _ in range(3):
            refuse(heard, made, "gateway", CLUSTER, authority)
            await made.settle()
        task.cancel()
        await asyncio.wait({task})
    (event,) = await east.all(EVENTS)
    assert event["regarding"]["name"] == "web-1"
    assert f"Cluster {authority}: bad {authority}" in event["note"]
    assert complaints == [{}] * 3


async def test_of_many_refusals_each_becomes_an_event_though_not_all_at_once() -> None:
    east = place("east")
    await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    async with told() as made:
        made.tell(mirrored(), exports=MOST + 2)
        await made.settle()
        heard = hearing(made, east.client)
        task = asyncio.create_task(heard.run(lambda _: None))
        await made.settle()
        for number in range(MOST + 2):
            refuse(heard, made, "gateway", CLUSTER, f"web-{number}.shop.svc.cluster.local:80")
        await made.settle()
        task.cancel()
        await asyncio.wait({task})
    concerned = [event["regarding"]["name"] for event in await east.all(EVENTS)]
    assert sorted(concerned) == sorted(f"web-{number}" for number in range(MOST + 2))


async def test_a_refusal_stands_in_the_links_status_until_it_is_over() -> None:
    known = Facts(connected=True, is_live=True, synced=True, gateway=True, cluster_uid="x")
    for complaints, expected in (
        ((), ("True", "Ready")),
        (("Listener out|1: bad",), ("False", "ProxyRefused")),
        (("Listener out|1: bad", "Listener out|2: bad"), ("False", "ProxyRefused")),
    ):
        found = status(link("west"), replace(known, complaints=complaints), "now")
        by_type = {one.type: one for one in found.conditions}
        assert (by_type["Ready"].status, by_type["Ready"].reason) == expected
        assert ("ProxyRefused" in by_type) == bool(complaints)
