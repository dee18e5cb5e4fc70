"""The server and clients that are no Envoy, or mean harm."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from envoy.config.cluster.v3 import cluster_pb2
from envoy.service.discovery.v3 import ads_pb2_grpc
from envoy.service.discovery.v3.discovery_pb2 import (
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
)

from isthmus.envoy.ads import AdsServer, Papers
from isthmus.model.identities import MESH_DOMAIN
from isthmus.pki.anchor import create_anchor
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import chain_pem
from isthmus.xds.resources import CLUSTER, ENDPOINTS, resource, together
from isthmus.xds.session import NAMES
from isthmus.xds.snapshot import Snapshot, snapshot
from tests.envoy.talking import ADDRESS, ANCHORS, CONTROLLER, GATEWAY, papers, role
from tests.support import pki
from tests.support.pki import Credentials
from tests.support.waiting import eventually

pytestmark = pytest.mark.sockets

HOST = "controller.test"
# Made by whoever holds the anchor's key, who may say anything anyway.
ANCHORS_OWN = {
    "by the anchor itself",
    "issuer for the whole mesh",
    "issuer for two clusters",
    "unconstrained issuer",
}


@cache
def with_host() -> Papers:
    """The controller, with a DNS name besides: gRPC's clients cannot do without."""
    leaf = pki.Leaf(uris=[str(CONTROLLER)], dns=[HOST])
    shown = leaf.shown(pki.authority(pki.anchor(), None))
    return Papers(shown.chain_pem, shown.key_pem, ANCHORS)


def some(count: int = 1, size: int = 1) -> Snapshot:
    made = (cluster_pb2.Cluster(name=f"{number:0{size}}") for number in range(count))
    return snapshot(together(map(resource, made)))


@asynccontextmanager
async def client(
    port: int, shown: Credentials | None
) -> AsyncIterator[ads_pb2_grpc.AggregatedDiscoveryServiceStub]:
    credentials = grpc.ssl_channel_credentials(
        ANCHORS,
        shown.key_pem if shown else None,
        shown.chain_pem if shown else None,
    )
    options = (("grpc.ssl_target_name_override", HOST), ("grpc.max_send_message_length", -1))
    async with grpc.aio.secure_channel(f"{ADDRESS}:{port}", credentials, options) as channel:
        yield ads_pb2_grpc.AggregatedDiscoveryServiceStub(channel)


@asynccontextmanager
async def serving(ads: AdsServer) -> AsyncIterator[int]:
    """Serve, and let gRPC's clients finish what they do after their channel is closed."""
    async with ads.listening(ADDRESS, 0) as port:
        yield port
    await eventually(lambda: asyncio.all_tasks() == {asyncio.current_task()})


@asynccontextmanager
async def talking(
    ads: AdsServer, shown: Credentials | None
) -> AsyncIterator["grpc.aio.StreamStreamCall[DeltaDiscoveryRequest, DeltaDiscoveryResponse]"]:
    """Let a client open a stream; end it at the end."""
    async with serving(ads) as port, client(port, shown) as stub:
        call = stub.DeltaAggregatedResources()
        try:
            yield call
        finally:
            call.cancel()


def gateway() -> Credentials:
    return pki.credentials(GATEWAY)


def strict() -> AdsServer:
    return AdsServer(MESH_DOMAIN, with_host, role)


async def status(
    call: "grpc.aio.StreamStreamCall[DeltaDiscoveryRequest, DeltaDiscoveryResponse]",
    request: DeltaDiscoveryRequest,
) -> grpc.StatusCode:
    """Return how a stream ends on which this is asked."""
    with suppress(grpc.aio.AioRpcError):
        await call.write(request)
    return await call.code()


async def test_the_gateway_is_told() -> None:
    """What the other tests refuse works in this setting."""
    ads = strict()
    ads.publish("gateway", some())
    async with talking(ads, gateway()) as call:
        await call.write(DeltaDiscoveryRequest(type_url=CLUSTER))
        answer = await call.read()
        assert [one.name for one in answer.resources] == ["0"]


async def test_a_certificate_that_proves_nobody_gets_nothing() -> None:
    ads = AdsServer(MESH_DOMAIN, with_host, lambda _: "gateway")
    ads.publish("gateway", some())

    async def ended(port: int, name: str) -> grpc.StatusCode:
        async with client(port, pki.hostile(name)) as stub:
            code: grpc.StatusCode = await stub.DeltaAggregatedResources().code()
            return code

    async with serving(ads) as port:
        names = sorted(pki.HOSTILE.keys() - ANCHORS_OWN)
        codes = await asyncio.gather(*(ended(port, name) for name in names))
    refused = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.PERMISSION_DENIED)
    assert {name for name, code in zip(names, codes, strict=True) if code not in refused} == set()
    assert not ads.sent


async def test_who_shows_no_certificate_gets_nothing() -> None:
    ads = AdsServer(MESH_DOMAIN, with_host, lambda _: "gateway")
    ads.publish("gateway", some())
    async with talking(ads, None) as call:
        assert await call.code() is grpc.StatusCode.UNAVAILABLE
        assert not ads.sent


