"""Serves a cluster's names to any resolver: UDP, and TCP for answers that are too long for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from isthmus.embedded.machine import dns
from isthmus.embedded.machine.records import Zone
from isthmus.embedded.machine.streams import listening

PATIENCE = 10.0  # seconds that a silent connection is kept


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = dns.answer(self._zone, data, dns.SMALL)
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, addr)


@asynccontextmanager
async def serve(zone: Zone, address: str, port: int) -> AsyncIterator[None]:
    """Answer at ``address``; raises OSError if it is taken."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            async with asyncio.timeout(PATIENCE):  # TimeoutError is an OSError, and ends it
                size = int.from_bytes(await reader.readexactly(2))
                answer = dns.answer(zone, await reader.readexactly(size))
                if answer is None:
                    return
                writer.write(len(answer).to_bytes(2) + answer)
                await writer.drain()

    loop = asyncio.get_running_loop()
    datagrams, _ = await loop.create_datagram_endpoint(
        lambda: _Datagrams(zone), local_addr=(address, port)
    )
    try:
        async with listening(connected, address, (port,)):
            yield
    finally:
        datagrams.close()
