"""Calls as pods make them: names from the cluster's own name server, from their own address."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.mesh import calls, lookups
from isthmus.embedded.mesh.calls import Caller, NoCaller, Unanswered
from isthmus.embedded.mesh.installed import name_server
from isthmus.embedded.mesh.kinds import create
from isthmus.model.objects import Key
from tests.support import machine as machines
from tests.support.machine import Admin, deployment, headless, pod, service, stateful_set
from tests.support.waiting import until

pytestmark = pytest.mark.sockets

WEST = (
    *(stateful_set("set", 2, of="svc"), headless("svc", "set")),
    *(deployment("web", 1), service("web", "web"), service("nobody", "nobody"), pod("curl")),
)


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Machine, Admin]]:
    """A cluster whose pods are ready, and whose name server can be found."""
    async with machines.running(*WEST) as (machine, kubectl):
        await create(kubectl.client, [name_server(machine.cluster.service_range)])
        await kubectl.until_ready("set-0", "set-1", app="set")
        await until(lambda: kubectl.slices("web"), lambda found: bool(found[0].endpoints))
        await until(kubectl.pods, lambda found: all(one.is_ready for one in found))
        yield machine, kubectl


async def curl(machine: Machine, kubectl: Admin) -> Caller:
    domain = machine.cluster.domain
    return await calls.caller(kubectl.client, Key("default", "curl"), domain, machine.ports)


def url(machine: Machine, name: str) -> str:
    return f"http://{name}:{machine.ports.at(80)}/"


async def test_a_pod_calls_by_short_and_by_full_names() -> None:
    async with running() as (machine, kubectl):
        who = await curl(machine, kubectl)
        for name in ("set-1.svc", "set-1.svc.default.svc.west.cluster.local", "SET-1.svc.default"):
            answer = await calls.call(who, url(machine, name))
            assert answer.status == 200
            assert answer.body.startswith("Welcome, this is set-1\n")
            assert f"from: {who.address}\n" in answer.body
        everywhere = await lookups.addresses(
            who.name_server, who.address, "svc.default.svc.west.cluster.local"
        )
        assert everywhere == machine.resolve("svc")


async def test_of_a_call_without_an_answer_it_is_said_why() -> None:
    async with running() as (machine, kubectl):
        who = await curl(machine, kubectl)
        for name, why in (
            ("no-such", "no-such: no such name in west.cluster.local"),
            ("example.com", "example.com: no such name in west.cluster.local"),
            ("nobody", "Connect call failed"),
        ):
            with pytest.raises(Unanswered, match=why):
                await calls.call(who, url(machine, name))
        with pytest.raises(Unanswered, match="'web' is not the address of a page"):
            await calls.call(who, "web")


async def test_only_pods_that_run_can_call() -> None:
    async with running() as (machine, kubectl):
        for key in (Key("default", "gone"), Key("none", "curl")):
            with pytest.raises(NoCaller, match=f"^{key}"):
                await calls.caller(kubectl.client, key, "west.cluster.local", machine.ports)


async def test_a_name_server_that_is_away_is_told_from_a_name_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookups, "PATIENCE", 0.1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(lookups.NoNames):
            await lookups.addresses(silent.getsockname(), "127.0.0.1", "web")
        asked = await asyncio.to_thread(silent.recv, 512)
        assert b"\x03web\x00" in asked
    with pytest.raises(lookups.NoNames):
        await lookups.addresses(silent_place(), "127.0.0.1", "web")


def silent_place() -> tuple[str, int]:
    """Where nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        host, port = free.getsockname()
    return host, port


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("nginx", id="no scheme"),
        pytest.param("ftp://nginx", id="another scheme"),
        pytest.param("file:///etc/passwd", id="a file"),
        pytest.param("http://", id="nobody"),
        pytest.param("http://@", id="a user without a host"),
        pytest.param("http://nginx:99999", id="a port too high"),
        pytest.param("http://nginx:-1", id="a port too low"),
        pytest.param("http://nginx:abc", id="a port that is none"),
        pytest.param("http://[::1", id="half an address"),
        pytest.param("http://[::1]/", id="IPv6"),
        pytest.param("http://a\x1b[31mb/", id="an escape sequence"),
        pytest.param("http://" + "a" * 100_000, id="a name without end"),
        pytest.param("http://" + "ü" * 70, id="a label too long"),
    ],
)
async def test_what_is_no_address_of_a_page_is_named_in_one_short_line(url: str) -> None:
    nobody = Caller("127.0.0.1", "default", "east.cluster.local", ("127.0.0.1", 1))
    with pytest.raises(Unanswered, match=r"is not the address of a page; one begins") as raised:
        await calls.call(nobody, url)
    said = str(raised.value)
    assert len(said) < 300
    assert said.isprintable()
