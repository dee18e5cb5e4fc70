"""What gets through to a pod of west and what does not, through the whole chain, and how both are
counted. The certificates that prove nobody are in tests/xds/test_refusals.py, on the same gateway.
"""

import asyncio
import re
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from isthmus.apps.controller.metrics import registry
from isthmus.embedded.machine.programs import PROGRAMS, Site
from isthmus.embedded.machine.records import Unresolved
from isthmus.embedded.machine.streams import connect, listening
from isthmus.model.names import EXPORTED
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from isthmus.xds.tunnels import PROTOCOL, server_name
from tests.dataplane.fleet import count, metrics, served, shared
from tests.dataplane.joined import GRANTS, Pair, account, pair
from tests.dataplane.workloads import SHORT, SYSTEM
from tests.support import pki
from tests.support.machine import pod, service, session
from tests.support.waiting import until
from tests.xds.crossing import load

pytestmark = pytest.mark.sockets

CAME: Counter[str] = Counter()  # who came to which pod
SOON = 5.0  # seconds


@asynccontextmanager
async def witness(site: Site) -> AsyncIterator[None]:
    """Greet whoever connects, and remember that somebody did."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        CAME[site.hostname] += 1
        writer.write(b"welcome\n")
        while data := await reader.read(65536):
            writer.write(data)

    async with listening(answer, site.address, site.ports):
        yield


@asynccontextmanager
async def status(site: Site) -> AsyncIterator[None]:
    """Answer with the status that the path asks for."""

    async def answer(request: web.BaseRequest) -> web.Response:
        CAME[site.hostname] += 1
        return web.Response(status=int(request.path.rpartition("/")[2] or 200), text="x" * 1000)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.TCPSite(runner, site.address, site.ports[0]).start()
        yield
    finally:
        await runner.cleanup()


def serving(name: str, port: str, image: str, *, exported: bool = True) -> tuple[JsonObject, ...]:
    made = service(name, name, ports=[{"name": port, "port": 80, "targetPort": "http"}])
    made["metadata"]["labels"] |= {EXPORTED: str(exported).lower()}
    return pod(name, image), made


WEST = (
    *serving("web", "http", "test/status"),
    *serving("db", "data", "test/witness"),
    *serving("brief", "http", "test/status"),
    *serving("brief-db", "data", "test/witness"),
    *serving("hidden", "http", "test/status", exported=False),
    *serving("hidden-db", "data", "test/witness", exported=False),
)
NAMESPACE = {"kind": "Namespace", "metadata": {"name": "elsewhere"}}
EAST = (
    pod("curl", serviceAccountName="default"),
    account("other"),
    pod("other", serviceAccountName="other"),
    NAMESPACE,
)
GRANT = {"from": {"serviceAccounts": ["default/default"]}}
PROGRAMS_HERE = {**PROGRAMS, "test/witness": witness, "test/status": status}


@pytest.fixture(scope="module")
def two(runner: asyncio.Runner) -> Iterator[Pair]:
    made = pair(east=EAST, west=WEST, grant=GRANT, programs=PROGRAMS_HERE)
    with shared(runner, made) as found:
        runner.run(furnished(found))
        yield found


async def furnished(two: Pair) -> None:
    elsewhere = pod("elsewhere", serviceAccountName="default")
    await two.east.kubectl.create(elsewhere, namespace="elsewhere")
    names = ("web", "db", "brief", "brief-db")
    await served(two.east, *(f"{name}-west" for name in names))
    await until(partial(requested, two, "curl"), lambda found: found == 200)


@asynccontextmanager
async def nobody_came() -> AsyncIterator[None]:
    before = CAME.total()
    yield
    assert CAME.total() == before


async def requested(two: Pair, caller: str, namespace: str = "default") -> int:
    """Return what a request of a pod is answered with; 0 if it is not answered."""
    with suppress(OSError, aiohttp.ClientError, Unresolved):
        async with (
            session(two.east.machine, caller, namespace) as client,
            client.get("http://web-west.default/200") as reply,
        ):
            return reply.status
    return 0


async def greeted(two: Pair, caller: str, namespace: str = "default") -> bytes:
    """Return what a connection of a pod hears first; nothing if it is closed before."""
    with suppress(OSError, Unresolved):
        reader, writer = await two.east.machine.connect(
            caller, "db-west.default", 80, namespace=namespace
        )
        try:
            return await reader.readline()
        finally:
            writer.transport.abort()
    return b""


DENIED, CLOSED = "envoy_http_gateway_rbac_denied", "envoy_listener_doors_no_filter_chain_match"
NO_ROUTE, NO_TUNNEL = "envoy_http_gateway_no_route", "envoy_tcp_tunnels_downstream_cx_no_route"
NO_CALLER = "envoy_cluster_identify_upstream_cx_connect_attempts_exceeded"

gateway = partial(count, pod="isthmus-gateway")
egress = partial(count, pod="isthmus-egress")


async def test_whoever_is_granted_it_gets_through(two: Pair) -> None:
    """Otherwise what follows could pass for the wrong reasons."""
    assert await requested(two, "curl") == 200
    assert await greeted(two, "curl") == b"welcome\n"


@pytest.mark.parametrize(
    "caller, namespace",
    [
        pytest.param("other", "default", id="another account"),
        pytest.param("elsewhere", "elsewhere", id="another namespace"),
    ],
)
async def test_a_grant_is_for_no_other_account(two: Pair, caller: str, namespace: str) -> None:
    denied = await gateway(two.west, name=DENIED)
    closed = await gateway(two.west, name=CLOSED)
    async with nobody_came():
        assert await requested(two, caller, namespace) == 403
        assert await greeted(two, caller, namespace) == b""
    assert await gateway(two.west, name=DENIED) == denied + 1
    assert await gateway(two.west, name=CLOSED) == closed + 1


async def test_an_address_that_is_no_pods_gets_nowhere(two: Pair) -> None:
    where = await two.east.listener("db-west")
    address, _, port = where.partition(":")
    before = await egress(two.east, name=NO_CALLER)
    async with nobody_came():
        with suppress(OSError):
            reader, writer = await connect("127.0.0.1", address, int(port))
            assert await reader.read() == b""
            writer.close()
    # Whoever was turned away before may be counted only now: they were all kept waiting first.
    assert await egress(two.east, name=NO_CALLER) > before


# What somebody can do who has stolen the certificate of an account, and stands before the gateway.


def stolen(two: Pair) -> pki.Credentials:
    (controller,) = two.east.controllers
    found = controller.dataplane.authority.account("default", "default")
    return pki.Credentials((found.leaf, found.issuer), found.key)


def context(shown: pki.Credentials | None, protocol: str) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.set_alpn_protocols([protocol])
    if shown is not None:
        load(made, shown)
    return made


@asynccontextmanager
async def knocking(
    two: Pair, shown: pki.Credentials | None, protocol: str, asked: str | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    address = two.west.machine.pod("isthmus-gateway", SYSTEM).status.pod_ip
    reader, writer = await asyncio.open_connection(
        address, 4143, ssl=context(shown, protocol), server_hostname=asked
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def authority(name: str, port: int = 80) -> str:
    return f"{name}.default.svc.west.cluster.local:{port}"


async def answered(two: Pair, request: str, destination: str) -> str:
    """Return the status of the gateway's answer to a request in the account's name."""
    async with knocking(two, stolen(two), "http/1.1") as (reader, writer):
        head = f"{request} HTTP/1.1\r\nhost: w\r\nisthmus-destination: {destination}\r\n\r\n"
        writer.write(head.encode())
        return (await reader.readuntil(b"\r\n")).decode().split()[1]


async def tunnelled(two: Pair, asked: str) -> bytes:
    with suppress(OSError):
        async with knocking(two, stolen(two), PROTOCOL, server_name(asked)) as (reader, _):
            return await reader.readline()
    return b""


ELSEWHERE: dict[str, Callable[[Pair], str]] = {
    "another service": lambda _: authority("hidden"),
    "another service for connections": lambda _: authority("hidden-db"),
    "another port": lambda _: authority("web", 81),
    "another port for connections": lambda _: authority("db", 81),
    "a pod": lambda two: f"{two.west.machine.pod('web').status.pod_ip}:80",
    "metadata": lambda _: "169.254.169.254:80",
    "the machine": lambda _: "127.0.0.1:80",
    "the API": lambda _: "kubernetes.default.svc.west.cluster.local:443",
    "the gateway's own pages": lambda two: (
        f"{two.west.machine.pod('isthmus-gateway', SYSTEM).status.pod_ip}:9991"
    ),
    "the controller": lambda _: "isthmus-controller.isthmus.svc.west.cluster.local:8444",
}


@pytest.mark.parametrize("where", ELSEWHERE)
async def test_a_stolen_certificate_leads_nowhere_else(two: Pair, where: str) -> None:
    to = ELSEWHERE[where](two)
    before = await gateway(two.west, name=NO_ROUTE), await gateway(two.west, name=NO_TUNNEL)
    async with nobody_came():
        assert await answered(two, f"CONNECT {to}", to) == "404"
        assert await answered(two, "GET /", to) == "404"
        assert await tunnelled(two, to) == b""
    after = await gateway(two.west, name=NO_ROUTE), await gateway(two.west, name=NO_TUNNEL)
    assert after == (before[0] + 2, before[1] + 1)


async def test_what_was_exported_a_moment_ago_cannot_be_called(two: Pair) -> None:
    assert await answered(two, "GET /200", authority("brief")) == "200"
    assert await tunnelled(two, authority("brief-db")) == b"welcome\n"
    for name in ("brief", "brief-db"):
        await two.west.export(name, None)
    asked = partial(answered, two, "GET /200", authority("brief"))
    await until(asked, lambda found: found == "404", within=SOON)
    tunnel = partial(tunnelled, two, authority("brief-db"))
    await until(tunnel, lambda found: found == b"", within=SOON)
    async with nobody_came():
        assert (await asked(), await tunnel()) == ("404", b"")


async def test_a_connection_outlives_its_callers_grant_but_not_its_port(two: Pair) -> None:
    """A Grant that names others in the caller's place closes the door; without one it goes."""
    reader, writer = await two.east.machine.connect("curl", "db-west", 80)
    assert await reader.readline() == b"welcome\n"
    others = {"spec": {"from": {"serviceAccounts": ["default/other"]}}}
    await two.west.client.merge_patch(GRANTS, Key("", "east"), others)
    await until(partial(greeted, two, "curl"), lambda found: found == b"", within=SOON)
    await asyncio.sleep(2 * SHORT.drain)
    writer.write(b"still here\n")
    assert await reader.readline() == b"still here\n"
    await two.west.revoke("east")
    with suppress(OSError):
        assert await reader.read() == b""
    writer.transport.abort()
    await two.west.grant("east", **GRANT)
    await until(partial(requested, two, "curl"), lambda found: found == 200, within=20)


