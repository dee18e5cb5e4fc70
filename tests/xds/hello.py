"""The first message of TLS, with whatever server name in it: RFC 8446 and RFC 6066."""

import asyncio
import ssl
from contextlib import suppress

from tests.xds import crossing

HANDSHAKE, ALERT = 22, 21
_NAME = b"placeholder.example"


def hello(context: ssl.SSLContext, name: bytes) -> bytes:
    """Return a greeting that names a server as no library would let us.

    A proper one is made, and the name in it replaced; what counts lengths around it is corrected.
    """
    outgoing = ssl.MemoryBIO()
    made = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=_NAME.decode())
    with suppress(ssl.SSLWantReadError):
        made.do_handshake()
    record = bytearray(outgoing.read())
    at = record.index(_NAME)
    grown = len(name) - len(_NAME)
    # The record, the message (three bytes), all extensions, this one, its list, its only name.
    for place, size in ((3, 2), (6, 3), (_extensions(record), 2), (at - 7, 2), (at - 5, 2)):
        _grow(record, place, size, grown)
    _grow(record, at - 2, 2, grown)
    record[at : at + len(_NAME)] = name
    return bytes(record)


def _grow(record: bytearray, at: int, size: int, by: int) -> None:
    length = int.from_bytes(record[at : at + size]) + by
    record[at : at + size] = length.to_bytes(size)


def _extensions(record: bytearray) -> int:
    """Return where the length of all extensions stands."""
    at = 5 + 4 + 2 + 32  # headers of record and message, version, random
    at += 1 + record[at]  # session
    at += 2 + int.from_bytes(record[at : at + 2])  # ciphers
    return at + 1 + record[at]  # compressions


async def answered(greeting: bytes) -> int | None:
    """Return the kind of record that a gateway answers with, or None if it hangs up."""
    reader, writer = await asyncio.open_connection(crossing.GATEWAY, 4143)
    try:
        writer.write(greeting)
        head = await reader.readexactly(5)
    except (OSError, asyncio.IncompleteReadError):
        return None
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()
    return head[0]
