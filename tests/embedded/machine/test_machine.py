"""The machine as a whole: names for any resolver, clusters side by side, and a clean end."""

import asyncio
import os
import socket

import pytest

from isthmus.embedded.machine import ports
from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.records import Unresolved
from tests.embedded.machine.resolver import (
    NOERROR,
    NXDOMAIN,
    REFUSED,
    SRV,
    ask,
    ask_at_length,
    query,
)
from tests.support.machine import (
    answered,
    call,
    cluster,
    headless,
    opened,
    pod,
    running,
    service,
    slice_of,
    stateful_set,
)
from tests.support.waiting import eventually

pytestmark = pytest.mark.sockets

SET = headless("nginx-svc", "nginx-set"), stateful_set("nginx-set", 2, "nginx-svc")
ZONE = "default.svc.west.cluster.local"


async def until_known(machine: Machine, name: str) -> None:
    await eventually(lambda: machine.zone.find(f"{name}.{ZONE}") is not None)


async def test_any_resolver_is_told_the_names_of_the_cluster() -> None:
    async with running(*SET, service("web", "nginx-set"), name="west") as (machine, kubectl):
        first, second = await kubectl.until_ready("nginx-set-0", "nginx-set-1")
        await until_known(machine, "nginx-set-1.nginx-svc")
        dns, addresses = machine.dns, (first.status.pod_ip, second.status.pod_ip)

        reply = await ask(dns, query(f"nginx-set-0.nginx-svc.{ZONE}"))
        assert (reply.rcode, reply.answers) == (NOERROR, addresses[:1])
        reply = await ask(dns, query(f"nginx-svc.{ZONE}"))
        assert set(reply.answers) == set(addresses)
        reply = await ask(dns, query(f"web.{ZONE}"))
        assert reply.answers == (await kubectl.address("web"),)
        port = machine.ports.at(80)
        named, missing, other = await ask_at_length(
            dns,
            query(f"_http._tcp.nginx-svc.{ZONE}", SRV),
            query(f"nginx-set-2.nginx-svc.{ZONE}"),
            query("example.org"),
        )
        assert named.answers == tuple(f"nginx-set-{n}.nginx-svc.{ZONE}:{port}" for n in (0, 1))
        assert (missing.rcode, other.rcode) == (NXDOMAIN, REFUSED)


async def test_an_answer_that_is_too_long_for_a_datagram_comes_by_tcp() -> None:
    many = headless("many", "")
    del many["spec"]["selector"]
    addresses = [f"127.2.0.{number}" for number in range(1, 41)]
    async with running(many, slice_of("many", addresses, 80)) as (machine, _):
        await until_known(machine, "many")
        asked = query(f"many.{ZONE}")
        (whole,) = await ask_at_length(machine.dns, asked)
        assert sorted(whole.answers) == sorted(addresses)
        cut = await ask(machine.dns, asked)
        assert (cut.truncated, cut.answers) == (True, ())


async def test_two_clusters_run_side_by_side_and_know_nothing_of_each_other() -> None:
    objects = service("web", "web"), pod("web", "nginx"), pod("curl")
    async with (
        running(*objects, name="east") as (east, in_east),
        running(*objects, service("only", "web"), name="west") as (west, in_west),
    ):
        for machine, kubectl in ((east, in_east), (west, in_west)):
            await kubectl.until_ready("curl", "web")
            reply = await answered(machine, "curl", "http://web/")
            assert reply.told["from"] == machine.pod("curl").status.pod_ip
        assert east.pod("web").status.pod_ip != west.pod("web").status.pod_ip
        assert await in_east.address("web") != await in_west.address("web")
        await until_known(west, "only")
        with pytest.raises(Unresolved, match="only: no such name in east"):
            east.resolve("only")


async def test_ports_that_may_not_be_bound_answer_higher_up() -> None:
    objects = service("web", "web"), *SET, pod("web", "nginx"), pod("curl")
    async with running(*objects, ports=Ports(1024)) as (machine, kubectl):
        assert machine.dns[1] == 64053
        (one,) = await kubectl.until_served("web", 1)
        assert one.ports[0].port == 64080
        reply = await answered(machine, "curl", "http://web:80/")
        assert (reply.greeting, reply.told["host"]) == ("web", "web")
        await until_known(machine, "nginx-set-1.nginx-svc")
        assert (await call(machine, "curl", "http://nginx-set-1.nginx-svc/")).status == 200
        named = await ask(machine.dns, query(f"_http._tcp.web.{ZONE}", SRV))
        assert named.answers == (f"web.{ZONE}:64080",)


def test_what_may_be_bound_is_found_by_trying() -> None:
    lowest = ports.permitted().lowest
    for port, is_allowed in ((lowest, True), (lowest - 1, False)):
        if port > 0:
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except PermissionError:
                    assert not is_allowed
                except OSError:
                    assert is_allowed  # in use, hence allowed


async def test_nothing_is_left_behind() -> None:
    before = len(os.listdir("/proc/self/fd"))
    tasks = asyncio.all_tasks()
    objects = service("web", "web"), pod("web", "isthmus.dev/echo"), *SET, pod("curl")
    async with running(*objects) as (machine, kubectl):
        await kubectl.until_served("web", 1)
        await until_known(machine, "nginx-set-1.nginx-svc")
        reader, writer = await opened(machine, "curl", "web")
        writer.write(b"half a word")
        assert await reader.readexactly(4) == b"half"
    assert asyncio.all_tasks() == tasks
    await reader.read()
    writer.transport.abort()
    await eventually(lambda: len(os.listdir("/proc/self/fd")) == before)


async def test_what_ends_the_block_passes_unchanged() -> None:
    with pytest.raises(ValueError, match="mine"):
        await _raising(ValueError("mine"))
    with pytest.raises(asyncio.CancelledError):
        await _raising(asyncio.CancelledError())


async def _raising(error: BaseException) -> None:
    async with running(*SET, pod("curl")) as (_, kubectl):
        await kubectl.until_ready("nginx-set-0", "nginx-set-1", "curl")
        raise error


async def test_a_name_server_that_finds_its_address_taken_says_so_and_leaves_nothing() -> None:
    west = cluster("west")
    machine = Machine(west)
    async with Machine(west):
        with pytest.raises(OSError, match="in use"):
            await machine.__aenter__()
