"""What must not get through, at the real gateway and the real egress; nothing reaches a pod."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from isthmus.model.routes import Place
from isthmus.pki.keys import chain_pem
from isthmus.xds.names import CATALOGUE_HOST, CATALOGUE_PATH, PROBE_HOST, PROBE_PATH
from isthmus.xds.tunnels import server_name
from tests.support import pki
from tests.support.servers import Server
from tests.support.waiting import until
from tests.xds import crossing
from tests.xds.crossing import CURL, OTHER, STRANGER, Crossing, authority, call, heard, knock, pod
from tests.xds.knocking import (
    CLOSED_DOOR,
    DENIED,
    ECHO,
    KNOWN,
    REQUEST,
    WEB,
    greeting,
    nobody_came,
    requesting,
)

pytestmark = [pytest.mark.sockets, pytest.mark.usefixtures("both")]

REFUSED = "http.gateway.no_route"
NO_TUNNEL = "tcp.tunnels.downstream_cx_no_route"


def connecting(to: str, destination: str) -> str:
    return requesting(destination, f"CONNECT {to} HTTP/1.1\nhost: {to}")


@pytest.mark.parametrize(
    "service, caller, counted, status",
    [
        pytest.param("private-web", CURL, DENIED, "403", id="not granted"),
        pytest.param("web", OTHER, DENIED, "403", id="granted to another account"),
        pytest.param("missing-web", CURL, REFUSED, "404", id="not exported"),
        pytest.param("echo as requests", CURL, REFUSED, "404", id="exported as a connection"),
    ],
)
async def test_a_request_is_refused_and_counted(
    both: Crossing, service: str, caller: str, counted: str, status: str
) -> None:
    before = await both.west.count(counted)
    async with nobody_came(), call(service, caller) as line:
        assert (await line.ask(REQUEST)).startswith(f"HTTP/1.1 {status} ")
    assert await both.west.count(counted) == before + 1


@pytest.mark.parametrize(
    "service, caller, counted",
    [
        pytest.param("private", CURL, CLOSED_DOOR, id="not granted"),
        pytest.param("echo", OTHER, CLOSED_DOOR, id="granted to another account"),
        pytest.param("missing", CURL, NO_TUNNEL, id="not exported"),
        pytest.param("web as bytes", CURL, NO_TUNNEL, id="exported as requests"),
    ],
)
async def test_a_connection_is_refused_and_counted(
    both: Crossing, service: str, caller: str, counted: str
) -> None:
    before = await both.west.count(counted)
    async with nobody_came():
        assert await heard(service, caller) == ""
    assert await both.west.count(counted) > before


async def test_a_caller_whom_the_egress_does_not_know_gets_nowhere(both: Crossing) -> None:
    connections = "cluster.identify.upstream_cx_connect_attempts_exceeded"
    requests = "http.out|west.no_cluster"
    before = await both.west.count("http.gateway.downstream_rq_total")
    async with nobody_came():
        assert await heard("echo", STRANGER) == ""
        async with call("web", STRANGER) as line:
            assert (await line.ask(REQUEST)).startswith("HTTP/1.1 503 ")
    assert await both.east.count(connections) == 1
    assert await both.east.count(requests) == 1
    assert await both.west.count("http.gateway.downstream_rq_total") == before


PRIVATE = authority("private")


@pytest.mark.parametrize(
    "request_, status",
    [
        pytest.param(connecting(PRIVATE, ECHO), "404", id="a destination that is not the header's"),
        pytest.param(connecting(ECHO, PRIVATE), "404", id="a header that is not the destination's"),
        pytest.param(connecting(ECHO, ECHO), "404", id="a tunnel through HTTP"),
        pytest.param(connecting(WEB, WEB), "404", id="a tunnel to what takes requests"),
        pytest.param(connecting("127.0.0.1:7001", "127.0.0.1:7001"), "404", id="an address"),
        pytest.param(connecting("169.254.169.254:80", ECHO), "404", id="metadata"),
        pytest.param(f"CONNECT {ECHO} HTTP/1.1\nhost: {ECHO}", "404", id="a tunnel, no header"),
        pytest.param(requesting(ECHO), "404", id="a request to what takes tunnels"),
        pytest.param(REQUEST, "404", id="no header"),
        pytest.param(requesting(f"{WEB},{WEB}"), "404", id="two destinations"),
        pytest.param(requesting(WEB.upper()), "404", id="upper case"),
        pytest.param(requesting(WEB, "GET /a%2fb HTTP/1.1\nhost: w"), "400", id="escaped slash"),
        pytest.param(requesting(WEB, f"{REQUEST}\nx_y: z"), "400", id="underscore"),
        pytest.param(
            requesting(WEB, f"{REQUEST}\ncontent-length: 1\ntransfer-encoding: chunked"),
            "400",
            id="two lengths",
        ),
        pytest.param(requesting(WEB, f"{REQUEST}\nx: {'y' * 70_000}"), "431", id="large header"),
        pytest.param(
            requesting(WEB, "\n".join([REQUEST, *(f"x-{n}: y" for n in range(120))])),
            "431",
            id="many headers",
        ),
        pytest.param(
            requesting(WEB, f"{REQUEST}\nconnection: upgrade\nupgrade: other"),
            "403",
            id="another protocol",
        ),
        pytest.param(
            requesting("probe", f"GET /admin HTTP/1.1\nhost: {PROBE_HOST}"), "404", id="probe, path"
        ),
        pytest.param(
            requesting("probe", "GET /isthmus/probe HTTP/1.1\nhost: w"), "404", id="probe, host"
        ),
    ],
)
async def test_whoever_comes_to_the_gateway_itself_gets_no_further(
    request_: str, status: str
) -> None:
    async with nobody_came(), knock(KNOWN) as line:
        assert (await line.ask(request_)).startswith(f"HTTP/1.1 {status} ")


async def test_the_very_same_way_is_open_to_what_is_right() -> None:
    """Otherwise the table above could pass for the wrong reasons."""
    async with pod(crossing.show, 7002), knock(KNOWN) as line:
        assert (await line.ask(requesting(WEB))).startswith("HTTP/1.1 200 ")


async def test_a_tunnel_leads_to_what_it_asks_for() -> None:
    async with pod(crossing.echo, 7001):
        assert await greeting(KNOWN, server_name(ECHO)) == "welcome\n"


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(server_name(PRIVATE), id="not granted"),
        pytest.param(server_name(WEB), id="exported as requests"),
        pytest.param(server_name(authority("missing")), id="not exported"),
        pytest.param(ECHO.removesuffix(":80"), id="by its own name"),
        pytest.param("identify", id="a listener"),
        pytest.param("catalogue", id="a cluster"),
        pytest.param("169.254.169.254.nip.io", id="metadata"),
        pytest.param("localhost", id="the machine itself"),
        pytest.param("kubernetes.default.svc", id="the API"),
        pytest.param("x" * 63, id="anything"),
        pytest.param(None, id="nothing"),
    ],
)
async def test_a_tunnel_leads_nowhere_else(asked: str | None) -> None:
    async with nobody_came():
        assert await greeting(KNOWN, asked or "") == ""


async def test_whoever_comes_to_the_gateway_itself_cannot_say_who_they_are() -> None:
    forged = [
        f"x-forwarded-client-cert: By=x;URI={pki.WEST}",
        "isthmus-source: 127.0.0.1",
        "x-envoy-original-path: /admin",
    ]
    async with pod(crossing.show, 7002), knock(KNOWN) as line:
        answer = await line.ask(requesting(WEB, "\n".join([REQUEST, *forged])))
    _, _, arrived = answer.partition("\r\n\r\n")
    assert arrived.count("URI=") == 1
    assert f";URI={crossing.CURL_ID}\r\n" in arrived
    assert "isthmus-" not in arrived
    assert "x-envoy-" not in arrived


async def test_the_probe_answers_every_member_of_the_mesh() -> None:
    request = f"GET {PROBE_PATH} HTTP/1.1\nhost: {PROBE_HOST}"
    for who in (crossing.CURL_ID, pki.identity("north", "controller", "isthmus")):
        async with knock(pki.credentials(who)) as line:
            assert (await line.ask(requesting("probe", request))).startswith("HTTP/1.1 200 ")


CATALOGUE = requesting("catalogue", f"GET {CATALOGUE_PATH}?x HTTP/1.1\nhost: {CATALOGUE_HOST}")


@asynccontextmanager
async def controller(who: pki.Credentials) -> AsyncIterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=chain_pem(pki.anchor().certificate).decode())
    crossing.load(context, who)
    async with pod(crossing.show, 7443, context) as server:
        yield server


async def test_the_catalogue_is_read_by_whom_it_is_meant_for() -> None:
    async with controller(pki.credentials(crossing.CONTROLLER_ID)) as server:
        async with knock(KNOWN) as line:
            answer = await line.ask(CATALOGUE)
        assert answer.startswith("HTTP/1.1 200 ")
        assert f"URI={crossing.CURL_ID}" in answer
        before = server.connections
        async with knock(pki.credentials(pki.identity("east", "other"))) as line:
            assert (await line.ask(CATALOGUE)).startswith("HTTP/1.1 403 ")
        assert server.connections == before


async def test_the_catalogue_is_read_from_a_controller_and_from_nobody_else() -> None:
    async with (
        controller(pki.credentials(pki.identity("west", "curl"))) as server,
        knock(KNOWN) as line,
    ):
        assert (await line.ask(CATALOGUE)).startswith("HTTP/1.1 503 ")
        assert server.heard == []


async def test_an_egress_talks_to_the_gateway_of_its_link_and_to_nobody_else(
    both: Crossing,
) -> None:
    """Another member of the mesh, with a good certificate, stands at the gateway's address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    crossing.load(context, pki.credentials(pki.identity("west", "curl")))
    context.set_alpn_protocols(["h2"])
    impostor = Place(address=crossing.PODS, port=7443)
    peer = replace(crossing.EAST.peers[0], places=(impostor,))

    async def noticed() -> int:
        assert await heard("echo") == ""
        return await both.east.count("cluster.out|west.ssl.fail_verify_san")

    async with nobody_came(), pod(crossing.show, 7443, context) as server:
        both.tell_east(replace(crossing.EAST, peers=(peer,)))
        await until(noticed, bool)
        async with call("web") as line:
            assert (await line.ask(REQUEST)).startswith("HTTP/1.1 503 ")
        assert server.connections == 0  # it counts handshakes that came to an end
    both.tell_east(crossing.EAST)
