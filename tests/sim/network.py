"""What lies between the clusters: names, gateways, and the catalogue that is read through them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from isthmus.apps.controller.run import Controller
from isthmus.catalogue.errors import Forbidden, NoIdentity, Unreachable, Untrusted
from isthmus.catalogue.following import Chunks, Door
from isthmus.catalogue.serving import spoken
from isthmus.pki import verify as proving
from tests.sim.paths import Weather

LONGEST = 300.0  # seconds of one stream of the catalogue


@dataclass(slots=True)
class Network:
    """Gateways stand at addresses, names lead to them, and both may change or lie."""

    weather: Weather
    serving: Callable[[str], Controller | None]  # some replica of a cluster that serves
    listening: dict[str, str] = field(default_factory=dict)  # which gateway is at an address
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)  # clusters whose gateway is down
    silent: dict[str, int] = field(default_factory=dict)  # how often their streams fell silent
    broken: dict[str, int] = field(default_factory=dict)  # how often their streams were broken


@dataclass(slots=True)
class Air:
    """The network as one process sees it: implements ``outside.Network``, and opens catalogues."""

    network: Network
    controller: Callable[[], Controller | None]  # of the process itself; None when it is gone

    async def resolve(self, host: str) -> tuple[str, ...]:
        await asyncio.sleep(self.network.weather.delay())
        if host not in self.network.names:
            raise OSError("name not known")
        return self.network.names[host]

    async def touch(self, address: str, port: int) -> None:
        await asyncio.sleep(self.network.weather.delay())
        if self._answering(address) is None:
            raise ConnectionRefusedError(f"{address}:{port}")

    async def knock(self, door: Door, address: str) -> None:
        await asyncio.sleep(self.network.weather.delay())
        found = self._answering(address)
        if found is None:
            raise Unreachable(f"{address}: no answer")
        if found != door.cluster:
            raise Untrusted(f"{address}: this is the gateway of {found}")

    def _answering(self, address: str) -> str | None:
        found = self.network.listening.get(address)
        return None if found in self.network.dead else found

    @asynccontextmanager
    async def open(self, door: Door) -> AsyncIterator[Chunks]:
        """Follow the catalogue of a cluster, as whoever our certificate proves."""
        await asyncio.sleep(self.network.weather.delay())
        for address in door.addresses:
            try:
                await self.knock(door, address)
                break
            except Unreachable:
                continue
        else:
            raise Unreachable(f"{door.cluster} does not answer")
        mine, theirs = self.controller(), self.network.serving(door.cluster)
        if mine is None or theirs is None:
            raise Unreachable(f"{door.cluster}: nobody serves the catalogue")
        _meet(mine, theirs)
        offers = theirs.exporting.offers
        stream = offers.open(mine.config.cluster_name)
        breaks = self.network.broken.get(door.cluster, 0)
        silences = self.network.silent.get(door.cluster, 0)

        async def chunks() -> AsyncGenerator[bytes, None]:
            async for chunk in spoken(stream, LONGEST):
                await asyncio.sleep(self.network.weather.delay())
                if self.network.silent.get(door.cluster, 0) != silences:
                    await asyncio.Event().wait()  # half open: nothing comes any more, not an end
                is_here = self.network.serving(door.cluster) is theirs and self.controller()
                if not is_here or self.network.broken.get(door.cluster, 0) != breaks:
                    raise Unreachable(f"{door.cluster} has gone")
                yield chunk

        try:
            async with aclosing(chunks()) as lent:
                yield lent
        finally:
            offers.forget(stream)


def _meet(one: Controller, other: Controller) -> None:
    """Let both sides show their certificates, and judge each other's by what they trust now."""
    for asks, shows in ((one, other), (other, one)):
        theirs, own = shows.dataplane.authority, asks.dataplane.authority
        chain = (theirs.own.leaf, theirs.own.issuer)
        try:
            found = proving.verify(chain, own.anchors, asks.outside.clock.utc())
        except NoIdentity:
            raise
        except proving.Untrusted as error:
            raise Untrusted(str(error)) from error
        if found.cluster != shows.config.cluster_name:
            raise Forbidden(f"{found} is not of {shows.config.cluster_name}")
