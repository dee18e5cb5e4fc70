"""Bytes that two servers might read differently: the gateway refuses them, or reads them as one
request, and nothing that was hidden in one request reaches a pod as another."""

import asyncio
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress

import pytest

from tests.support.servers import Server, Talk
from tests.xds import crossing
from tests.xds.crossing import Crossing, Line, authority, call, knock, pod
from tests.xds.frames import END_HEADERS, HEADERS, Fields, asking, block, frame, framing
from tests.xds.knocking import KNOWN, WEB, nobody_came

pytestmark = [pytest.mark.sockets, pytest.mark.usefixtures("both")]

HIDDEN = b"GET /hidden HTTP/1.1\r\nhost: shop.example\r\nx: "
Way = Callable[[], AbstractAsyncContextManager[Line]]


def knocking() -> AbstractAsyncContextManager[Line]:
    """Come to the gateway itself."""
    return knock(KNOWN)


def calling() -> AbstractAsyncContextManager[Line]:
    """Call a mirror, as a pod does."""
    return call("web")


PATIENCE = 2.0  # seconds for an answer to something that may never get one
QUIET = 0.1  # seconds after an answer in which another one would come


def post(*lines: bytes, body: bytes = b"0\r\n\r\n" + HIDDEN, end: bytes = b"\r\n") -> bytes:
    head = [
        b"POST / HTTP/1.1",
        b"host: shop.example",
        b"isthmus-destination: " + WEB.encode(),
        *lines,
    ]
    return end.join(head) + end + end + body


def get(*lines: bytes, first: bytes = b"GET / HTTP/1.1") -> bytes:
    return post(*lines, body=b"").replace(b"POST / HTTP/1.1", first)


CHUNKED = b"transfer-encoding: chunked"
HALF = b"5\r\nhello\r\n"

REFUSED = {
    "a length and chunks": post(b"content-length: 4", CHUNKED),
    "chunks and a length": post(CHUNKED, b"content-length: 4"),
    "two encodings": post(CHUNKED, b"transfer-encoding: identity"),
    "two encodings in one line": post(b"transfer-encoding: chunked, identity"),
    "chunks of chunks": post(b"transfer-encoding: chunked, chunked"),
    "an unknown encoding": post(b"transfer-encoding: xchunked"),
    "an encoding after a tab inside": post(b"transfer-encoding: x\tchunked"),
    "an encoding after a vertical tab": post(b"transfer-encoding: \x0bchunked"),
    "a space before the colon": post(b"transfer-encoding : chunked"),
    "two lengths": post(b"content-length: 5", b"content-length: 0"),
    "a length with a sign": post(b"content-length: +5"),
    "a length below nothing": post(b"content-length: -5"),
    "a length in hexadecimal": post(b"content-length: 0x5"),
    "a length without end": post(b"content-length: 99999999999999999999"),
    "two lengths in one line": post(b"content-length: 5, 0"),
    "a zero in a value": get(b"x: a\0b"),
    "a zero in a name": get(b"x\0y: a"),
    "a space in a name": get(b"x y: a"),
    "no name": get(b": a"),
    "no colon": get(b"isthmus-destination"),
    "an encoding in HTTP/1.0": post(CHUNKED).replace(b"HTTP/1.1", b"HTTP/1.0", 1),
    "another version": get(first=b"GET / HTTP/9.9"),
    "no version": get(first=b"GET /"),
    "a method of spaces": get(first=b"GET /hidden HTTP/1.1 / HTTP/1.1"),
    "a chunk of hexadecimal in words": post(CHUNKED, body=b"0x5\r\nhello\r\n0\r\n\r\n"),
    "a chunk below nothing": post(CHUNKED, body=b"-1\r\nhello\r\n0\r\n\r\n"),
    "a chunk without end": post(CHUNKED, body=b"ffffffffffffffff1\r\nhello\r\n0\r\n\r\n"),
    "a chunk without its end": post(CHUNKED, body=b"5\r\nhello0\r\n\r\n" + HIDDEN),
    "an extension that is a line": post(CHUNKED, body=b"5;a\nGET /hidden\r\nhello\r\n0\r\n\r\n"),
}


async def hearing(talk: Talk) -> None:
    """Remember every byte, and answer each request head."""
    while heard := await talk.reader.read(65536):
        talk.heard.append(heard)
        for _ in range(heard.count(b"HTTP/1.1\r\n")):
            await talk.say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


