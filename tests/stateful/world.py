"""A source, a target that is read by its API and one that is read by its catalogue; and users."""

import asyncio
from collections.abc import Callable, Set
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Faults
from isthmus.embedded.fronts.inprocess import InProcess
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.model.names import EXPORTED, LINK_UID, MANAGED_BY, MIRRORED, REMOTE_NAME, SERVICE_NAME
from isthmus.model.wire import JsonObject
from tests.apps import clusters
from tests.apps.clusters import (
    GRANTS,
    LINKS,
    PLAIN_NAMESPACES,
    PLAIN_SECRETS,
    SERVICES,
    SLICES,
    Place,
    Running,
    VirtualClock,
    controlling,
    furnish,
    place,
    source,
)
from tests.apps.test_catalogue import CATALOGUE, Way, offering
from tests.stateful.contract import Export, Link, Mirror, Mirrors, Name, Owner, Reached, Refusals

TARGETS = ("west", "north")
NAMING = {"west": "{service}-west", "north": "{service}-west"}  # so that two may want one name
SELECTORS = {"exported": EXPORTED, "team": "team"}
# Within four minutes anything must have settled, second opinions included.
LOOKS, BETWEEN = 120, 2.0
QUIET = 15.0
# What links say may come after what they do, where a target has to be reached again first.
LAST_WORDS = 4  # times of quiet, in the last of which nothing may be said any more


