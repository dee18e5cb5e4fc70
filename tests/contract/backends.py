"""The three servers that the contract is asked of: two fronts of the embedded one, and the real."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias
from urllib.parse import urlsplit

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.exchange import Limits
from isthmus.kube.http import HttpTransport
from isthmus.kube.transport import Transport
from lab.controlplane import ControlPlane
from tests.contract.objects import namespace
from tests.contract.server import Server
from tests.support.proxy import relay
from tests.support.transports import Bearer, Mute

Lever: TypeAlias = Callable[[], Awaitable[None]]


class Backend(Protocol):
    """A way to get a server, in the event loop of the test that needs it."""

    @property
    def name(self) -> str: ...

    def open(self) -> AbstractAsyncContextManager[Server]: ...


@dataclass(frozen=True, slots=True)
class InProcess:
    """The embedded cluster, called without sockets; new for every test."""

    name: str = "in-process"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Server]:
        cluster = Cluster("contract")
        mute = Mute()

        def shaky(token: str | None) -> Transport:
            return mute.around(cluster.transport(token))

        yield await _in_own_namespace(
            Server(
                transport=cluster.transport,
                shaky=shaky,
                namespace="",
                compact=_compacting(cluster),
                restart=_restarting(cluster),
                cut_connections=cluster.faults.disconnect,
                silence=mute.silence,
                silence_limit=Limits().silence,  # of virtual time
            )
        )


@dataclass(frozen=True, slots=True)
class Http:
    """The embedded cluster behind its HTTPS front; new for every test."""

    name: str = "http"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Server]:
        cluster = Cluster("contract")
        async with serve(cluster) as served:
            address = Address(url=served.url, ca_pem=served.ca_pem, admin_token=cluster.admin_token)
            levers = _compacting(cluster), _restarting(cluster)
            async with _reached(address, *levers) as server:
                yield server


@dataclass(frozen=True, slots=True)
class Real:
    """kube-apiserver; one for the whole session, hence every test keeps to its own names."""

    plane: ControlPlane
    name: str = "real"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Server]:
        async def restart() -> None:
            self.plane.begin_restart()
            await asyncio.to_thread(self.plane.end_restart)

        async def compact() -> None:
            self.plane.compact()
            await restart()

        address = Address(
            url=self.plane.url,
            ca_pem=self.plane.papers.ca_pem,
            admin_token=self.plane.admin_token,
        )
        async with _reached(address, compact, restart) as server:
            yield server


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server listens, and what its administrator needs to call it."""

    url: str
    ca_pem: str
    admin_token: str = field(repr=False)


@asynccontextmanager
async def _reached(address: Address, compact: Lever, restart: Lever) -> AsyncIterator[Server]:
    """The server at ``address`` over HTTPS, directly and through a relay that breaks things."""
    place = urlsplit(address.url)
    async with AsyncExitStack() as stack:
        middle = await stack.enter_async_context(relay(place.hostname or "", place.port or 443))

        def connecting(url: str) -> Callable[[str | None], Transport]:
            server = ApiServer(url=url, ca_pem=address.ca_pem.encode())
            transport = HttpTransport(server)
            stack.push_async_callback(transport.close)
            return lambda token: Bearer(transport, address.admin_token if token is None else token)

        yield await _in_own_namespace(
            Server(
                transport=connecting(address.url),
                shaky=connecting(f"https://127.0.0.1:{middle.port}"),
                namespace="",
                compact=compact,
                restart=restart,
                cut_connections=middle.cut,
                silence=middle.silence,
                silence_limit=2.0,
            )
        )


async def _in_own_namespace(server: Server) -> Server:
    name = f"t{secrets.token_hex(4)}"
    created = await server.create("namespaces", namespace(name))
    assert created.code == 201, created
    return replace(server, namespace=name)


def _compacting(cluster: Cluster) -> Lever:
    async def compact() -> None:
        cluster.faults.compact()

    return compact


def _restarting(cluster: Cluster) -> Lever:
    async def restart() -> None:
        cluster.faults.stop()
        await asyncio.sleep(0.2)  # long enough for a client to be refused
        cluster.faults.start()

    return restart
