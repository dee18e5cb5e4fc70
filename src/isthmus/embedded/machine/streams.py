"""TCP between loopback addresses: connections from a chosen address, carried from end to end."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

Stream: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Spawn: TypeAlias = Callable[[Coroutine[None, None, None]], asyncio.Task[None]]
Answer: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

CHUNK = 64 * 1024
WAITING = 1024  # connections that may wait to be accepted
# Linux: let connect() choose the port. It knows both ends, and so can use a port for many of them.
_BIND_ADDRESS_NO_PORT = 24
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


async def connect(source: str, address: str, port: int) -> Stream:
    """Connect from ``source``, so that the other side sees who calls; raises OSError."""
    sock = socket.socket()
    try:
        sock.setblocking(False)
        with suppress(OSError):  # only Linux has it, and everybody can do without
            sock.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
        sock.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(sock, (address, port))
        return await asyncio.open_connection(sock=sock)
    except BaseException:
        sock.close()
        raise


async def carry(one: Stream, other: Stream) -> None:
    """Carry bytes both ways until both sides have said all; what one side ends, only that ends."""
    writers = (one[1], other[1])
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_pump(one[0], other[1]))
            group.create_task(_pump(other[0], one[1]))
        for writer in writers:
            await closed(writer)
    except* OSError:
        # A side that broke off must look broken to the other one, not finished.
        for writer in writers:
            reset(writer)
    finally:
        for writer in writers:
            writer.transport.abort()


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection, after what is still to be sent."""
    writer.close()
    await writer.wait_closed()


@asynccontextmanager
async def listening(answer: Answer, address: str, ports: Iterable[int]) -> AsyncIterator[None]:
    """Let ``answer`` treat every connection; when the context ends, so do they."""
    open_ones: set[asyncio.Task[None]] = set()
    group = asyncio.TaskGroup()

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            await answer(reader, writer)
            await closed(writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = group.create_task(attend(reader, writer))
        open_ones.add(task)
        task.add_done_callback(open_ones.discard)
        abort_after(task, writer)

    servers: list[asyncio.Server] = []
    try:
        for port in ports:
            server = await asyncio.start_server(
                accept, address, port, backlog=WAITING, start_serving=False
            )
            servers.append(server)
        async with group:
            for server in servers:
                await server.start_serving()
            yield
            for server in servers:
                server.close()
            for task in open_ones:
                task.cancel()
    finally:
        for server in servers:
            server.close()


def abort_after(task: asyncio.Task[None], writer: asyncio.StreamWriter) -> None:
    """End a connection with whoever treats it, even if that was cancelled before it began."""
    task.add_done_callback(lambda _: writer.transport.abort())


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection so that the other side sees an error."""
    sock = writer.get_extra_info("socket")
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
