"""A TCP relay that breaks connections in the two ways networks do: abruptly, and silently."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.waiting import eventually


@dataclass(slots=True)
class Side:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


@dataclass(slots=True)
class Connection:
    near: Side
    far: Side
    silent: bool = False

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                if not self.silent:
                    writer.write(data)
                    await writer.drain()
        except OSError:
            pass  # reset by one side; the other learns of it below
        # TLS has no use for a half-closed connection, so one end's end is the end of both.
        self.reset()

    def reset(self) -> None:
        for side in (self.near, self.far):
            side.writer.transport.abort()


@dataclass(slots=True)
class Relay:
    """Relays to one server; the faults concern the connections that are open at the moment."""

    upstream: tuple[str, int]
    port: int = 0  # where it listens
    _carrying: int = 0  # connections that have not come to their end
    _open: list[Connection] = field(default_factory=list)

    @property
    def is_idle(self) -> bool:
        return self._carrying == 0

    def cut(self) -> None:
        """Reset every connection."""
        for connection in self._open:
            connection.reset()

    def silence(self) -> None:
        """Keep every connection open and let nothing through, as a lost route does."""
        for connection in self._open:
            connection.silent = True

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        self._carrying += 1
        try:
            far = Side(*await asyncio.open_connection(*self.upstream))
            await self._relay(Connection(Side(reader, writer), far))
        except OSError:
            writer.transport.abort()
        finally:
            self._carrying -= 1

    async def _relay(self, connection: Connection) -> None:
        near, far = connection.near, connection.far
        self._open.append(connection)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(connection.pump(near.reader, far.writer))
                both.create_task(connection.pump(far.reader, near.writer))
        finally:
            connection.reset()
            self._open.remove(connection)


@asynccontextmanager
async def relay(host: str, port: int) -> AsyncIterator[Relay]:
    """A relay on a loopback port of its own, in front of ``host:port``."""
    middle = Relay((host, port))
    listener = await asyncio.start_server(middle.carry, "127.0.0.1", 0)
    middle.port = listener.sockets[0].getsockname()[1]
    try:
        yield middle
    finally:
        listener.close()
        middle.cut()
        await eventually(lambda: middle.is_idle)
