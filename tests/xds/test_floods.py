"""Floods at the real gateway, by somebody who has a certificate, and at the real egress, by a pod.

Whoever makes one is hung up on, memory stays where it was, and others are served meanwhile."""

import asyncio
import resource
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from functools import partial

import pytest

from tests.xds import crossing
from tests.xds.crossing import OTHER, Crossing, call, knock, pod
from tests.xds.frames import (
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    RST_STREAM,
    SETTINGS,
    Frames,
    asking,
    block,
    calling,
    frame,
    framing,
    integer,
)
from tests.xds.knocking import KNOWN, REQUEST, WEB

pytestmark = [pytest.mark.sockets, pytest.mark.usefixtures("both")]

MIB = 1 << 20
MOST_GROWTH = 64 * MIB  # of the gateway's memory, whatever is done to it
MOST_SENT = 16 * MIB  # before the gateway must have had enough
GOOD = block(asking(WEB))


@asynccontextmanager
async def unharmed(both: Crossing) -> AsyncIterator[None]:
    """Attack, and see that another caller is served at once, and that memory is where it was."""
    async with pod(crossing.show, 7002):
        assert await is_served()
        before = [proxy.resident() for proxy in (both.west, both.east)]
        yield
        assert await is_served()
        after = [proxy.resident() for proxy in (both.west, both.east)]
    grown = [now - then for now, then in zip(after, before, strict=True)]
    assert max(grown) < MOST_GROWTH, f"gateway and egress have taken {grown} bytes more"


async def is_served() -> bool:
    """Tell whether a pod of another account is answered, which takes both proxies.

    Pods of one account share their connections to a gateway, and what one of them does to these.
    """
    async with asyncio.timeout(5), call("open", OTHER) as line:
        return (await line.ask(REQUEST)).startswith("HTTP/1.1 200 ")


async def is_hung_up_on(line: Frames, flood: AsyncIterator[bytes]) -> bool:
    """Write a flood until the other side has had enough of it; tell whether it ever had."""

    async def until_the_end() -> None:
        while await line.read() is not None:
            pass

    ended = asyncio.create_task(until_the_end())
    sent, is_open = 0, True
    async with asyncio.timeout(20):
        async for part in flood:
            line.write(part)
            sent += len(part)
            is_open = await line.flush()
            if ended.done() or not is_open or sent > MOST_SENT:
                break
    await asyncio.wait({ended}, timeout=2)
    enough = ended.done() or not is_open
    ended.cancel()
    await asyncio.wait({ended})
    return enough


async def resets(line: Frames) -> AsyncIterator[bytes]:
    """Ask and take it back, at once and again and again."""
    while True:
        parts = []
        for _ in range(50):
            stream = line.stream()
            parts.append(frame(HEADERS, END_HEADERS | END_STREAM, stream, GOOD))
            parts.append(frame(RST_STREAM, 0, stream, CANCEL))
        yield b"".join(parts)
        await asyncio.sleep(0)


async def continuations(line: Frames) -> AsyncIterator[bytes]:
    """Begin a block of headers and never end it."""
    stream = line.stream()
    yield frame(HEADERS, 0, stream, GOOD)
    more = block([(b"x", b"y" * 1000)] * 8)
    while True:
        yield frame(CONTINUATION, 0, stream, more)


async def empty_continuations(line: Frames) -> AsyncIterator[bytes]:
    stream = line.stream()
    yield frame(HEADERS, 0, stream, GOOD)
    while True:
        yield frame(CONTINUATION, 0, stream) * 1000


async def empty_bodies(line: Frames) -> AsyncIterator[bytes]:
    stream = line.stream()
    yield frame(HEADERS, END_HEADERS, stream, GOOD.replace(b"GET", b"PUT"))
    while True:
        yield frame(DATA, 0, stream) * 1000


async def pings(line: Frames) -> AsyncIterator[bytes]:
    """Ask for answers that nobody reads: flow control does not hold for them."""
    line.pause()
    while True:
        yield frame(PING, 0, 0, b"12345678") * 1000


async def settings(line: Frames) -> AsyncIterator[bytes]:
    line.pause()
    while True:
        yield frame(SETTINGS) * 1000


WAYS = {"gateway": partial(framing, KNOWN), "egress": partial(calling, "web")}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "flood", [resets, continuations, empty_continuations, empty_bodies, pings, settings]
)
async def test_whoever_floods_a_connection_is_hung_up_on(
    both: Crossing,
    flood: Callable[[Frames], AsyncIterator[bytes]],
    way: str,
) -> None:
    async with unharmed(both), WAYS[way]() as line:
        assert await is_hung_up_on(line, flood(line))


async def test_a_few_bytes_that_stand_for_many_headers_are_not_written_out(both: Crossing) -> None:
    """A header of 4 KB is put into the table once and named 15,000 times: 60 MB of headers each."""
    bomb = GOOD + b"\x40\x01x" + integer(3900, 7) + b"y" * 3900 + b"\xbe" * 10_000
    async with unharmed(both), AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(framing(KNOWN)) for _ in range(10)]
        for line in lines:
            stream = line.stream()
            line.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, bomb))
            assert await line.answer(stream) in ("reset", "hung up", "another status")


async def test_streams_beyond_the_limit_are_refused(both: Crossing) -> None:
    async with unharmed(both), framing(KNOWN) as line:
        streams = [line.stream() for _ in range(1000)]
        open_ended = GOOD.replace(b"GET", b"PUT")
        line.write(*(frame(HEADERS, END_HEADERS, one, open_ended) for one in streams))
        assert await line.answer(streams[-1]) in ("reset", "hung up")


IDLE = 2000


async def test_two_thousand_connections_that_say_nothing_keep_nobody_out(both: Crossing) -> None:
    with many_files():
        async with unharmed(both), AsyncExitStack() as stack:
            for _ in range(20):
                hundred = (stack.enter_async_context(silent()) for _ in range(IDLE // 20))
                await asyncio.gather(*hundred)
            assert await is_served()


@contextmanager
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@asynccontextmanager
async def silent() -> AsyncIterator[None]:
    _, writer = await asyncio.open_connection(crossing.GATEWAY, 4143)
    try:
        yield
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


@pytest.mark.e2e  # as long as the gateway is patient: ten seconds
async def test_whoever_never_comes_to_the_point_is_hung_up_on(both: Crossing) -> None:
    """Before the handshake, in the middle of it, and letter by letter in a request."""

    async def mute() -> bytes:
        reader, writer = await asyncio.open_connection(crossing.GATEWAY, 4143)
        return await ending(reader, writer, b"")

    async def half_a_handshake() -> bytes:
        reader, writer = await asyncio.open_connection(crossing.GATEWAY, 4143)
        writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        return await ending(reader, writer, b"")

    async def half_a_request() -> bytes:
        async with knock(KNOWN) as line:
            line.writer.write(b"GET / HTTP/1.1\r\nx: ")
            return await ending(line.reader, line.writer, b"y")

    async def ending(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, letter: bytes
    ) -> bytes:
        heard = asyncio.create_task(reader.read())
        while not heard.done():
            writer.write(letter)
            await asyncio.wait({heard}, timeout=0.5)
        writer.transport.abort()
        return b"" if heard.exception() else heard.result()

    async with unharmed(both), asyncio.timeout(30):
        attempts = [one() for one in (mute, half_a_handshake, half_a_request) for _ in range(20)]
        task = asyncio.gather(*attempts)
        assert await is_served()
        heard = await task
    assert all(one == b"" or one.startswith(b"HTTP/1.1 408 ") for one in heard)