@pytest.mark.parametrize("protocol", ["h2", "http/1.1", PROTOCOL])
@pytest.mark.parametrize(
    "shown, counted",
    [
        pytest.param(lambda: None, "fail_verify_no_cert", id="no certificate"),
        pytest.param(
            lambda: pki.credentials(pki.identity()), "fail_verify_error", id="another anchor"
        ),
    ],
)
async def test_strangers_are_not_spoken_to(
    two: Pair, shown: Callable[[], pki.Credentials | None], counted: str, protocol: str
) -> None:
    name = f"envoy_listener_gateway_ssl_{counted}"
    before = await gateway(two.west, name=name)
    asked = server_name(authority("db"))
    async with nobody_came():
        with suppress(OSError):
            async with knocking(two, shown(), protocol, asked) as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\nhost: w\r\n\r\n")
                assert await reader.read() == b""
    assert await gateway(two.west, name=name) == before + 1


async def test_plain_text_is_not_answered(two: Pair) -> None:
    name = "envoy_listener_gateway_ssl_connection_error"
    before = await gateway(two.west, name=name)
    address = two.west.machine.pod("isthmus-gateway", SYSTEM).status.pod_ip
    async with nobody_came():
        reader, writer = await asyncio.open_connection(address, 4143)
        writer.write(f"CONNECT {authority('db')} HTTP/1.1\r\nhost: w\r\n\r\n".encode())
        with suppress(OSError):
            assert await reader.read() == b""
        writer.close()
    assert await gateway(two.west, name=name) == before + 1


