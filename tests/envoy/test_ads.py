"""The server and real Envoys: what is told, to whom, and how little of it."""

import os
import re
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.direct_response.v3 import config_pb2

from isthmus.envoy.ads import CannotListen, Connected
from isthmus.envoy.process import Envoy
from isthmus.model.identities import Identity
from isthmus.model.routes import Place
from isthmus.xds import secrets, tls, upstream
from isthmus.xds.resources import CLUSTER, LISTENER, Resource, extension, resource, together
from isthmus.xds.snapshot import EMPTY, Snapshot, snapshot
from tests.envoy.talking import ADDRESS, ANCHORS, GATEWAY, envoy, live, server
from tests.support import pki
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.sockets

MANY = 2000


def cluster(name: str, *, seconds: int = 1) -> Resource:
    return resource(
        cluster_pb2.Cluster(name=name, type="STATIC", connect_timeout={"seconds": seconds})
    )


def listener(name: str, port: int) -> Resource:
    """Say hello to whoever connects; a port of 70,000 is one that Envoy refuses."""
    hello = config_pb2.Config(response={"inline_string": "hello"})
    chain = {"filters": [extension("envoy.filters.network.direct_response", hello)]}
    return resource(
        listener_pb2.Listener(
            name=name, address=upstream.socket_address(ADDRESS, port), filter_chains=[chain]
        )
    )


def told(*resources: Resource, before: Snapshot = EMPTY) -> Snapshot:
    return snapshot(together(resources), before)


async def held(made: Envoy, kind: str) -> int:
    """Return how many resources of a kind an Envoy has from us."""
    found = re.search(rf"^{kind}: (\d+)$", await made.admin.get("/stats"), re.MULTILINE)
    return int(found[1]) if found else 0


async def test_one_change_among_thousands_is_sent_alone(tmp_path: Path) -> None:
    ads = server()
    all_of_it = [cluster(f"c-{number}") for number in range(MANY)]
    first = told(*all_of_it)
    ads.publish("gateway", first)
    async with ads.listening(ADDRESS, 0) as port, envoy(tmp_path, port) as made:
        await live(made)
        await eventually(lambda: ads.acknowledged[CLUSTER] == 1)
        sent = ads.sent[CLUSTER]
        assert sent == MANY
        changed = [*all_of_it[1:], cluster("c-0", seconds=9)]
        ads.publish("gateway", told(*changed, before=first))
        await eventually(lambda: ads.acknowledged[CLUSTER] == 2)
        assert ads.sent[CLUSTER] - sent == 1


async def test_a_new_server_sends_nothing_that_a_proxy_has(tmp_path: Path) -> None:
    resources = [cluster(f"c-{number}") for number in range(100)]
    first, second = server(), server()
    first.publish("gateway", told(*resources))
    async with AsyncExitStack() as running:
        port = await running.enter_async_context(first.listening(ADDRESS, 0))
        async with envoy(tmp_path, port) as made:
            await live(made)
            await eventually(lambda: first.acknowledged[CLUSTER] == 1)
            await running.aclose()
            assert await held(made, "cluster_manager.active_clusters") >= 100
            second.publish("gateway", told(*resources, cluster("new")))
            async with second.listening(ADDRESS, port):
                await eventually(lambda: second.acknowledged[CLUSTER] == 1, within=20)
                assert second.sent[CLUSTER] == 1


async def test_nothing_is_said_before_something_was_published(tmp_path: Path) -> None:
    ads = server()
    async with ads.listening(ADDRESS, 0) as port, envoy(tmp_path, port):
        await eventually(lambda: bool(ads.connected))
        (one,) = ads.connected
        await eventually(lambda: one.name == "gateway-0")
        assert one.identity == GATEWAY
        assert not ads.sent


