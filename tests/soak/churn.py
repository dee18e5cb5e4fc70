"""A source and its targets on sockets, and everything that happens to them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random

import yaml

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import Served, serve
from isthmus.kube.client import Client
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    EVENTS,
    LINKS,
    PLAIN_SECRETS,
    SERVICES,
    SLICES,
    Place,
    endpoints,
    exported,
    furnish,
    link,
    secret,
)
from tests.support.waiting import until

PLAIN = 6  # exports of each target, besides a headless one
PODS = 3
CHANGES = 10  # in a row, of all targets together


@dataclass(frozen=True, slots=True)
class Clusters:
    east: Place
    targets: tuple[Place, ...]
    kubeconfig: JsonObject

    @property
    def links(self) -> int:
        return len(self.targets)

    @property
    def exports(self) -> int:
        return PLAIN + 1

    async def link(self) -> None:
        for one in self.targets:
            spec: JsonObject = {"probe": {"period": "1s"}, "gateway": {"addresses": ["127.0.0.1"]}}
            await self.east.create(LINKS, link(one.name, **spec))

    async def unlink(self, within: float) -> None:
        """Delete all Links, and wait until their mirrors are gone with them."""
        for one in self.targets:
            await self.east.delete(LINKS, one.name)
        await until(lambda: self.east.all(LINKS), lambda found: not found, within=within)
        left = await self.east.mirrors()
        if left:
            raise AssertionError(f"all links are gone, and these mirrors are not: {left}")

    async def settled(self, within: float) -> None:
        """Wait until everything that is exported, and nothing else, is mirrored."""
        wanted = {name for one in self.targets for name in await _wanted(one)}

        async def differences() -> JsonObject:
            found = set(await self.east.mirrors())
            lacking, left = sorted(wanted - found), sorted(found - wanted)
            return {"lacking": lacking, "left": left} if lacking or left else {}

        try:
            await until(differences, lambda found: not found, within=within)
        except TimeoutError as error:
            links = {one["metadata"]["name"]: one["status"] for one in await self.east.all(LINKS)}
            raise TimeoutError(f"{error}; links: {links}") from None

    async def change(self, random: Random) -> None:
        """Let users of the targets do this and that, and connections break."""
        for _ in range(CHANGES):
            await self._change(random.choice(self.targets), random)
            await asyncio.sleep(0)

    async def _change(self, target: Place, random: Random) -> None:
        name = f"web-{random.randrange(PLAIN)}"
        match random.randrange(7):
            case 0:
                target.cluster.faults.disconnect()
            case 1:
                self.east.cluster.faults.disconnect()
            case 2:
                exports = random.choice(["true", None])
                labels = {"labels": {"mirror.linkerd.io/exported": exports}}
                await target.edit(SERVICES, name, {"metadata": labels})
            case 3:
                ports = [{"name": "http", "port": random.choice([80, 81])}]
                await target.edit(SERVICES, name, {"spec": {"ports": ports}})
            case 4:
                await target.delete(SERVICES, name)
                await target.create(SERVICES, exported(name))
            case 5:
                pods = [f"db-{number}" for number in range(random.randint(1, PODS))]
                patch = {"endpoints": endpoints("db", *pods)["endpoints"]}
                await target.edit(SLICES, "db-abcde", patch)
            case _:
                for mirror in (await self.east.mirrors())[:1]:
                    await self.east.delete(SERVICES, mirror)

    async def forget(self) -> None:
        """Clusters remember what was, and this process has to hold it."""
        for event in await self.east.all(EVENTS):
            await self.east.delete(EVENTS, event["metadata"]["name"])
        for one in (self.east, *self.targets):
            one.cluster.faults.compact()


async def _wanted(target: Place) -> list[str]:
    found = await target.all(SERVICES, labels="mirror.linkerd.io/exported=true")
    names = [one["metadata"]["name"] for one in found]
    slices = await target.get(SLICES, "db-abcde")
    pods = [one["hostname"] for one in slices["endpoints"]] if slices else []
    return [f"{name}-{target.name}" for name in (*names, *pods)]


@asynccontextmanager
async def clusters(links: int) -> AsyncIterator[Clusters]:
    async with AsyncExitStack() as stack:
        east, served = await _place(stack, "east", 0)
        await furnish(east)
        targets = []
        for number in range(links):
            one, at = await _place(stack, f"t{number}", number + 1)
            await _fill(one)
            raw = yaml.safe_dump(at.kubeconfig()).encode()
            await east.create(PLAIN_SECRETS, secret(one.name, raw))
            targets.append(one)
        yield Clusters(east, tuple(targets), served.kubeconfig())


async def _place(stack: AsyncExitStack, name: str, number: int) -> tuple[Place, Served]:
    """A cluster on a socket; its users get in without one, and are not disturbed."""
    cluster = Cluster(name, service_range=f"10.{96 + number}.0.0/16", random=Random(number))
    served = await stack.enter_async_context(serve(cluster))
    return Place(name, Client(cluster.transport()), cluster), served


async def _fill(target: Place) -> None:
    for number in range(PLAIN):
        name = f"web-{number}"
        await target.create(SERVICES, exported(name))
        await target.create(SLICES, endpoints(name, "10.2.0.1"))
    await target.create(SERVICES, exported("db", headless=True))
    await target.create(SLICES, endpoints("db", "db-0"))