async def told(raw: bytes, way: Way = knocking) -> bytes:
    """Say bytes to a proxy as somebody who is granted it; return all that it answers."""
    answer = b""
    async with way() as line:
        line.writer.write(raw)
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(PATIENCE) as patience:
                while more := await line.reader.read(65536):
                    answer += more
                    patience.reschedule(asyncio.get_running_loop().time() + QUIET)
    return answer


# The egress takes old clients in; what they say travels on in HTTP/2, which has one meaning.
OLD = {"an encoding in HTTP/1.0", "another version", "no version"}


@pytest.mark.parametrize("way", [knocking, calling])
async def test_what_could_be_read_in_two_ways_is_not_read_at_all(way: Way) -> None:
    """All of them at once, since a proxy takes its time to hang up. Each is answered once, and what
    follows is nobody's request."""
    async with pod(hearing, 7002) as server:
        answers = await asyncio.gather(*(told(raw, way) for raw in REFUSED.values()))
    statuses = (re.findall(rb"HTTP/1\.[01] (\d+)", one) for one in answers)
    said = dict(zip(REFUSED, statuses, strict=True))
    taken = {how for how, one in said.items() if one not in ([b"400"], [b"426"], [b"501"])}
    assert taken == (OLD if way is calling else set())
    assert all(said[how] == [b"200"] for how in taken)
    assert b"hidden" not in b"".join(server.heard)


READ_AS_ONE = {
    "an extension of a chunk": post(CHUNKED, body=b"5;a=b\r\nhello\r\n0\r\n\r\n"),
    "a junk extension": post(CHUNKED, body=b"5;" + b"x" * 500 + b"\r\nhello\r\n0\r\n\r\n"),
    "a trailer": post(CHUNKED, body=b"5\r\nhello\r\n0\r\nx-hidden: y\r\n\r\n"),
    "a request in a body": post(b"content-length: 200", body=HIDDEN.ljust(200, b"x")),
}


@pytest.mark.parametrize("how", READ_AS_ONE)
async def test_what_is_allowed_arrives_as_one_request(how: str) -> None:
    server = await _one_request(READ_AS_ONE[how])
    whole = b"".join(server.heard)
    head, _, _ = whole.partition(b"\r\n\r\n")
    assert head.startswith(b"POST / HTTP/1.1\r\n")
    assert head.lower().count(b"content-length:") + head.lower().count(b"transfer-encoding:") == 1


async def _one_request(raw: bytes) -> Server:
    async with pod(hearing, 7002) as server, knock(KNOWN) as line:
        line.writer.write(raw)
        assert (await line.hear()).startswith("HTTP/1.1 200 ")
    return server


# Envoy is lenient where RFC 9112 lets it be (2.2, 3, 5.2), with a line that a pod then gets for it.
MENDED = {
    "a folded line": (get(b"x: a", b" b: c"), b"x: a b: c"),
    "a folded encoding": (post(b"transfer-encoding:", b" chunked"), b"transfer-encoding: chunked"),
    "a carriage return alone": (get(b"x: a\rb: c"), b"x: ab: c"),
    "line feeds alone": (get(b"x: a").replace(b"\r\n", b"\n"), b"x: a"),
    "two spaces": (get(first=b"GET  /  HTTP/1.1"), b"GET / HTTP/1.1"),
}


@pytest.mark.parametrize("how", MENDED)
async def test_what_is_mended_reaches_a_pod_in_lines_that_mean_one_thing(how: str) -> None:
    raw, line = MENDED[how]
    server = await _one_request(raw)
    whole = b"".join(server.heard)
    head = whole.partition(b"\r\n\r\n")[0]
    assert line in head.split(b"\r\n")
    assert not any(one.startswith((b" ", b"\t")) for one in head.split(b"\r\n"))
    assert head.count(b"\r") == head.count(b"\n") == head.count(b"\r\n")
    assert b"hidden" not in whole


@pytest.mark.parametrize("first", ["private-web", "web"])
async def test_of_two_destinations_the_one_that_is_judged_is_the_one_that_is_reached(
    both: Crossing, first: str
) -> None:
    others = {"private-web": "web", "web": "private-web"}
    lines = [
        b"GET / HTTP/1.1",
        b"host: shop.example",
        *(b"isthmus-destination: " + authority(one).encode() for one in (first, others[first])),
    ]
    reached = "cluster.in|default|private-web.upstream_rq_total"
    before = await both.west.count(reached)
    async with pod(crossing.show, 7002):
        answer = await told(b"\r\n".join([*lines, b"", b""]))
    assert answer.split()[1] in (b"400", b"403", b"404", b"200")
    assert await both.west.count(reached) == before


