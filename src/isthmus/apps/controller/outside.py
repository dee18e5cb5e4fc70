"""Everything a controller touches beyond itself, so that a test can be the whole world to it."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Protocol, TypeAlias

from isthmus.catalogue.errors import NoIdentity
from isthmus.catalogue.following import Chunks, Door, Open
from isthmus.kube.access import Access
from isthmus.kube.client import Client
from isthmus.kube.http import HttpTransport
from isthmus.kube.transport import Transport
from isthmus.runtime.clock import Clock, SystemClock

# Asks the gateway behind a door, at one address, whether it is there; raises why not.
Knock: TypeAlias = Callable[[Door, str], Awaitable[None]]


class Network(Protocol):
    """What a probe needs of a network. Both raise OSError, and take no longer than they must."""

    async def resolve(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a host name."""
        ...

    async def touch(self, address: str, port: int) -> None:
        """Open a TCP connection and close it again."""
        ...


class SystemNetwork:
    async def resolve(self, host: str) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return tuple(sorted({str(address[0]) for _, _, _, _, address in found}))

    async def touch(self, address: str, port: int) -> None:
        _, writer = await asyncio.open_connection(address, port)
        writer.transport.abort()  # all was said by accepting; nobody need wait for the end


def _connect(access: Access) -> Transport:
    return HttpTransport(access.server)


def without_identity(door: Door) -> AbstractAsyncContextManager[Chunks]:
    """Open nothing; a controller that has a certificate puts its own way in place of this."""
    raise NoIdentity(
        f"link {door.cluster}: this controller has no certificate, without which no gateway lets "
        "it in; give it an issuer, or set via: api"
    )


async def nobody_knocks(door: Door, _address: str) -> None:
    """Likewise."""
    raise NoIdentity(f"link {door.cluster}: this controller has no certificate")


def _end() -> None:
    os._exit(1)  # whatever still runs must not go on, not even to clean up


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """``client`` talks to this cluster; ``connect`` makes the way to another one's API, and
    ``catalogue`` to its catalogue; ``knock`` asks its gateways whether they are there."""

    client: Client
    connect: Callable[[Access], Transport] = _connect
    catalogue: Open = without_identity
    knock: Knock = nobody_knocks
    network: Network = field(default_factory=SystemNetwork)
    clock: Clock = field(default_factory=SystemClock)
    random: Random = field(default_factory=Random)
    overrun: Callable[[], None] = _end
    berths: int = 100_000  # links that there are files for: connections are files, too

    def cluster_time(self) -> datetime:
        """Return the time by the API server's clock, which all who talk to it have in common."""
        return self.clock.utc() + timedelta(seconds=self.client.clock_skew or 0.0)
