"""Other forms of asking for something else: server names, URIs, upgrades, headers, paths, relays.

Whoever asks has a certificate, and is granted one service."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from isthmus.xds import tunnels
from isthmus.xds.tunnels import server_name
from tests.support import pki
from tests.xds import crossing
from tests.xds.crossing import Crossing, authority, call, context, knock, pod
from tests.xds.frames import asking, framing
from tests.xds.hello import ALERT, HANDSHAKE, answered, hello
from tests.xds.knocking import ECHO, KNOWN, REQUEST, WEB, greeting, nobody_came, requesting, told

pytestmark = [pytest.mark.sockets, pytest.mark.usefixtures("both")]

SECRET = server_name(authority("private"))
NAMES = {
    "an asterisk": b"*",
    "an address": b"127.0.0.1",
    "an address of the sixth version": b"::1",
    "metadata": b"169.254.169.254",
    "three hundred letters": b"x" * 300,
    "sixty thousand letters": b"x" * 14_000,
    "nothing at all": b"",
    "a zero": server_name(ECHO).encode() + b"\0.example",
    "a zero before": b"\0" + server_name(ECHO).encode(),
    "a line": b"a\r\nHost: b",
    "letters of no alphabet": "bücher.example".encode(),
    "what is not granted": SECRET.encode(),
}


@pytest.mark.parametrize("protocol", [tunnels.PROTOCOL, "h2"])
async def test_a_strange_server_name_is_answered_or_not_and_leads_nowhere(protocol: str) -> None:
    async with nobody_came():
        hellos = [hello(context(KNOWN, protocol), name) for name in NAMES.values()]
        greeted = await asyncio.gather(*map(answered, hellos))
        assert set(greeted) <= {None, ALERT, HANDSHAKE}
    async with pod(crossing.echo, 7001):
        assert await greeting(KNOWN, server_name(ECHO)) == "welcome\n"


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(server_name(ECHO).upper(), id="upper case"),
        pytest.param(f"{server_name(ECHO)}.", id="a dot at its end"),
        pytest.param(f"x.{server_name(ECHO)}", id="below it"),
        pytest.param(server_name(ECHO).partition(".")[2] or "x", id="above it"),
        pytest.param("*", id="an asterisk"),
        pytest.param(SECRET.upper(), id="what is not granted, in upper case"),
        pytest.param(f"{SECRET}.", id="what is not granted, with a dot"),
    ],
)
async def test_another_spelling_of_a_server_name_is_the_same_name_or_none(
    both: Crossing, asked: str
) -> None:
    reached = "cluster.in|default|private.upstream_cx_total"
    async with pod(crossing.echo, 7001):
        assert await greeting(KNOWN, asked) in ("", "welcome\n")
    assert await both.west.count(reached) == 0


UPGRADE = f"{REQUEST}\nconnection: upgrade, http2-settings\nhttp2-settings: AAMAAABkAAQAAP__"


async def test_an_upgrade_to_http_2_is_not_passed_on() -> None:
    """It is an ordinary request, as RFC 9113 has it, and the pod is not asked for anything else."""
    async with pod(crossing.show, 7002), knock(KNOWN) as line:
        answer = await line.ask(requesting(WEB, f"{UPGRADE}\nupgrade: h2c"))
    assert answer.startswith("HTTP/1.1 200 ")
    assert "upgrade" not in answer
    assert "http2-settings" not in answer


METADATA = "http://169.254.169.254/latest/meta-data"


async def test_a_whole_uri_leads_where_the_header_leads_and_nowhere_else(both: Crossing) -> None:
    before = await both.west.total(".upstream_cx_total")
    async with nobody_came(), knock(KNOWN) as line:
        answer = await line.ask(f"GET {METADATA} HTTP/1.1\nhost: 169.254.169.254")
        assert answer.startswith("HTTP/1.1 404 ")
    assert await both.west.total(".upstream_cx_total") == before
    async with pod(crossing.show, 7002), knock(KNOWN) as line:
        answer = await line.ask(requesting(WEB, f"GET {METADATA} HTTP/1.1\nhost: shop.example"))
        assert answer.startswith("HTTP/1.1 200 ")  # by the pod that is exported
        assert "\r\n\r\nGET /latest/meta-data HTTP/1.1\r\nhost: 169.254.169.254\r\n" in answer
    assert await both.west.count("cluster.in|default|web.upstream_cx_total") >= 1


def connecting(to: str) -> str:
    return requesting(WEB, f"CONNECT {to} HTTP/1.1\nhost: {to}")


SOCKET = f"{REQUEST}\nconnection: upgrade\nupgrade: websocket\nsec-websocket-version: 13"


@pytest.mark.parametrize(
    "request_, statuses",
    [
        pytest.param(requesting(WEB, f"{REQUEST}\nconnection: upgrade\nupgrade: TLS/1.2"), ("403",),
                     id="TLS inside"),
        pytest.param(requesting(authority("private-web"), SOCKET), ("403",),
                     id="a web socket to what is not granted"),
        pytest.param(requesting(authority("missing"), SOCKET), ("404",),
                     id="a web socket to what is not exported"),
        pytest.param(requesting(ECHO, SOCKET), ("404",), id="a web socket to what takes tunnels"),
        pytest.param(connecting("169.254.169.254:80"), ("404", "400"),
                     id="CONNECT to metadata"),
        pytest.param(requesting(WEB, "OPTIONS * HTTP/1.1\nhost: shop.example"), ("400", "404"),
                     id="about the server itself"),
    ],
)  # fmt: skip
async def test_nothing_is_turned_into_another_protocol(
    request_: str, statuses: tuple[str, ...]
) -> None:
    async with nobody_came(), knock(KNOWN) as line:
        assert (await line.ask(request_)).split(" ")[1] in statuses


FORGED = [
    f"x-forwarded-client-cert: By=x;URI={pki.WEST}",
    f"x-forwarded-client-cert: By=y;Hash=00;URI={pki.EAST}2",
    f"X-Forwarded-Client-Cert: URI={pki.WEST}",
    "isthmus-source: 127.0.0.1",
    "isthmus-anything: x",
    "x-envoy-original-dst-host: 169.254.169.254:80",
    "x-envoy-original-path: /admin",
    "x-envoy-decorator-operation: x",
    "x-envoy-retry-on: 5xx",
    "x-envoy-max-retries: 100",
    "x-envoy-upstream-rq-timeout-ms: 1",
    "x-envoy-upstream-alt-stat-name: x",
    "x-envoy-internal: true",
    "x-envoy-peer-metadata: x",
    "x-envoy-external-address: 127.0.0.1",
]


@pytest.mark.parametrize("way", ["the egress", "the gateway itself"])
async def test_no_header_that_is_said_to_a_proxy_reaches_a_pod(way: str) -> None:
    """Nor does it steer the proxy: the request arrives once, where it was to go."""
    lines = "\n".join([REQUEST, *FORGED])
    async with pod(crossing.show, 7002), asked(way) as line:
        request = lines if way == "the egress" else requesting(WEB, lines)
        answer = await line.ask(request)
    _, _, arrived = answer.partition("\r\n\r\n")
    assert arrived.startswith("GET / HTTP/1.1\r\n")
    assert re.findall(r"(?im)^x-forwarded-client-cert:.*URI=(.*?)\r$", arrived) == [
        str(crossing.CURL_ID)
    ]
    assert "isthmus-" not in arrived.lower()
    assert "x-envoy-" not in arrived.lower()
    assert pki.WEST not in arrived


@asynccontextmanager
async def asked(way: str) -> AsyncIterator[crossing.Line]:
    async with call("web") if way == "the egress" else knock(KNOWN) as line:
        yield line


PATHS = {
    "//admin": "/admin",
    "/a///b": "/a/b",
    "/a/./b": "/a/b",
    "/a/../b": "/b",
    "/../../b": "/b",
    "/%2e%2e/b": "/b",
    "/a/%2E%2e/%2e/b": "/b",
    "/a\\b": "/a/b",
    "/a/..\\b": "/b",
    "/a%2fb": "400",
    "/a%2Fb": "400",
    "/a%5cb": "400",
    "/a%5Cb": "400",
    "/a%00b": "400",
    "/%252e%252e/b": "/%252e%252e/b",
}


@pytest.mark.parametrize("way", ["the egress", "the gateway itself"])
@pytest.mark.parametrize("path", PATHS)
async def test_a_path_is_the_same_to_a_pod_whichever_way_it_came(path: str, way: str) -> None:
    request = f"GET {path} HTTP/1.1\nhost: shop.example"
    async with pod(crossing.show, 7002), asked(way) as line:
        answer = await line.ask(request if way == "the egress" else requesting(WEB, request))
    _, status, _ = answer.split(" ", 2)
    arrived = answer.partition("\r\n\r\n")[2].split(" ")[1] if status == "200" else status
    assert arrived == PATHS[path]


def listening() -> set[str]:
    """Return the places at which anything listens on this machine, and some that are elsewhere."""
    found = {"169.254.169.254:80", "192.0.2.1:443", "10.96.0.1:443", "metadata.google.internal:80"}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        address, port = line.split()[1].split(":")
        if line.split()[3] == "0A":
            host = socket.inet_ntoa(bytes.fromhex(address)[::-1])
            found.add(f"{'127.0.0.1' if host == '0.0.0.0' else host}:{int(port, 16)}")
    return found


async def test_a_gateway_is_no_relay_to_anything_that_listens(both: Crossing) -> None:
    """By header, by CONNECT and by URI; also to its own pages, and to those who configure it."""
    async with nobody_came():
        places = sorted(listening())
        assert any(place.startswith(crossing.PODS) for place in places)  # the pods listen, too
        before = await both.west.total(".upstream_cx_total")
        async with framing(KNOWN) as line:
            for place in places[:300]:
                assert await line.ask(asking(place)) == "404"
                connect = [(b":method", b"CONNECT"), (b":authority", place.encode())]
                assert await line.ask([*connect, (b"isthmus-destination", place.encode())]) == "404"
                assert await line.ask(connect) == "404"
        for place in places[:20]:
            host = place.partition(":")[0]
            with suppress(ValueError, UnicodeError):  # names that Python does not let us ask for
                assert await greeting(KNOWN, host) == ""
                assert await greeting(KNOWN, server_name(place)) == ""
        assert await both.west.total(".upstream_cx_total") == before


async def test_what_is_granted_to_one_cluster_is_not_granted_to_the_same_account_of_another() -> (
    None
):
    """Everybody of the mesh is let in to speak, but only whom a Grant names gets further."""
    north = pki.credentials(pki.identity("north", "curl"))
    async with nobody_came():
        for to in ("web", "open"):
            assert await told(north, authority(to)) == "HTTP/1.1 403 Forbidden"
        for to in ("echo", "open-echo"):
            assert await greeting(north, server_name(authority(to))) == ""
