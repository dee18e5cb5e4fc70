"""Calls to Service addresses, on real sockets: who answers, who is seen, and how they end."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from isthmus.embedded.machine.addresses import backends
from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.machine.programs import PROGRAMS, Site
from isthmus.embedded.machine.streams import Stream, abort_after, closed, listening, reset
from isthmus.kube.resources import SERVICES
from isthmus.model.objects import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    ServicePort,
)
from tests.support.machine import (
    answered,
    call,
    deployment,
    opened,
    pod,
    running,
    service,
    slice_of,
)
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.sockets

ECHO = "isthmus.dev/echo"


async def said(stream: Stream, text: bytes) -> bytes:
    stream[1].write(text)
    return await stream[0].readexactly(len(text))


async def until_refused(machine: Machine, name: str) -> None:
    async def refused() -> bool:
        try:
            _, writer = await machine.connect("curl", name, 80)
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:  # it was closing at that very moment
            return False
        await closed(writer)
        return False

    await until(refused, lambda found: found)


async def test_a_service_address_is_balanced_over_all_pods() -> None:
    objects = service("web", "web"), deployment("web", 3), pod("curl")
    async with running(*objects) as (machine, kubectl):
        await kubectl.until_served("web", 3)
        names = {one.metadata.name for one in await kubectl.pods("web")}

        async def answered() -> Counter[str]:
            replies = [await call(machine, "curl", "http://web/") for _ in range(9)]
            return Counter(reply.greeting for reply in replies)

        await until(answered, lambda found: found == dict.fromkeys(names, 3))


async def test_the_pod_sees_the_address_of_the_pod_that_calls() -> None:
    objects = service("web", "web"), pod("web", "nginx"), pod("curl"), pod("other")
    async with running(*objects) as (machine, _):
        await answered(machine, "other", "http://web/")
        for name in ("curl", "other"):
            reply = await call(machine, name, "http://web.default.svc/")
            assert reply.told["from"] == machine.pod(name).status.pod_ip
            assert reply.told["host"] == "web.default.svc"


async def test_each_side_ends_for_itself() -> None:
    objects = service("web", "web"), pod("web", ECHO), pod("curl")
    async with running(*objects) as (machine, _):
        reader, writer = await opened(machine, "curl", "web")
        size = 3_000_000
        writer.write(bytes(size))
        writer.write_eof()
        assert len(await reader.readexactly(size)) == size
        assert await reader.read() == b""
        await closed(writer)


async def test_a_server_may_speak_first() -> None:
    objects = service("web", "web"), pod("web", "isthmus.dev/greeter"), pod("curl")
    async with running(*objects) as (machine, _):
        reader, writer = await opened(machine, "curl", "web")
        assert await reader.readline() == b"220 web\n"
        await closed(writer)


async def test_a_port_without_endpoints_is_refused_and_open_connections_stay() -> None:
    objects = service("web", "web"), pod("web", ECHO), pod("curl")
    async with running(*objects) as (machine, kubectl):
        stream = await opened(machine, "curl", "web")
        unready = {"conditions": [{"type": "Ready", "status": "False"}]}
        await kubectl.change("Pod", "web", {"status": unready}, "status")
        address = await kubectl.address("web")
        await until_refused(machine, address)
        assert await said(stream, b"still here") == b"still here"
        await kubectl.delete("Service", "web")
        await until_refused(machine, address)
        assert await said(stream, b"and now") == b"and now"
        await kubectl.delete("Pod", "web")
        assert await stream[0].read() == b""
        await closed(stream[1])


async def test_who_breaks_off_breaks_off_on_both_sides() -> None:
    ends: list[str] = []

    @asynccontextmanager
    async def witness(site: Site) -> AsyncIterator[None]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                if await reader.readline() == b"reset me\n":
                    reset(writer)
                await reader.read()
                ends.append("ended")
            except OSError:
                ends.append("broken")

        async with listening(answer, site.address, site.ports):
            yield

    objects = service("web", "web"), pod("web", "witness"), pod("curl")
    async with running(*objects, programs={**PROGRAMS, "witness": witness}) as (machine, _):
        _, writer = await opened(machine, "curl", "web")
        await closed(writer)
        await eventually(lambda: ends == ["ended"])
        _, writer = await opened(machine, "curl", "web")
        writer.write(b"hello\n")
        await writer.drain()
        reset(writer)
        await eventually(lambda: ends == ["ended", "broken"])
        reader, writer = await opened(machine, "curl", "web")
        writer.write(b"reset me\n")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.transport.abort()


async def test_a_load_balancer_answers_at_an_address_that_everybody_can_reach() -> None:
    objects = service("web", "web", type="LoadBalancer"), pod("web", "nginx"), pod("curl")
    async with running(*objects) as (machine, kubectl):

        async def ingress() -> list[str]:
            found = await kubectl.client.get(SERVICES, Key("default", "web"))
            return [one.ip for one in found.status.load_balancer.ingress]

        (address,) = await until(ingress, bool)
        assert (await answered(machine, "curl", f"http://{address}/")).greeting == "web"


async def test_a_service_follows_slices_that_others_write() -> None:
    """Mirrors have no selector: their slices come from our controller."""
    mirror = service("web-west", "")
    del mirror["spec"]["selector"]
    async with running(mirror, pod("web", ECHO), pod("curl")) as (machine, kubectl):
        (_, web) = await kubectl.until_ready("curl", "web")
        await until_refused(machine, await kubectl.address("web-west"))
        port = machine.ports.at(80)
        await kubectl.create(slice_of("web-west", [web.status.pod_ip], port))
        stream = await opened(machine, "curl", "web-west")
        assert await said(stream, b"hello") == b"hello"
        await closed(stream[1])
        await kubectl.delete("EndpointSlice", "web-west-1")
        await until_refused(machine, await kubectl.address("web-west"))


async def test_slices_that_others_write_for_a_service_with_a_selector_stay() -> None:
    objects = service("web", "web"), pod("web", "nginx"), pod("other", "nginx"), pod("curl")
    async with running(*objects) as (machine, kubectl):
        _, other, _ = await kubectl.until_ready("curl", "other", "web")
        await kubectl.create(slice_of("web", [other.status.pod_ip], machine.ports.at(80)))

        async def greetings() -> set[str]:
            replies = [await answered(machine, "curl", "http://web/") for _ in range(4)]
            return {reply.greeting for reply in replies}

        await until(greetings, lambda found: found == {"other", "web"})
        await kubectl.change("Service", "web", {"metadata": {"labels": {"tier": "front"}}})
        await until(
            lambda: kubectl.slices("web"),
            lambda found: sorted("tier" in one.metadata.labels for one in found) == [False, True],
        )


async def test_an_endpoint_that_does_not_answer_resets_the_caller() -> None:
    mirror = service("web-west", "")
    del mirror["spec"]["selector"]
    async with running(mirror, pod("curl")) as (machine, kubectl):
        (curl,) = await kubectl.until_ready("curl")
        await kubectl.create(slice_of("web-west", [curl.status.pod_ip], 81))
        reader, writer = await opened(machine, "curl", "web-west")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.transport.abort()


READY = EndpointConditions(ready=True, serving=True, terminating=False)
LEAVING = EndpointConditions(ready=False, serving=True, terminating=True)
UNREADY = EndpointConditions(ready=False, serving=False, terminating=False)


@pytest.mark.parametrize(
    "endpoints, expected",
    [
        pytest.param([("127.2.0.2", READY), ("127.2.0.1", READY)], [1, 2], id="all that are ready"),
        pytest.param([("127.2.0.1", EndpointConditions())], [1], id="unknown means ready"),
        pytest.param([("127.2.0.1", LEAVING), ("127.2.0.2", READY)], [2], id="not who leaves"),
        pytest.param(
            [("127.2.0.1", LEAVING), ("127.2.0.2", UNREADY)], [1], id="unless nobody else"
        ),
        pytest.param([("127.2.0.1", UNREADY)], [], id="not who is not ready"),
        pytest.param([("192.0.2.1", READY)], [], id="never away from this machine"),
    ],
)
def test_backends(endpoints: list[tuple[str, EndpointConditions]], expected: list[int]) -> None:
    one = EndpointSlice(
        metadata=Metadata(name="a"),
        address_type="IPv4",
        endpoints=tuple(
            Endpoint(addresses=(address,), conditions=conditions)
            for address, conditions in endpoints
        ),
        ports=(EndpointPort(name="http", port=8080), EndpointPort(name="admin", port=9090)),
    )
    found = backends(ServicePort(name="http", port=80), [one])
    assert found == [(f"127.2.0.{number}", 8080) for number in expected]


async def test_a_connection_ends_with_a_task_that_was_cancelled_before_it_began() -> None:
    accepted: list[asyncio.StreamWriter] = []

    async def treat() -> None:
        raise AssertionError("it never runs")

    def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        task = asyncio.get_running_loop().create_task(treat())
        abort_after(task, writer)
        task.cancel()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b""
        await closed(writer)
    assert all(one.transport.is_closing() for one in accepted)