@dataclass
class World:
    """What there is, and what of it the model has to know."""

    east: Place
    targets: dict[str, Place]
    way: Way = field(default_factory=Way)
    running: Running | None = None
    seed: int = 1
    life: AsyncExitStack = field(default_factory=AsyncExitStack)
    north: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start(self) -> None:
        """Begin to control the source, as another replica each time."""
        self.seed += 1
        way = controlling(self.east, self.targets.values(), seed=self.seed, catalogue=self.way)
        self.running = await self.life.enter_async_context(way)

    async def stop(self, *, kill: bool) -> None:
        assert self.running is not None
        if kill:
            await self.running.crash()
        await self.life.aclose()
        self.life = AsyncExitStack()

    async def close(self) -> None:
        await self.life.aclose()
        await self.north.aclose()

    # What users do.

    async def serve(self, cluster: str, key: Name, export: Export) -> None:
        """Let a Service be like that."""
        place = self.targets[cluster]
        found = await place.get(SERVICES, key.name, key.namespace)
        labels = {SELECTORS[one]: "true" if one in export.labels else None for one in SELECTORS}
        ports = [{"name": f"p{port}", "port": port} for port in export.ports]
        if found is None:
            kept = {name: value for name, value in labels.items() if value}
            spec: JsonObject = {"ports": ports, "selector": {"app": key.name}}
            spec |= {"clusterIP": "None"} if export.headless else {}
            metadata = {"name": key.name, "namespace": key.namespace, "labels": kept}
            await place.create(SERVICES, {"metadata": metadata, "spec": spec})
        else:
            patch = {"metadata": {"labels": labels}, "spec": {"ports": ports}}
            await place.edit(SERVICES, key.name, patch, key.namespace)
        await self._endpoints(place, key, export)

    async def _endpoints(self, place: Place, key: Name, export: Export) -> None:
        wanted = clusters.endpoints(
            key.name,
            *(one.hostname or f"10.2.0.{number}" for number, one in enumerate(export.pods)),
            namespace=key.namespace,
        )
        for one, pod in zip(wanted["endpoints"], export.pods, strict=True):
            one["conditions"]["ready"] = pod.ready
        name = wanted["metadata"]["name"]
        if await place.get(SLICES, name, key.namespace) is None:
            await place.create(SLICES, wanted)
        else:
            await place.edit(SLICES, name, {"endpoints": wanted["endpoints"]}, key.namespace)

    async def withdraw(self, cluster: str, key: Name) -> None:
        place = self.targets[cluster]
        await place.delete(SERVICES, key.name, key.namespace)
        try:
            await place.delete(SLICES, f"{key.name}-abcde", key.namespace)
        except NotFound:
            return

    async def link(self, cluster: str, selector: str, *, headless: bool) -> Link:
        """Write a Link, or another spec of it; return what the model has to know of it."""
        spec: JsonObject = {
            "enableHeadlessServices": headless,
            "selector": {
                "matchLabels": {
                    key: "true" if name == selector else None for name, key in SELECTORS.items()
                }
            },
            "naming": NAMING[cluster],
            "clusterDomain": f"{cluster}.cluster.local",
        }
        spec |= CATALOGUE if cluster == "north" else {"gateway": CATALOGUE["gateway"], "via": "api"}
        if cluster == "west":
            spec["credentialsSecret"] = "cluster-credentials-west"
        if await self.east.get(LINKS, cluster) is None:
            spec["selector"] = {"matchLabels": {SELECTORS[selector]: "true"}}
            made = await self.east.create(LINKS, {"metadata": {"name": cluster}, "spec": spec})
        else:
            made = await self.east.edit(LINKS, cluster, {"spec": spec})
        metadata = made["metadata"]
        age = metadata["creationTimestamp"], metadata["uid"]
        return Link(cluster, age, selector, headless, NAMING[cluster])

    async def grant(self, namespaces: tuple[str, ...] | None) -> None:
        """Let east see what is in these namespaces of north; None: everything."""
        to = {} if namespaces is None else {"namespaces": list(namespaces)}
        spec = {"cluster": "east", "to": to}
        north = self.targets["north"]
        if await north.get(GRANTS, "east") is not None:
            await north.delete(GRANTS, "east")
        await north.create(GRANTS, {"metadata": {"name": "east"}, "spec": spec})

    # What goes wrong.

    async def trouble(self, kind: str) -> None:
        places = [self.east, *self.targets.values()]
        match kind:
            case "disconnected":
                for one in places:
                    one.cluster.faults.disconnect()
            case "errors":
                for one in places:
                    one.cluster.faults.add(effects.failing(500), times=3)
            case "lost answers":
                self.east.cluster.faults.add(
                    effects.lost_answer(), lambda one: one.method != "GET", times=2
                )
            case "restarted" | "killed":
                await self.stop(kill=kind == "killed")
                await self.start()
            case "targets away":
                for one in self.targets.values():
                    one.cluster.faults.stop()
                await asyncio.sleep(20)
                for one in self.targets.values():
                    one.cluster.faults.start()
            case _:
                pass

    # What is there.

    async def settled(self, is_right: Callable[[Mirrors, Refusals], bool], links: Set[str]) -> None:
        """Wait until all is as it should be; then nobody may write any more."""
        for _ in range(LOOKS):
            is_clean = await self._linked(links) and not await self.strays()
            if is_clean and is_right(await self.mirrors(), await self.refusals()):
                break
            await asyncio.sleep(BETWEEN)
        assert await self._linked(links), f"there should be no links but {sorted(links)}"
        assert self.running is not None
        told = ["nobody looked yet"]
        for _ in range(LAST_WORDS):
            if not told:
                break
            mirroring, telling = len(self._mirroring()), len(self._telling())
            await asyncio.sleep(QUIET)
            assert self._mirroring()[mirroring:] == [], "a settled world was written to"
            told = self._telling()[telling:]
        assert told == [], "links go on to say something else of a settled world"

    async def _linked(self, links: Set[str]) -> bool:
        return {one["metadata"]["name"] for one in await self.east.all(LINKS)} == links

    def _mirroring(self) -> list[str]:
        assert self.running is not None
        return [
            one for one in self.running.writes if "/services" in one or "/endpointslices" in one
        ]

    def _telling(self) -> list[str]:
        assert self.running is not None
        return [one for one in self.running.writes if "/links" in one]

    async def mirrors(self) -> Mirrors:
        """Read every mirror, as the model would say it."""
        services = await self.east.all(SERVICES)
        mine = [one for one in services if (one["metadata"].get("labels") or {}).get(MIRRORED)]
        owners = {one["metadata"]["uid"]: one for one in await self.east.all(LINKS)}
        addresses = {
            one["spec"]["clusterIP"]: f"{one['metadata']['namespace']}/{one['metadata']['name']}"
            for one in services
        }
        slices = await self.east.all(SLICES, labels=f"{MANAGED_BY}=isthmus.dev")
        found = {}
        for one in mine:
            key = _key(one)
            reached = frozenset(
                Reached(each.get("hostname", ""), *_where(each, addresses))
                for each in _endpoints_of(slices, key)
            )
            found[key] = _mirror(one, owners, reached)
        return found

    async def strays(self) -> set[Name]:
        """Return the names for which there are slices of ours, and no mirror."""
        slices = await self.east.all(SLICES, labels=f"{MANAGED_BY}=isthmus.dev")
        return {_service(one) for one in slices} - (await self.mirrors()).keys()

    async def refusals(self) -> Refusals:
        return frozenset(
            (link["metadata"]["name"], Name(one["namespace"], one["name"]), one["reason"])
            for link in await self.east.all(LINKS)
            for one in link.get("status", {}).get("refused", ())
        )


