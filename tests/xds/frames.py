"""HTTP/2 by the frame, for saying what no library would: RFC 9113, and RFC 7541 for headers."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from tests.support import pki
from tests.xds import crossing
from tests.xds.crossing import context

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CANCEL = struct.pack("!I", 8)

# The answers that a table of RFC 7541 has a byte for.
_STATUSES = {0x88: "200", 0x8C: "400", 0x8D: "404", 0x8E: "500"}

Fields = Sequence[tuple[bytes, bytes]]


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    head = struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream)
    return head + payload


def block(fields: Fields) -> bytes:
    """Write headers as literals that nobody is asked to remember, whatever they hold."""
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in fields)


def _text(value: bytes) -> bytes:
    return integer(len(value), 7) + value


def integer(value: int, bits: int, first: int = 0) -> bytes:
    """Write a number of HPACK (RFC 7541, 5.1) after the ``first`` bits of its byte."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    rest, written = value - most, bytearray([first | most])
    while rest >= 128:
        written.append(rest % 128 + 128)
        rest //= 128
    return bytes([*written, rest])


def asking(destination: str, *more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request that is right, and more."""
    return [
        (b":method", b"GET"),
        (b":scheme", b"https"),
        (b":authority", b"shop.example"),
        (b":path", b"/"),
        (b"isthmus-destination", destination.encode()),
        *more,
    ]


class Frames:
    """A connection to the gateway that has begun to speak HTTP/2."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._next = 1
        self._answers = True
        writer.write(PREFACE + frame(SETTINGS))

    def pause(self) -> None:
        """Answer nothing from now on, and read nothing either."""
        self._answers = False
        transport = self._writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()

    def write(self, *frames: bytes) -> None:
        self._writer.write(b"".join(frames))

    async def flush(self) -> bool:
        """Wait until what was written is on its way; tell whether anybody still takes it."""
        with suppress(OSError):
            await self._writer.drain()
            return True
        return False

    def stream(self) -> int:
        """Return the number of a new stream."""
        number, self._next = self._next, self._next + 2
        return number

    async def read(self) -> Frame | None:
        """Return the next frame, or nothing if the other side has hung up."""
        try:
            head = await self._reader.readexactly(9)
            kind, flags, stream = struct.unpack("!BBI", head[3:])
            payload = await self._reader.readexactly(int.from_bytes(head[:3]))
        except (OSError, asyncio.IncompleteReadError):
            return None
        if self._answers and kind in (SETTINGS, PING) and not flags & ACK:
            self.write(frame(kind, ACK, 0, payload if kind == PING else b""))
        return Frame(kind, flags, stream, payload)

    async def answer(self, stream: int) -> str:
        """Return the status of a stream's answer; or that it, or everything, was broken off."""
        while (found := await self.read()) is not None:
            if found.kind == GOAWAY and int.from_bytes(found.payload[4:8]):
                return "hung up"
            if found.stream == stream and found.kind == RST_STREAM:
                return "reset"
            if found.stream == stream and found.kind == HEADERS:
                return _STATUSES.get(found.payload[0], "another status")
        return "hung up"

    async def ask(self, fields: Fields, body: bytes | None = None) -> str:
        """Send a request of one frame, and perhaps one of a body; return how it is answered."""
        stream = self.stream()
        alone = END_HEADERS if body is not None else END_HEADERS | END_STREAM
        self.write(frame(HEADERS, alone, stream, block(fields)))
        if body is not None:
            self.write(frame(DATA, END_STREAM, stream, body))
        return await self.answer(stream)


@asynccontextmanager
async def calling(service: str) -> AsyncIterator[Frames]:
    """Call a mirror with HTTP/2, as a pod that knows what is spoken there."""
    async with crossing.call(service) as line:
        yield Frames(line.reader, line.writer)


@asynccontextmanager
async def framing(shown: pki.Credentials) -> AsyncIterator[Frames]:
    """Come to the gateway with HTTP/2, and leave without a word."""
    made: ssl.SSLContext = context(shown, "h2")
    reader, writer = await asyncio.open_connection(crossing.GATEWAY, 4143, ssl=made)
    try:
        yield Frames(reader, writer)
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()
