"""As much of HTTP/2 as it takes to ask for something without having agreed on it before.

Written out, so that what is compared with Envoy's understanding of RFC 9113 is not another
library's that may have agreed on the same mistake.
"""

import asyncio
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
GET, HTTP, STATUS_200 = 0x82, 0x86, 0x88  # RFC 7541, Appendix A: the static table
PATH, AUTHORITY = 0x04, 0x01  # literals without indexing, whose names are in the table


class Http2:
    """A client that has one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._next = 1
        writer.write(PREFACE)
        self._send(SETTINGS, 0, 0)

    async def get(self, authority: str, path: str) -> tuple[int, bytes]:
        """Return the status, if it is 200 (else 0), and the body."""
        stream, self._next = self._next, self._next + 2
        block = bytes([GET, HTTP]) + _literal(PATH, path) + _literal(AUTHORITY, authority)
        self._send(HEADERS, END_STREAM | END_HEADERS, stream, block)
        status, body = 0, b""
        while True:
            kind, flags, of, payload = await self._receive()
            if kind == SETTINGS and not flags & ACK:
                self._send(SETTINGS, ACK, 0)
            elif kind == PING and not flags & ACK:
                self._send(PING, ACK, 0, payload)
            elif kind == GOAWAY:
                raise ConnectionError(f"GOAWAY {payload!r}")
            elif of == stream and kind == HEADERS:
                status = 200 if payload[0] == STATUS_200 else 0
            elif of == stream and kind == DATA:
                body += payload
            if of == stream and flags & END_STREAM:
                return status, body

    def _send(self, kind: int, flags: int, stream: int, payload: bytes = b"") -> None:
        head = struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream)
        self._writer.write(head + payload)

    async def _receive(self) -> tuple[int, int, int, bytes]:
        head = await self._reader.readexactly(9)
        kind, flags, stream = struct.unpack("!BBI", head[3:])
        return kind, flags, stream, await self._reader.readexactly(int.from_bytes(head[:3]))


def _literal(name: int, value: str) -> bytes:
    return bytes([name, len(value)]) + value.encode()
