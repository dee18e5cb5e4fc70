"""The loop of tests with sockets."""

import asyncio
import socket

import pytest


@pytest.mark.sockets
async def test_a_connection_accepted_for_a_closed_server_is_closed() -> None:
    """Otherwise Python complains, and a complaint is a failure here."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    caller = socket.socket()
    caller.setblocking(False)

    def close() -> None:
        server.close()
        done.set()

    def connect() -> None:
        caller.connect_ex(server.sockets[0].getsockname())
        loop.call_soon(loop.call_soon, close)  # the server accepts in between

    loop.call_soon(connect)
    with caller:
        await done.wait()
        await asyncio.sleep(0)
        assert caller.recv(1) == b""
