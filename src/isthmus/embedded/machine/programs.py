"""What containers run: programs of ours, chosen by the name of the image.

A program is a context: entered, it answers; left, it has ended. Each container's is entered and
left in a task of its own, so that it may hold task groups open. What it yields is the process that
it runs, if it runs one: when that ends, the program is left, and entered again.
"""

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

from aiohttp import WSMsgType, web

from isthmus.embedded.machine.objects import Container, Pod
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.streams import CHUNK, listening
from isthmus.embedded.machine.volumes import Mounts

_DEFAULT_PORT = 80  # of containers that declare none
_PATIENCE = 0.1  # seconds that open requests get to end with the pod
_MOST = 2 << 30  # bytes of one answer


Mounted: TypeAlias = Callable[[], Awaitable[Mounts]]


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What a machine has for processes."""

    folder: Path | None = None  # where volumes are; else where the system keeps temporary files
    logs: Path | None = None  # where they write what they say; else where we do
    api: str = ""  # the URL of the cluster's API, if it is served


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a container runs, and what it finds there."""

    pod: Pod
    container: Container
    address: str
    ports: tuple[int, ...]  # to bind, in the order of the container's own
    mounted: Mounted  # writes its volumes
    resolve: Callable[[str], tuple[str, ...]]  # names as the pod knows them
    house: House

    @property
    def hostname(self) -> str:
        return self.pod.hostname


Running: TypeAlias = AbstractAsyncContextManager[Process | None]
Program: TypeAlias = Callable[[Site], Running]
Programs: TypeAlias = Mapping[str, Program]
Start: TypeAlias = Callable[[Pod, Container, str, Mounted], Running]  # at the pod's address


class Resolve(Protocol):
    def __call__(self, name: str, namespace: str) -> tuple[str, ...]: ...


def starting(programs: Programs, ports: Ports, resolve: Resolve, house: House) -> Start:
    """How containers are started where ``ports`` may be bound."""

    def start(pod: Pod, container: Container, address: str, mounted: Mounted) -> Running:
        declared = [port.container_port for port in container.ports if port.protocol == "TCP"]
        site = Site(
            pod=pod,
            container=container,
            address=address,
            ports=tuple(ports.at(port) for port in declared or [_DEFAULT_PORT]),
            mounted=mounted,
            resolve=partial(resolve, namespace=pod.metadata.namespace),
            house=house,
        )
        return _chosen(programs, container.image)(site)

    return start


def _chosen(programs: Programs, image: str) -> Program:
    """The program of an image: by its repository, by the last part of it, else an HTTP server."""
    head, slash, last = image.partition("@")[0].rpartition("/")
    name = last.partition(":")[0]
    return programs.get(f"{head}{slash}{name}") or programs.get(name) or http


@asynccontextmanager
async def idle(_site: Site) -> AsyncIterator[None]:
    """Have an address and run nothing: for pods that only call."""
    yield


@asynccontextmanager
async def http(site: Site) -> AsyncIterator[None]:
    """Say who answers, who called, and what arrived of the caller's identity."""
    application = web.Application()
    application.add_routes(
        [
            web.get("/stream", _stream),
            web.get("/bytes/{count:[0-9]{1,10}}", _bytes),
            web.get("/websocket", _websocket),
            web.route("*", "/{path:.*}", partial(_welcome, site.hostname)),
        ]
    )
    runner = web.AppRunner(
        application, handler_cancellation=True, access_log=None, shutdown_timeout=_PATIENCE
    )
    await runner.setup()
    try:
        for port in site.ports:
            await web.TCPSite(runner, site.address, port).start()
        yield
    finally:
        await runner.cleanup()


async def _welcome(hostname: str, request: web.Request) -> web.Response:
    told = {
        "host": request.headers.get("host", ""),
        "from": request.remote or "",
        "x-forwarded-client-cert": request.headers.get("x-forwarded-client-cert", ""),
    }
    return web.Response(text=page(hostname, told))


def page(hostname: str, told: Mapping[str, str]) -> str:
    """What a server says: who it is, and what it was told."""
    lines = [f"Welcome, this is {hostname}", *(f"{key}: {value}" for key, value in told.items())]
    return "\n".join(lines) + "\n"


async def _stream(request: web.Request) -> web.StreamResponse:
    """So many lines, each after a pause: ``/stream?lines=3&pause=0.1``."""
    try:
        lines = int(request.query.get("lines", "3"))
        pause = float(request.query.get("pause", "0.1"))
    except ValueError:
        raise web.HTTPBadRequest(text="lines and pause are numbers\n") from None
    response = web.StreamResponse()
    await response.prepare(request)
    for number in range(lines):
        if number:
            await asyncio.sleep(pause)
        await response.write(f"line {number}\n".encode())
    return response


async def _bytes(request: web.Request) -> web.StreamResponse:
    count = int(request.match_info["count"])
    if count > _MOST:
        raise web.HTTPBadRequest(text=f"at most {_MOST} bytes\n")
    response = web.StreamResponse()
    response.content_length = count
    await response.prepare(request)
    for start in range(0, count, CHUNK):
        await response.write(bytes(min(CHUNK, count - start)))
    return response


async def _websocket(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            await socket.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await socket.send_bytes(message.data)
    return socket


@asynccontextmanager
async def echo(site: Site, greeting: str = "") -> AsyncIterator[None]:
    """Say back what is heard, to its end. With a ``greeting``, speak first."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting.format(hostname=site.hostname).encode())
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()

    async with listening(answer, site.address, site.ports):
        yield


PROGRAMS: Programs = {
    "nginx": http,
    "curl": idle,
    "pause": idle,
    "isthmus.dev/echo": echo,
    "isthmus.dev/greeter": partial(echo, greeting="220 {hostname}\n"),
}
