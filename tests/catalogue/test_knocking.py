"""A controller knocks at a gateway, and says who is there, or why nobody is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from isthmus.catalogue.dialing import Dialer
from isthmus.catalogue.errors import Unavailable, Unreachable, Untrusted
from isthmus.catalogue.following import Door
from isthmus.model.errors import IsthmusError
from tests.catalogue.gateways import EAST, context, of
from tests.support.pki import Credentials, hostile
from tests.support.waiting import eventually

pytestmark = pytest.mark.sockets

HERE = "127.0.0.1"
GATEWAY = of("west", "isthmus-gateway")
CONTROLLER = of("east", "isthmus-controller")


@asynccontextmanager
async def answering(answer: bytes, own: Credentials = GATEWAY) -> AsyncIterator[list[bytes]]:
    """Somebody who answers like that; and what was asked, after the port."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writer.close()

    before = asyncio.all_tasks()
    server = await asyncio.start_server(serve, HERE, 0, ssl=context(own, server=True))
    async with server:
        asked.append(str(server.sockets[0].getsockname()[1]).encode())
        yield asked
        # A handshake that failed is over here a moment later than there.
        await eventually(lambda: asyncio.all_tasks() <= before)


async def knock(port: int, own: Credentials = CONTROLLER) -> None:
    shown = context(own)
    door = Door(cluster="west", addresses=(HERE,), port=port)
    await Dialer(EAST, lambda: shown, Random(1)).probe(door, HERE)


async def test_a_gateway_is_asked_for_its_probe() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as asked:
        await knock(int(asked[0]))
    head = asked[1].decode()
    assert head.startswith("GET /isthmus/probe HTTP/1.1\r\nHost: probe.isthmus\r\n")
    assert "isthmus-destination: probe" in head.lower()


@pytest.mark.parametrize(
    "answer, own, kind, words",
    [
        pytest.param(b"HTTP/1.1 404 No\r\n\r\n", GATEWAY, Unavailable, "as a gateway", id="404"),
        pytest.param(b"220 mail ready\r\n", GATEWAY, Unavailable, "as a gateway", id="no HTTP"),
        pytest.param(b"x" * 100_000, GATEWAY, IsthmusError, "not HTTP", id="an endless line"),
        pytest.param(b"", GATEWAY, Unreachable, "hung up without an answer", id="nothing"),
        pytest.param(
            b"", of("north", "isthmus-gateway"), Untrusted, "does not prove", id="another cluster"
        ),
        pytest.param(b"", of("west", "web"), Untrusted, "does not prove", id="another account"),
        pytest.param(
            b"", hostile("another anchor"), Untrusted, "is not trusted", id="another anchor"
        ),
        pytest.param(b"", hostile("expired"), Untrusted, "has expired", id="expired"),
        pytest.param(b"", hostile("not yet valid"), Untrusted, "not yet valid", id="too early"),
    ],
)
async def test_whoever_is_not_the_gateway_is_told_apart(
    answer: bytes, own: Credentials, kind: type[IsthmusError], words: str
) -> None:
    async with answering(answer, own) as asked:
        with pytest.raises(kind, match=words) as caught:
            await knock(int(asked[0]))
    assert f"{HERE}:{asked[0].decode()}" in str(caught.value)


async def test_a_gateway_that_does_not_believe_us() -> None:
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n") as asked:
        # TLS 1.3 tells a client that it is refused after the handshake, if it can tell it at all.
        with pytest.raises((Untrusted, Unreachable), match="our certificate"):
            await knock(int(asked[0]), hostile("another anchor"))


async def test_nobody_is_there() -> None:
    async with answering(b"") as asked:
        pass
    with pytest.raises(Unreachable, match="Connection refused"):
        await knock(int(asked[0]))