async def test_an_account_that_is_no_proxy_is_counted_and_told_why() -> None:
    ads = strict()
    async with talking(ads, pki.credentials(pki.identity("west", "curl"))) as call:
        assert await call.code() is grpc.StatusCode.PERMISSION_DENIED
        assert ads.turned_away == {"not a proxy of ours": 1}


async def test_only_incremental_streams_are_spoken() -> None:
    ads = strict()
    async with serving(ads) as port, client(port, gateway()) as stub:
        call = stub.StreamAggregatedResources()
        assert await call.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("mebibytes", [17, 100])
async def test_a_request_that_is_too_large_ends_the_stream(mebibytes: int) -> None:
    ads = strict()
    async with talking(ads, gateway()) as call:
        huge = DeltaDiscoveryRequest(type_url=CLUSTER, node={"id": "x" * (mebibytes << 20)})
        assert await status(call, huge) is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_proxy_that_names_too_much_is_turned_away() -> None:
    ads = strict()
    async with talking(ads, gateway()) as call:
        names = [str(number) for number in range(NAMES + 1)]
        request = DeltaDiscoveryRequest(type_url=ENDPOINTS, resource_names_subscribe=names)
        assert await status(call, request) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert ads.turned_away == {"names too much": 1}


async def test_nonsense_has_no_effect() -> None:
    ads = strict()
    ads.publish("gateway", some())
    async with talking(ads, gateway()) as call:
        nonsense = DeltaDiscoveryRequest(type_url="type.googleapis.com/what.Ever")
        nonsense.node.id = "n" * 10_000
        nonsense.node.metadata["address"] = "a" * 10_000
        for number in range(1_000):
            nonsense.response_nonce = str(number)
            await call.write(nonsense)
        await call.write(DeltaDiscoveryRequest(type_url=CLUSTER))
        assert (await call.read()).type_url == CLUSTER
        (one,) = ads.connected
        assert len(one.name) < 300
        assert one.address == ""


async def test_a_proxy_has_the_name_of_the_pod_that_got_its_certificate() -> None:
    """Whatever it calls itself; and none at all, before it has said something."""
    ads = strict()
    ads.publish("gateway", some())
    async with talking(ads, pki.credentials(GATEWAY, "gw-1")) as call:
        await eventually(lambda: bool(ads.connected))
        (one,) = ads.connected
        assert one.name == ""
        await call.write(DeltaDiscoveryRequest(type_url=CLUSTER, node={"id": "gw-2"}))
        await call.read()
        assert one.name == "gw-1"


async def test_a_proxy_that_guesses_answers_and_reads_nothing_costs_little() -> None:
    ads = strict()
    ads.publish("gateway", some(count=100, size=100_000))
    async with talking(ads, gateway()) as call:
        request = DeltaDiscoveryRequest(type_url=CLUSTER)
        await call.write(request)
        await eventually(lambda: ads.sent[CLUSTER] == 100)
        for number in range(1, 50):
            request.response_nonce = str(number)
            request.resource_names_subscribe[:] = [f"{number:0100000}"]
            try:
                async with asyncio.timeout(0.1):
                    await call.write(request)
            except TimeoutError:
                break
        (one,) = ads.connected
        assert one.session.pending < 200
        assert ads.sent[CLUSTER] < 110


async def test_a_new_certificate_and_new_anchors_count_from_the_next_handshake_on(
    tmp_path: Path,
) -> None:
    other = create_anchor(MESH_DOMAIN, pki.NOW)
    stranger = pki.Leaf().shown(create_issuer(other, "east", MESH_DOMAIN, pki.NOW))
    now = papers()
    ads = AdsServer(MESH_DOMAIN, lambda: now, lambda _: "gateway")
    async with ads.listening(ADDRESS, 0) as port:
        before = await greeted(port, gateway(), tmp_path)
        assert before.is_believed
        assert not (await greeted(port, stranger, tmp_path)).is_believed
        renewed = pki.Leaf(uris=[str(CONTROLLER)]).shown(pki.issuer("west"))
        anchors = ANCHORS + chain_pem(other.certificate)
        now = Papers(renewed.chain_pem, renewed.key_pem, anchors)
        after = await greeted(port, gateway(), tmp_path)
        assert after == Greeted(renewed.chain[0].public_bytes(Encoding.DER), is_believed=True)
        assert after.shown != before.shown
        assert (await greeted(port, stranger, tmp_path)).is_believed


class Greeted(NamedTuple):
    """What a server has shown, and whether it went on talking."""

    shown: bytes
    is_believed: bool


async def greeted(port: int, shown: Credentials, directory: Path) -> Greeted:
    """Say hello in HTTP/2; a server of TLS 1.3 refuses a certificate only after the handshake."""
    path = directory / "shown.pem"
    path.write_bytes(shown.key_pem + shown.chain_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(path)
    context.set_alpn_protocols(["h2"])
    reader, writer = await asyncio.open_connection(ADDRESS, port, ssl=context)
    try:
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        answer = await reader.read(9)
    except (ssl.SSLError, ConnectionError):
        answer = b""
    leaf = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()  # the server may take its time to say goodbye
    with suppress(ssl.SSLError, ConnectionError):
        await writer.wait_closed()
    return Greeted(leaf, bool(answer))