GOOD = asking(WEB)


def with_(*more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    return [*GOOD, *more]


def instead(name: bytes, value: bytes) -> list[tuple[bytes, bytes]]:
    return [(one, value if one == name else was) for one, was in GOOD]


SAID_IN_HTTP_2: dict[str, Fields] = {
    "two paths": [GOOD[0], (b":path", b"/hidden"), *GOOD[1:]],
    "two methods": [(b":method", b"POST"), *GOOD],
    "a pseudo-header after others": [*GOOD, (b":path", b"/hidden")],
    "an unknown pseudo-header": [(b":hidden", b"x"), *GOOD],
    "an answer's pseudo-header": [(b":status", b"200"), *GOOD],
    "no path": [one for one in GOOD if one[0] != b":path"],
    "an empty path": instead(b":path", b""),
    "no method": [one for one in GOOD if one[0] != b":method"],
    "a request in the path": instead(b":path", b"/ HTTP/1.1\r\n\r\n" + HIDDEN),
    "a space in the path": instead(b":path", b"/ HTTP/1.1"),
    "a zero in the path": instead(b":path", b"/\0hidden"),
    "a request in the method": instead(b":method", b"GET /hidden HTTP/1.1\r\nx: y"),
    "a line in the authority": instead(b":authority", b"a\r\nx: hidden"),
    "a user in the authority": instead(b":authority", b"a@hidden\r\n"),
    "a line in a value": with_((b"x", b"a\r\n\r\n" + HIDDEN)),
    "a line feed in a value": with_((b"x", b"a\nhidden: b")),
    "a line in a name": with_((b"x\r\nhidden", b"b")),
    "a colon in a name": with_((b"x: hidden\r\ny", b"b")),
    "upper case": with_((b"X-Hidden", b"b")),
    "an empty name": with_((b"", b"hidden")),
    "chunks": with_((b"transfer-encoding", b"chunked")),
    "a connection": with_((b"connection", b"hidden")),
    "an upgrade": with_((b"upgrade", b"h2c")),
    "a proxy's connection": with_((b"proxy-connection", b"keep-alive")),
    "two lengths": with_((b"content-length", b"0"), (b"content-length", b"5")),
    "a length that is none": with_((b"content-length", b"+0")),
}


async def test_http_2_says_nothing_that_http_1_would_read_as_more() -> None:
    async def answer(fields: Fields) -> str:
        async with framing(KNOWN) as line:
            return await line.ask(fields)

    async with nobody_came():
        answers = await asyncio.gather(*map(answer, SAID_IN_HTTP_2.values()))
    said = dict(zip(SAID_IN_HTTP_2, answers, strict=True))
    assert {how: one for how, one in said.items() if one not in ("400", "reset", "hung up")} == {}


@pytest.mark.parametrize("said", [b"0", b"3", b"6"])
async def test_http_2_is_as_long_as_it_says(said: bytes) -> None:
    """A body of five bytes, under another length: no pod believes in a request that is complete."""
    async with pod(hearing, 7002) as server, framing(KNOWN) as line:
        fields = [(b":method", b"POST"), *with_((b"content-length", said))[1:]]
        assert await line.ask(fields, b"hello") in ("400", "reset", "hung up")
    body = b"".join(server.heard).partition(b"\r\n\r\n")[2]
    assert body != b"hello"
    assert len(body) < max(int(said), 1)


async def test_headers_of_two_streams_cannot_be_mixed() -> None:
    """Whoever begins a block of headers has to end it first (RFC 9113, 6.10)."""
    async with nobody_came(), framing(KNOWN) as line:
        one, other = line.stream(), line.stream()
        line.write(
            frame(HEADERS, 0, one, block(GOOD)[:20]),
            frame(HEADERS, END_HEADERS, other, block(GOOD)),
        )
        assert await line.answer(other) == "hung up"


async def test_the_very_same_way_is_open_to_what_is_right() -> None:
    async with pod(crossing.show, 7002), framing(KNOWN) as line:
        assert await line.ask(GOOD) == "200"
        assert await line.ask(with_((b"x", b"a b"))) == "200"