async def test_a_refused_listener_is_reported_and_the_others_live(tmp_path: Path) -> None:
    ads = server()
    bad = listener("bad", 70_000)
    ads.publish("gateway", told(bad, listener("good", 29_001)))
    async with ads.listening(ADDRESS, 0) as port, envoy(tmp_path, port) as made:
        await live(made)

        async def listeners() -> str:
            return await made.admin.get("/listeners")

        await until(listeners, lambda found: "good" in found)
        (one,) = ads.connected
        await eventually(lambda: one.session.acknowledged(LISTENER, "good") is not None)
        await eventually(lambda: bool(one.session.refused))
        ((reference, refusal),) = one.session.refused.items()
        assert reference.name == "bad"
        assert "bad" in refusal.message or "port" in refusal.message.lower()


async def test_a_changed_cluster_serves_at_once_though_its_endpoints_did_not_change(
    tmp_path: Path,
) -> None:
    """Envoy would wait for them for 15 s, and be silent about clusters meanwhile."""
    ads = server()
    places = upstream.endpoints("west", [Place(address=ADDRESS, port=9)])
    ads.publish("gateway", told(reaching("west|a"), places, *proofs()))
    async with ads.listening(ADDRESS, 0) as port, envoy(tmp_path, port) as made:
        await live(made)
        await eventually(lambda: ads.acknowledged[CLUSTER] == 1)
        (one,) = ads.connected
        # One is built anew, and another comes, which shares the endpoints and the secret.
        after = told(reaching("west|a", seconds=2), reaching("west|b"), places, *proofs())
        ads.publish("gateway", after)
        for name, entry in after.of(CLUSTER).items():
            await until(version(one, name), entry.version.__eq__, within=8)
        assert await held(made, "cluster_manager.warming_clusters") == 0
        clusters = await made.admin.get("/clusters")
        for name in ("west|a", "west|b"):
            assert f"{name}::{ADDRESS}:9::" in clusters


def version(one: Connected, cluster: str) -> Callable[[], Awaitable[str | None]]:
    async def read() -> str | None:
        return one.session.acknowledged(CLUSTER, cluster)

    return read


def reaching(name: str, *, seconds: int = 1) -> Resource:
    """A cluster whose endpoints and certificates are sent apart."""
    socket = tls.called(tls.sent_secret("account/a"), str(GATEWAY), ["h2"])
    options = {"transport_socket": socket, "cleanup_interval": {"seconds": seconds}}
    return upstream.cluster(name, name, options, places="west")


def proofs() -> list[Resource]:
    shown = pki.credentials(GATEWAY)
    return [secrets.account("a", shown.chain_pem, shown.key_pem), secrets.anchors(ANCHORS)]


@pytest.mark.parametrize(
    "who",
    [
        pytest.param(pki.identity("west", "default", "shop"), id="another account"),
        pytest.param(pki.identity("east", "isthmus-gateway", "isthmus"), id="another cluster"),
    ],
)
async def test_who_is_no_proxy_of_this_cluster_is_told_nothing(
    tmp_path: Path, who: Identity
) -> None:
    ads = server()
    ads.publish("gateway", told(cluster("secret")))
    async with ads.listening(ADDRESS, 0) as port, envoy(tmp_path, port, who):
        await eventually(lambda: ads.turned_away["not a proxy of ours"] > 0)
        assert not ads.connected
        assert not ads.sent


async def test_an_envoy_that_was_killed_is_started_again(tmp_path: Path) -> None:
    ads = server()
    ads.publish("gateway", told(cluster("one")))
    async with ads.listening(ADDRESS, 0) as port, envoy(tmp_path, port) as made:
        await live(made)
        first = made.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: made.pid not in (None, first), within=20)
        await live(made)
        assert made.restarts == 1


async def test_a_port_that_is_taken_is_named() -> None:
    ads = server()
    async with ads.listening(ADDRESS, 0) as port:
        with pytest.raises(CannotListen, match=f"{ADDRESS}:{port}"):
            async with ads.listening(ADDRESS, port):
                pass
