"""Calls as pods make them: names from the cluster's own name server, from their own address."""

import asyncio
import socket

import pytest

from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.mesh import callers, calls, lookups
from isthmus.embedded.mesh.callers import NoCaller
from isthmus.embedded.mesh.calls import Asked, Caller, Unanswered
from isthmus.embedded.mesh.lookups import name_server
from isthmus.kube.plain import KINDS
from isthmus.model.objects import Key
from tests.support.machine import headless, pod, running, stateful_set
from tests.support.waiting import until

pytestmark = pytest.mark.sockets

WEST = stateful_set("set", 2, of="svc"), headless("svc", "set"), pod("curl")


async def test_a_pod_of_another_process_is_found_with_its_name_server() -> None:
    async with running(*WEST) as (machine, kubectl):
        client, domain = kubectl.client, machine.cluster.domain
        await client.create(KINDS["Service"], name_server(machine.cluster.service_range))
        await kubectl.until_ready("curl", "set-0", "set-1")
        await kubectl.until_served("svc", 2)
        who = await callers.found(client, Key("default", "curl"), domain, machine.ports)
        assert who == callers.here(machine, Key("default", "curl"))
        everywhere = lambda: who.resolve("svc.default.svc.west.cluster.local")  # noqa: E731
        await until(everywhere, lambda seen: seen == machine.resolve("svc"))
        answer = await calls.call(who, Asked("http://set-1.svc"))
        assert (answer.status, answer.body.splitlines()[0]) == (200, "Welcome, this is set-1")
        for key in (Key("default", "gone"), Key("none", "curl")):
            with pytest.raises(NoCaller, match=f"^{key}"):
                await callers.found(client, key, domain, machine.ports)


async def test_a_port_that_was_moved_is_found_where_it_is() -> None:
    async with running(*WEST, ports=Ports(1024)) as (machine, kubectl):
        await kubectl.until_ready("curl", "set-0", "set-1")
        await kubectl.until_served("svc", 2)
        who = callers.here(machine, Key("default", "curl"))
        answer = await calls.call(who, Asked("http://set-0.svc"))
        assert "host: set-0.svc\n" in answer.body


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
    nobody = Caller("127.0.0.1", "default", "east.cluster.local", ("127.0.0.1", 1), Ports(1))
    with pytest.raises(Unanswered, match=r"is not the address of a page; one begins") as raised:
        await calls.call(nobody, Asked(url))
    said = str(raised.value)
    assert len(said) < 300
    assert said.isprintable()