# What is counted.

LABELS = {
    "isthmus_direction",
    "isthmus_link",
    "isthmus_namespace",
    "isthmus_service",
    "isthmus_status_class",
    "le",
}


async def test_both_ends_count_requests_by_whom_they_are_for(two: Pair) -> None:
    there = partial(gateway, two.west, direction="in", namespace="default", service="web")
    here = partial(
        egress, two.east, direction="out", link="west", namespace="default", service="web-west"
    )
    up, down = "envoy_cluster_upstream_rq", "envoy_http_downstream_rq"

    async def classes() -> list[tuple[float, float]]:
        kinds = ("2xx", "4xx", "5xx")
        return [
            (await there(name=up, status_class=one), await here(name=down, status_class=one))
            for one in kinds
        ]

    before = await classes()
    sent = await there(name="envoy_cluster_upstream_cx_rx_bytes_total")
    heard = await here(name="envoy_http_downstream_cx_tx_bytes_total")
    async with session(two.east.machine, "curl") as client:
        for code in (200, 200, 201, 404, 503):
            async with client.get(f"http://web-west/{code}") as reply:
                assert (reply.status, len(await reply.read())) == (code, 1000)
    after = await classes()
    gained = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(before, after, strict=True)]
    assert gained == [(3, 3), (1, 1), (1, 1)]
    assert await there(name="envoy_cluster_upstream_cx_rx_bytes_total") >= sent + 5000
    assert await here(name="envoy_http_downstream_cx_tx_bytes_total") >= heard + 5000