def _key(obj: JsonObject) -> Name:
    return Name(obj["metadata"]["namespace"], obj["metadata"]["name"])


def _service(one: JsonObject) -> Name:
    return Name(one["metadata"]["namespace"], one["metadata"]["labels"][SERVICE_NAME])


def _endpoints_of(slices: list[JsonObject], key: Name) -> list[JsonObject]:
    return [each for one in slices if _service(one) == key for each in one.get("endpoints") or ()]


def _where(endpoint: JsonObject, addresses: dict[str, str]) -> tuple[str, bool]:
    (address,) = endpoint["addresses"]
    return addresses.get(address, address), endpoint["conditions"]["ready"]


def _mirror(one: JsonObject, links: dict[str, JsonObject], reached: frozenset[Reached]) -> Mirror:
    metadata, spec = one["metadata"], one["spec"]
    link = links[metadata["annotations"][LINK_UID]]["metadata"]
    labels = frozenset(name for name, key in SELECTORS.items() if key in metadata["labels"])
    return Mirror(
        owner=Owner(
            (link["creationTimestamp"], link["uid"]),
            link["name"],
            *_original(metadata["annotations"][REMOTE_NAME]),
        ),
        ports=tuple(sorted(port["port"] for port in spec["ports"])),
        labels=labels,
        headless=spec["clusterIP"] == "None",
        reached=reached,
        is_alone="selector" not in spec,
    )


def _original(full: str) -> tuple[Name, str]:
    """What a full name says: pod.service.namespace.svc.domain, mostly without a pod."""
    head, _, _ = full.partition(".svc.")
    *hostname, service, namespace = head.split(".")
    return Name(namespace, service), "".join(hostname)


def _undisturbed(place: Place) -> Client:
    """What goes wrong goes wrong for controllers; users get through to their cluster."""
    cluster = place.cluster
    way = InProcess(Faults(cluster.api.handle, cluster.store), cluster.admin_token)
    return Client(way, clock=VirtualClock())


async def world() -> World:
    """Both targets are there, with a namespace shop; the source has none yet."""
    east, west, north = await source(), place("west", 1), place("north", 2)
    await furnish(north)
    for target in (west, north):
        await target.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    raw = clusters.kubeconfig("west", west.cluster.admin_token)
    await east.create(PLAIN_SECRETS, clusters.secret("west", raw))
    for one in (east, west, north):
        one.client = _undisturbed(one)
    made = World(east, {"west": west, "north": north})
    await made.grant(None)
    await made.north.enter_async_context(offering(north, made.way))
    await made.start()
    return made
