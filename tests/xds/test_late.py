"""A caller whose address is not known yet waits for a moment, and is served as who it turns out to
be; through two real Envoys.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from itertools import count

import pytest
from msgspec.structs import replace

from isthmus.xds import egress, late
from isthmus.xds.resources import together
from isthmus.xds.snapshot import snapshot
from tests.support.servers import Talk
from tests.support.waiting import until
from tests.xds import crossing
from tests.xds.crossing import CURL, CURL_ID, NET, Crossing, call, pod
from tests.xds.routes import outbound
from tests.xds.test_session_model import World, assert_arrived

pytestmark = [pytest.mark.sockets, pytest.mark.usefixtures("both")]

HTTP = outbound(protocol="http")
REQUEST = "GET /late HTTP/1.1\nhost: shop.example"
UPGRADE = "GET /ws HTTP/1.1\r\nhost: w\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
REFUSED_REQUESTS = "http.out|west.no_cluster"
REFUSED_CONNECTIONS = "cluster.identify.upstream_cx_connect_attempts_exceeded"
WAITING = ("http.out|west.downstream_rq_active", "tcp.out|west|default|echo.downstream_cx_total")
BOUND = 6.0  # seconds after which nobody waits any more

_numbers = count(100)


def newcomer() -> str:
    """An address that no test has called from before."""
    return f"{NET}.{next(_numbers)}"


@asynccontextmanager
async def known(both: Crossing, address: str, account: str) -> AsyncIterator[None]:
    both.tell_east(replace(crossing.EAST, callers={**crossing.CALLERS, address: account}))
    try:
        yield
    finally:
        both.tell_east(crossing.EAST)


async def waits(both: Crossing, name: str, before: int = 0) -> None:
    """Wait until the egress has taken somebody in."""
    await until(lambda: both.east.count(name), lambda found: found > before)


async def accounted(talk: Talk) -> None:
    """Answer a request with the digest of its body."""
    head = await talk.reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
    body = sha256(await talk.reader.readexactly(length)).hexdigest().encode()
    await talk.say(b"HTTP/1.1 200 OK\r\ncontent-length: 64\r\n\r\n" + body)


async def test_a_request_waits_until_its_caller_is_known(both: Crossing) -> None:
    async with pod(crossing.show, 7002) as server, call("web", address := newcomer()) as line:
        asked = asyncio.create_task(line.ask(REQUEST))
        await waits(both, WAITING[0])
        assert not asked.done()
        assert server.connections == 0
        async with known(both, address, "default/curl"):
            answer = await asked
        async with call("web") as other:
            at_once = await other.ask(REQUEST)
    assert answer.startswith("HTTP/1.1 200 ")
    assert answer.count(f"URI={CURL_ID}") == 1
    assert "isthmus-" not in answer
    # Neither the pod nor the caller can tell that it has waited.
    assert lines(answer.replace(address, CURL)) == lines(at_once)


async def test_a_body_of_any_length_arrives_whole_and_once(both: Crossing) -> None:
    body = bytes(range(256)) * (16 << 10)  # 4 MiB, more than anybody keeps for another attempt
    head = f"POST /late HTTP/1.1\r\nhost: w\r\ncontent-length: {len(body)}\r\n\r\n"
    async with pod(accounted, 7002) as server, call("web", address := newcomer()) as line:
        line.writer.write(head.encode() + body)
        await waits(both, WAITING[0])
        async with known(both, address, "default/curl"):
            answer = await line.reader.readuntil(b"\r\n\r\n")
            digest = await line.reader.readexactly(64)
        assert server.connections == 1
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert digest.decode() == sha256(body).hexdigest()


async def test_a_web_socket_waits_too(both: Crossing) -> None:
    async with pod(crossing.show, 7002), call("web", address := newcomer()) as line:
        await line.say(UPGRADE)
        await waits(both, WAITING[0])
        async with known(both, address, "default/curl"):
            head = (await line.reader.readuntil(b"\r\n\r\n")).decode()
            assert head.startswith("HTTP/1.1 101 ")
            assert await line.hear() == "welcome\n"
            await line.say("frame\n")
            assert await line.hear() == "frame\n"


async def test_a_connection_waits_until_its_caller_is_known(both: Crossing) -> None:
    """What it says meanwhile is not lost, nor that it has nothing more to say."""
    before = await both.east.count(WAITING[1])
    async with pod(crossing.echo, 7001) as server, call("echo", address := newcomer()) as line:
        await line.say("hello\n")
        line.writer.write_eof()
        await waits(both, WAITING[1], before)
        assert server.connections == 0
        async with known(both, address, "default/curl"):
            assert await line.rest() == "welcome\nhello\ngoodbye\n"
        assert server.connections == 1


@pytest.mark.parametrize("forged", ["", "isthmus-room: 6", "isthmus-room: 1"])
async def test_a_request_of_nobody_is_refused_in_the_end_and_counted_once(
    both: Crossing, forged: str
) -> None:
    before = await both.east.count(REFUSED_REQUESTS)
    began = asyncio.get_running_loop().time()
    async with pod(crossing.show, 7002) as server, call("web", newcomer()) as line:
        answer = await line.ask(f"{REQUEST}\n{forged}".strip())
        assert server.connections == 0
    assert answer.startswith("HTTP/1.1 503 ")
    assert 2.9 < asyncio.get_running_loop().time() - began < BOUND
    assert await both.east.count(REFUSED_REQUESTS) == before + 1


async def test_a_connection_of_nobody_is_closed_in_the_end_and_counted_once(
    both: Crossing,
) -> None:
    before = await both.east.count(REFUSED_CONNECTIONS)
    began = asyncio.get_running_loop().time()
    async with pod(crossing.echo, 7001) as server:
        assert await crossing.heard("echo", newcomer()) == ""
        assert server.connections == 0
    assert 1.5 < asyncio.get_running_loop().time() - began < BOUND
    assert await both.east.count(REFUSED_CONNECTIONS) == before + 1


async def test_an_address_that_moves_meanwhile_is_who_has_it_last(both: Crossing) -> None:
    """Never who had it before: that one had a Grant, this one has none."""
    address = newcomer()
    async with pod(crossing.echo, 7001) as echo, pod(crossing.show, 7002) as web:
        async with known(both, address, "default/curl"):
            await until(lambda: status(address), lambda found: found == "200")
        await until(lambda: held(both, address), bool)
        reached = web.connections, echo.connections
        async with call("web", address) as line, call("echo", address) as other:
            asked = asyncio.create_task(line.ask(REQUEST))
            await waits(both, WAITING[0])
            async with known(both, address, "default/other"):
                assert (await asked).startswith("HTTP/1.1 403 ")
                assert await other.rest() == ""
        assert (web.connections, echo.connections) == reached


async def test_who_hangs_up_while_waiting_is_not_spoken_for(both: Crossing) -> None:
    """The next pod with that address must not be taken for who has called."""
    address = newcomer()
    async with pod(crossing.show, 7002) as server:
        async with call("web", address) as line:
            await line.say("\r\n".join([*REQUEST.splitlines(), "", ""]))
            await waits(both, WAITING[0])
        await until(lambda: both.east.count(WAITING[0]), lambda found: found == 0)
        assert server.connections == 0


def test_a_link_that_ends_takes_its_rooms_along() -> None:
    """Each leads to routes that lead to each; such a circle must not hold itself."""
    world = World()
    made = [*late.requests("west"), egress.table("west", {}), egress.outbound(HTTP, "127.0.0.1")]
    whole = snapshot(together(made))
    world.publish(whole)
    world.settle()
    assert_arrived(world)
    world.publish(snapshot({}, whole))
    world.settle()
    assert_arrived(world)
    assert not any(world.envoy.taken.values())


def lines(answer: str) -> list[str]:
    """All that was said, but for when it was and how long it is."""
    apart = ("date: ", "content-length: ")
    return sorted(one for one in answer.splitlines() if not one.startswith(apart))


async def status(address: str) -> str:
    async with call("web", address) as line:
        return (await line.ask(REQUEST))[9:12]


async def held(both: Crossing, address: str) -> bool:
    """Tell whether a request of this address is kept waiting now."""
    async with call("web", address) as line:
        await line.say("\r\n".join([*REQUEST.splitlines(), "", ""]))
        with suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                await line.hear()
                return False
    await until(lambda: both.east.count(WAITING[0]), lambda found: found == 0)
    return True