async def test_both_ends_count_connections_and_bytes(two: Pair) -> None:
    there = partial(gateway, two.west, direction="in", namespace="default", service="db")
    here = partial(egress, two.east, direction="out", link="west", service="db-west")

    async def counts() -> list[float]:
        return [
            await there(name="envoy_cluster_upstream_cx_total"),
            await there(name="envoy_cluster_upstream_cx_tx_bytes_total"),
            await there(name="envoy_cluster_upstream_cx_rx_bytes_total"),
            await here(name="envoy_tcp_downstream_cx_total"),
            await here(name="envoy_tcp_downstream_cx_rx_bytes_total"),
            await here(name="envoy_tcp_downstream_cx_tx_bytes_total"),
        ]

    before = await counts()
    reader, writer = await two.east.machine.connect("curl", "db-west", 80)
    assert await reader.readline() == b"welcome\n"
    assert await there(name="envoy_cluster_upstream_cx_active") == 1
    writer.write(b"x" * 1000)
    await reader.readexactly(1000)
    writer.close()
    await writer.wait_closed()
    gone = partial(there, name="envoy_cluster_upstream_cx_active")
    await until(gone, lambda found: found == 0)
    after = await counts()
    gained = [b - a for a, b in zip(before, after, strict=True)]
    assert gained == [1, 1000, 1008, 1, 1000, 1008]


async def test_how_long_requests_take_is_counted_at_both_ends(two: Pair) -> None:
    there = {"isthmus_direction": "in", "isthmus_service": "web"}
    here = {"isthmus_direction": "out", "isthmus_link": "west", "isthmus_service": "web-west"}
    for side, name, metric, labels in (
        (two.west, "isthmus-gateway", "envoy_cluster_upstream_rq_time_bucket", there),
        (two.east, "isthmus-egress", "envoy_http_downstream_rq_time_bucket", here),
    ):
        found = [one for one in await metrics(side, name) if one.name == metric]
        bounds = {one.labels["le"] for one in found if labels.items() <= one.labels.items()}
        assert {"1", "10", "100", "+Inf"} <= bounds


