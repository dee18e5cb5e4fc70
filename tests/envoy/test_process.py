"""A real Envoy and its launcher: ready when it serves, drained, killed, and never left behind."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2

from isthmus.envoy.ads import AdsServer
from isthmus.xds.resources import LISTENER, extension, resource, together
from isthmus.xds.snapshot import EMPTY, Snapshot, snapshot
from isthmus.xds.upstream import socket_address
from tests.envoy.talking import ADDRESS, envoy, live, server
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.sockets

LAUNCHER = """
import asyncio, sys
from pathlib import Path
from tests.envoy.talking import envoy

async def main():
    async with envoy(Path(sys.argv[1]), 1) as made:
        while made.pid is None:
            await asyncio.sleep(0.01)
        print(made.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def relay(port: int, to: int) -> Snapshot:
    """Lead from one port to another."""
    place = {"endpoint": {"address": socket_address(ADDRESS, to)}}
    load = {"cluster_name": "echo", "endpoints": [{"lb_endpoints": [place]}]}
    onward = tcp_proxy_pb2.TcpProxy(stat_prefix="echo", cluster="echo")
    chain = {"filters": [extension("envoy.filters.network.tcp_proxy", onward)]}
    return snapshot(
        together(
            map(
                resource,
                (
                    cluster_pb2.Cluster(name="echo", type="STATIC", load_assignment=load),
                    listener_pb2.Listener(
                        name="in",
                        stat_prefix="gateway",
                        address=socket_address(ADDRESS, port),
                        filter_chains=[chain],
                    ),
                ),
            )
        )
    )


@asynccontextmanager
async def echo() -> AsyncIterator[int]:
    """Say everything back, line by line."""
    talks: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(writer)
        with suppress(ConnectionError):
            async for line in reader:
                writer.write(line)
        await hang_up(writer)
        talks.discard(writer)

    async with await asyncio.start_server(answer, ADDRESS, 0) as listening:
        yield listening.sockets[0].getsockname()[1]
        await eventually(lambda: not talks)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def said_back(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bool:
    reader, writer = connection
    writer.write(b"hello\n")
    return await reader.readline() == b"hello\n"


async def test_envoy_is_not_ready_before_it_was_told_what_to_serve(tmp_path: Path) -> None:
    ads = server()
    async with ads.listening(ADDRESS, 0) as port, envoy(tmp_path, port) as made:

        async def state() -> str:
            return await made.admin.get("/server_info") if made.pid else ""

        await eventually(lambda: bool(ads.connected))
        await until(state, lambda found: "INITIALIZING" in found)
        assert not await made.admin.ready()
        ads.publish("gateway", EMPTY)
        await live(made)


async def test_who_is_connected_may_finish_before_envoy_ends(tmp_path: Path) -> None:
    ads = server()
    async with echo() as to, ads.listening(ADDRESS, 0) as port:
        ads.publish("gateway", relay(29_011, to))
        stop = asyncio.Event()
        async with envoy(tmp_path, port, stop=stop, drain=30) as made:
            await live(made)
            pid = made.pid
            connection = await asyncio.open_connection(ADDRESS, 29_011)
            assert await said_back(connection)
            stop.set()
            await until(made.admin.ready, lambda ready: not ready)
            assert await said_back(connection)
            assert made.pid == pid
            await hang_up(connection[1])
            await eventually(lambda: made.pid is None)
        assert made.restarts == 0


async def test_who_does_not_go_is_cut_off_in_the_end(tmp_path: Path) -> None:
    ads = server()
    async with echo() as to, ads.listening(ADDRESS, 0) as port:
        ads.publish("gateway", relay(29_012, to))
        async with envoy(tmp_path, port, drain=1) as made:
            await live(made)
            reader, writer = await asyncio.open_connection(ADDRESS, 29_012)
            assert await said_back((reader, writer))
        assert await reader.read() == b""
        await hang_up(writer)


async def test_connections_old_and_new_go_on_without_a_server(tmp_path: Path) -> None:
    first, second = server(), server()
    async with echo() as to, AsyncExitStack() as ending:
        told = relay(29_013, to)
        first.publish("gateway", told)
        port = await ending.enter_async_context(first.listening(ADDRESS, 0))
        async with envoy(tmp_path, port) as made:
            await live(made)
            old = await asyncio.open_connection(ADDRESS, 29_013)
            assert await said_back(old)
            await ending.aclose()
            new = await asyncio.open_connection(ADDRESS, 29_013)
            assert await said_back(old)
            assert await said_back(new)
            second.publish("gateway", told)
            async with second.listening(ADDRESS, port):
                await eventually(lambda: _holds(second, LISTENER, "in"), within=20)
                assert await said_back(old)
                assert await said_back(new)
            assert not second.sent
            for _, writer in (old, new):
                await hang_up(writer)


def _holds(ads: AdsServer, type_url: str, name: str) -> bool:
    return any(one.session.acknowledged(type_url, name) for one in ads.connected)


async def test_no_envoy_is_left_behind_by_a_launcher_that_was_killed(tmp_path: Path) -> None:
    launcher = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", LAUNCHER, str(tmp_path)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert launcher.stdout is not None
    pid = int(await launcher.stdout.readline())
    await eventually(lambda: "envoy" in _name(pid), within=20)
    launcher.send_signal(signal.SIGKILL)
    await launcher.wait()
    await eventually(lambda: not _name(pid))


def _name(pid: int) -> str:
    """Return the program that a process runs; nothing once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return ""
    found = dict(line.partition(":\t")[::2] for line in status.splitlines())
    return "" if found["State"].startswith("Z") else found["Name"]
