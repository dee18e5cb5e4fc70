"""A catalogue from one controller to another, with real TLS between them."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from itertools import count
from random import Random

import aiohttp
import pytest
from aiohttp import web
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.http_exceptions import BadStatusLine

from isthmus.catalogue import dialing, serving
from isthmus.catalogue.callers import HEADER
from isthmus.catalogue.dialing import Dialer
from isthmus.catalogue.errors import Forbidden, Garbled, Unavailable, Unreachable, Untrusted
from isthmus.catalogue.following import Door, follow, snapshot
from isthmus.catalogue.messages import Hello
from isthmus.catalogue.offers import Offers
from isthmus.catalogue.reader import Changed, Heard, Reader, Snapshot
from isthmus.core.offer import Offer
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.xds.names import CATALOGUE_PATH
from tests.catalogue.gateways import EAST, WEST, context, gateway, of
from tests.catalogue.test_knocking import answering
from tests.catalogue.test_offers import HELLO, offers, permitting, put
from tests.support.builders import export
from tests.support.pki import Credentials, hostile
from tests.support.waiting import eventually

CONTROLLER = "isthmus-controller"
pytestmark = pytest.mark.sockets


def dialer(own: Credentials | None = None) -> Dialer:
    shown = context(own or of("east", CONTROLLER))
    return Dialer(EAST, lambda: shown, Random(1))


async def read(by: Dialer, door: Door) -> tuple[Hello, Snapshot]:
    async with by.open(door) as chunks:
        return await snapshot(chunks, Reader("west", "isthmus"))


async def failure(by: Dialer, door: Door) -> IsthmusError:
    with pytest.raises(IsthmusError) as caught:
        await read(by, door)
    assert "\n" not in str(caught.value)
    return caught.value


async def test_a_catalogue_passes_the_gateway_and_changes_follow() -> None:
    west = offers()
    put(west, "web")
    async with gateway(west) as there, dialer().open(there.door) as chunks:
        heard: list[Heard] = []
        async with aclosing(follow(chunks, Reader("west", "isthmus"))) as stream:
            heard += [await anext(stream), await anext(stream)]
            put(west, "db")
            heard.append(await anext(stream))
            west.put(Key("shop", "db"), None)
            heard.append(await anext(stream))
            west.permit([])
            with pytest.raises(Forbidden):
                await anext(stream)
    web, db = export("web", version="1"), export("db", version="1")
    assert heard == [
        HELLO,
        Snapshot({web.key: Offer(web, web.labels)}),
        Changed(db.key, Offer(db, db.labels)),
        Changed(db.key, None),
    ]
    (head,) = there.heads
    assert head.startswith(b"GET /v1/catalogue HTTP/1.1\r\nHost: catalogue.isthmus\r\n")
    assert b"\r\nisthmus-destination: catalogue\r\n" in head
    await eventually(lambda: west.streams == {})


async def test_a_large_catalogue_is_read_completely() -> None:
    west = offers()
    for number in range(5000):
        put(west, f"web-{number}")
    async with gateway(west) as there:
        _, found = await read(dialer(), there.door)
        assert len(found.offers) == 5000


@pytest.mark.parametrize(
    "own, expected",
    [
        pytest.param(lambda: of("north", CONTROLLER), Forbidden, id="no Grant"),
        pytest.param(lambda: of("east", "default"), Forbidden, id="another account"),
        pytest.param(lambda: of("east", CONTROLLER, "shop"), Forbidden, id="another namespace"),
        pytest.param(lambda: hostile("two URIs"), Forbidden, id="two names"),
        # TLS 1.3 tells a client that it is refused after the handshake, if it can tell it at all.
        pytest.param(lambda: hostile("another anchor"), (Untrusted, Unreachable), id="anchor"),
        pytest.param(
            lambda: hostile("west from east's issuer"), (Untrusted, Unreachable), id="forged"
        ),
    ],
)
async def test_whoever_may_not_read_is_told_so(
    own: Callable[[], Credentials], expected: type[IsthmusError] | tuple[type[IsthmusError], ...]
) -> None:
    west = offers()
    async with gateway(west) as there:
        assert isinstance(await failure(dialer(own()), there.door), expected)
        assert west.streams == {}


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(lambda: of("west", CONTROLLER), id="not the gateway"),
        pytest.param(lambda: of("north", "isthmus-gateway"), id="the gateway of another cluster"),
        pytest.param(lambda: of("west", "isthmus-gateway", "shop"), id="of another namespace"),
        pytest.param(lambda: hostile("another anchor"), id="another anchor"),
        pytest.param(lambda: hostile("west from east's issuer"), id="forged cluster"),
    ],
)
async def test_nobody_but_the_targets_gateway_is_believed(own: Callable[[], Credentials]) -> None:
    west = offers()
    async with gateway(west, own()) as there:
        found = await failure(dialer(), there.door)
        # A stranger that the controller itself does not believe either gets no answer from it.
        assert isinstance(found, Untrusted | Forbidden | Unreachable)


async def test_an_impostor_with_a_true_catalogue_is_not_believed() -> None:
    """Another workload of the target can read nothing, but it could serve something."""
    async with gateway(offers()) as there:
        impostor = context(of("west", "default", "shop"), server=True)
        listener = await asyncio.start_server(_answer, "127.0.0.1", 0, ssl=impostor)
        async with listener:
            door = replace_port(there.door, listener.sockets[0].getsockname()[1])
            assert isinstance(await failure(dialer(), door), Untrusted)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")
    await reader.read()
    writer.transport.abort()


def replace_port(door: Door, port: int) -> Door:
    return Door(cluster=door.cluster, addresses=door.addresses, port=port)


async def test_the_controller_listens_to_nobody_but_the_gateway() -> None:
    async with gateway(offers()) as there:
        straight = replace_port(there.door, there.upstream)
        assert isinstance(await failure(dialer(), straight), Forbidden)


async def test_one_gateway_that_answers_is_enough() -> None:
    west = offers()
    async with gateway(west) as there:
        door = Door(
            cluster="west",
            addresses=("127.0.0.2", "127.0.0.1", "127.0.0.3"),
            port=there.port,
        )
        for _ in range(5):
            hello, _found = await read(dialer(), door)
            assert hello == HELLO
    assert isinstance(await failure(dialer(), there.door), Unreachable)
    empty = Door(cluster="west", addresses=(), port=1)
    assert isinstance(await failure(dialer(), empty), Unreachable)


async def test_an_answer_that_comes_byte_by_byte_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialing, "ANSWER", 0.3, raising=False)

    ended = asyncio.Event()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
        while not writer.is_closing():
            writer.write(b"a")
            await asyncio.sleep(0.05)
        writer.transport.abort()
        ended.set()

    tls = context(of("west", "isthmus-gateway"), server=True)
    there = await asyncio.start_server(drip, "127.0.0.1", 0, ssl=tls)
    door = Door(cluster="west", addresses=("127.0.0.1",), port=there.sockets[0].getsockname()[1])
    try:
        async with asyncio.timeout(5):
            found = await failure(dialer(), door)
            await ended.wait()
    finally:
        there.close()
    assert isinstance(found, Unreachable)
    assert "no answer in time" in str(found)


async def test_a_cluster_that_is_not_known_yet_serves_nothing() -> None:
    unknown = Offers(lambda: None)
    unknown.permit([permitting()])
    async with gateway(unknown) as there:
        assert isinstance(await failure(dialer(), there.door), Unavailable)


async def test_certificates_are_those_of_the_moment() -> None:
    shown: list[ssl.SSLContext] = [context(of("north", CONTROLLER))]
    by = Dialer(EAST, lambda: shown[-1], Random(1))
    async with gateway(offers()) as there:
        assert isinstance(await failure(by, there.door), Forbidden)
        shown.append(context(of("east", CONTROLLER)))
        await read(by, there.door)


async def test_a_reader_that_takes_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    west = offers()
    for number in range(2000):
        large = export(f"web-{number}", annotations={"notes": "x" * 8192})
        west.put(large.key, Offer(large, large.labels))
    async with gateway(west) as there:
        there.slow = True
        with monkeypatch.context() as impatient:
            impatient.setattr(serving, "PATIENCE", 0.3)
            async with asyncio.TaskGroup() as group:
                reading = group.create_task(read(dialer(), there.door))
                await eventually(lambda: west.streams == {"east": 1})
                await eventually(lambda: west.streams == {})
                reading.cancel()
        there.slow = False
        _, found = await read(dialer(), there.door)
        assert len(found.offers) == 2000


async def test_a_reader_whose_patience_and_connection_end_together_is_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    west, app = offers(), web.Application()
    transports: list[asyncio.Transport] = []

    def peer(request: web.Request) -> str:
        assert request.transport is not None
        transports.append(request.transport)
        return WEST.gateway()

    async def more_than_fits(*_: object) -> AsyncIterator[bytes]:
        # The time ends in the next turn of the loop, and in the one after that the connection is
        # lost, just before the reader's task hears of its time.
        asyncio.get_running_loop().call_soon(transports[0].abort)
        yield b"x" * (64 << 20)

    monkeypatch.setattr(serving, "PATIENCE", 0)
    monkeypatch.setattr(serving, "spoken", more_than_fits)
    serving.mount(app, west, WEST, peer, Random(1))
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    with caplog.at_level(logging.INFO):
        _, writer = await asyncio.open_connection(*runner.addresses[0])
        caller = EAST.controller
        asked = f"GET {CATALOGUE_PATH} HTTP/1.1\r\nHost: x\r\n{HEADER}: URI={caller}\r\n\r\n"
        writer.write(asked.encode())
        await eventually(lambda: "catalogue is no longer followed" in caplog.messages)
    writer.transport.abort()
    await runner.cleanup()
    assert caplog.messages == [
        "catalogue is followed",
        "a reader of the catalogue is too slow",
        "catalogue is no longer followed",
    ]
    assert west.streams == {}


async def test_a_server_that_ends_lets_its_readers_go() -> None:
    west = offers()
    async with (
        gateway(west) as there,
        dialer().open(there.door) as chunks,
        aclosing(follow(chunks, Reader("west", "isthmus"))) as heard,
    ):
        assert [await anext(heard), await anext(heard)] == [HELLO, Snapshot({})]
        west.close()
        assert [one async for one in heard] == []


async def test_a_changed_export_is_told_as_it_is_now() -> None:
    west = offers()
    put(west, "web", "1")
    async with (
        gateway(west) as there,
        dialer().open(there.door) as chunks,
        aclosing(follow(chunks, Reader("west", "isthmus"))) as heard,
    ):
        await anext(heard)
        await anext(heard)
        for version in map(str, range(2, 50)):
            put(west, "web", version)
        found = await anext(heard)
        assert isinstance(found, Changed)
        newest = export("web", version="49")
        assert found.offer == Offer(newest, newest.labels), "nobody was told what was before"


async def test_a_reader_that_is_gone_is_noticed_when_there_is_something_to_tell() -> None:
    west = offers()
    async with gateway(west) as there, dialer().open(there.door) as chunks:
        await snapshot(chunks, Reader("west", "isthmus"))
        assert west.streams == {"east": 1}
        there.close()
        numbers = count()

        def is_forgotten() -> bool:
            put(west, "web", str(next(numbers)))
            return west.streams == {}

        await eventually(is_forgotten)


def tls_error(reason: str | None) -> ssl.SSLError:
    made = ssl.SSLError(1, "canary-3141")
    made.reason = reason  # type: ignore[assignment]  # OpenSSL does not always give one
    return made


WHERE = ConnectionKey("west", 4143, True, True, None, None, None)


@pytest.mark.parametrize(
    "error, expected, text",
    [
        pytest.param(
            aiohttp.ClientConnectorSSLError(WHERE, tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED")),
            Untrusted,
            "the gateway does not accept our certificate (tlsv13 alert certificate required)",
            id="our certificate",
        ),
        pytest.param(
            tls_error("WRONG_VERSION_NUMBER"),
            Unreachable, "TLS failed (wrong version number)", id="no TLS",
        ),
        pytest.param(tls_error(None), Unreachable, "TLS failed (closed)", id="TLS that ends"),
        pytest.param(
            BadStatusLine("canary-3141"),
            Garbled, "the answer is not HTTP as we know it", id="no HTTP",
        ),
        pytest.param(
            aiohttp.ClientPayloadError("canary-3141"), Unreachable, "the connection broke", id="cut"
        ),
        pytest.param(
            aiohttp.ClientConnectorError(WHERE, OSError()),
            Unreachable, "no connection", id="nobody",
        ),
    ],
)  # fmt: skip
def test_every_error_of_the_library_becomes_one_of_ours(
    error: Exception, expected: type[IsthmusError], text: str
) -> None:
    found = dialing.translated(error, "west:4143")
    assert type(found) is expected
    assert str(found) == f"west:4143: {text}"


@pytest.mark.parametrize(
    "answer, expected, text",
    [
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            Garbled, "the answer ended where the catalogue should begin", id="nothing at all",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
            Unreachable, "catalogue of west: the connection broke", id="cut",
        ),
        pytest.param(b"220 mail ready\r\n\r\n", Garbled, "not HTTP as we know it", id="no HTTP"),
    ],
)  # fmt: skip
async def test_a_gateway_whose_answer_is_no_catalogue(
    answer: bytes, expected: type[IsthmusError], text: str
) -> None:
    async with answering(answer) as asked:
        door = Door(cluster="west", addresses=("127.0.0.1",), port=int(asked[0]))
        found = await failure(dialer(), door)
    assert type(found) is expected, repr(found)
    assert text in str(found)