async def test_nothing_that_callers_say_becomes_a_series(two: Pair) -> None:
    async def series() -> set[tuple[str, frozenset[tuple[str, str]]]]:
        return {
            (one.name, frozenset(one.labels.items()))
            for side in (two.east, two.west)
            for name in ("isthmus-gateway", "isthmus-egress")
            for one in await metrics(side, name)
        }

    async def say(number: int) -> None:
        headers = {"host": f"h{number}.example", "user-agent": f"agent/{number}"}
        async with (
            session(two.east.machine, "curl") as client,
            client.get(f"http://web-west/p{number}/{200 + number}", headers=headers),
        ):
            pass

    for number in (0, 100, 200, 300):  # one of each class
        await say(number)
    before = await series()
    for number in range(1, 380, 13):
        await say(number)
        with suppress(OSError):
            await answered(two, f"CONNECT h{number}:80", f"h{number}")
        await tunnelled(two, f"h{number}")
    after = await series()
    assert after - before == set()
    assert {key for _, labels in after for key, _ in labels} <= LABELS
    names = {name for name, _ in after}
    assert not [name for name in names if "spiffe" in name or "default" in name or "127_" in name]
    assert len(after) < 1500


PAGES = {
    "GET /ready": 200,
    "GET /stats/prometheus": 200,
    "HEAD /ready": 404,
    "POST /ready": 404,
    "POST /stats/prometheus": 404,
    "GET /": 404,
    "GET /stats": 404,
    "GET /stats/prometheus/": 404,
    "GET /config_dump": 404,
    "GET /certs": 404,
    "GET /clusters": 404,
    "GET /quitquitquit": 404,
    "POST /quitquitquit": 404,
    "POST /healthcheck/fail": 404,
    "POST /logging?level=trace": 404,
    "POST /drain_listeners": 404,
    "GET /ready/../config_dump": 404,
    "GET /ready/%2e%2e/config_dump": 404,
    "GET //config_dump": 404,
    "GET http://admin/config_dump": 404,
    "GET /READY": 404,
}


@pytest.mark.parametrize("page", PAGES)
async def test_of_the_admin_interface_only_two_pages_can_be_read(two: Pair, page: str) -> None:
    address = two.west.machine.pod("isthmus-gateway", SYSTEM).status.pod_ip
    reader, writer = await asyncio.open_connection(address, 9991)
    writer.write(f"{page} HTTP/1.1\r\nhost: w\r\nconnection: close\r\n\r\n".encode())
    status = int((await reader.readline()).split()[1])
    writer.transport.abort()
    assert status == PAGES[page]


async def test_the_admin_interface_itself_has_no_port(two: Pair) -> None:
    """A proxy listens where it says, and nowhere else."""
    for side, name, ports in (
        (two.west, "isthmus-gateway", {4143, 9991}),
        (two.east, "isthmus-egress", {9991}),
    ):
        address = side.machine.pod(name, SYSTEM).status.pod_ip
        opened = {port for port in listening_at(address) if port < 20_000}
        assert opened == ports


def listening_at(address: str) -> set[int]:
    """Return the ports at which something listens at an address, as Linux tells it."""
    wanted = socket.inet_aton(address)[::-1].hex().upper()
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    places = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {int(port, 16) for where, port in places if where == wanted}


async def test_everything_that_is_counted_is_explained(two: Pair) -> None:
    text = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    explained = re.findall(r"`((?:envoy|isthmus|gateway)_[a-z_*]+)`", text)
    counted = {
        re.sub("_(bucket|sum|count)$", "", one.name)
        for side in (two.east, two.west)
        for name in ("isthmus-gateway", "isthmus-egress")
        for one in await metrics(side, name)
    }
    for side in (two.east, two.west):
        (controller,) = side.controllers
        known = registry(controller).collect()
        counted |= {f"{one.name}_total" if one.type == "counter" else one.name for one in known}
    unexplained = {one for one in counted if not any(fnmatch(one, rule) for rule in explained)}
    assert unexplained == set()
