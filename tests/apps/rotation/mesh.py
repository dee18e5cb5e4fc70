"""Clusters in memory, with controllers and proxies that learn late and say what they use.

Whoever meets somebody who shows a certificate below an anchor that is not trusted is a stranger: in
a rotation there must never be one.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

from isthmus.apps.rotation import planning
from isthmus.apps.rotation.driving import Driver, look_at
from isthmus.apps.rotation.kept import Kept, newest
from isthmus.apps.rotation.looking import Site
from isthmus.apps.rotation.planning import Looks
from isthmus.apps.rotation.steps import Means
from isthmus.kube.client import Client
from isthmus.kube.resources import CONFIG_MAPS, SECRETS, untyped
from isthmus.kube.transport import Transport
from isthmus.model.names import ANCHORS, CONTROLLER, EGRESS, GATEWAY, ISSUER, TRUST, TRUST_SEEN
from isthmus.model.objects import Key
from isthmus.pki import bundle, reports
from isthmus.pki.issuer import LIFETIME
from isthmus.pki.keys import Pair, chain_pem, fingerprint, key_pem, read_certificates
from isthmus.pki.seen import Report
from isthmus.pki.verify import anchor_of
from tests.apps import clusters
from tests.apps.clusters import GRANTS, LINKS, PLAIN_SECRETS, Place, VirtualClock, Wire
from tests.apps.trusting import anchor, issuer

OLD, NEW = anchor(), anchor()
KNOWN = bundle.of((OLD.certificate, NEW.certificate))
SPACE = "isthmus"
STEP = 20.0  # seconds between two looks of anybody
_MAPS = untyped("v1", "ConfigMap", "configmaps", namespaced=True)
_ACCOUNTS = untyped("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
_PODS = untyped("v1", "Pod", "pods", namespaced=True)


def prints(*anchors: Pair) -> frozenset[str]:
    return frozenset(fingerprint(one.certificate) for one in anchors)


@dataclass
class Member:
    """A pod of ours: learns what is current some seconds later than it is."""

    name: str
    account: str
    lag: float
    trusts: frozenset[str] = frozenset()
    chains_to: frozenset[str] = frozenset()
    is_deaf: bool = False

    def report(self) -> Report:
        return Report(VirtualClock().utc(), self.trusts, self.chains_to)


@dataclass
class Town:
    """One cluster with its members."""

    place: Place
    members: list[Member] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.place.name

    async def furnish(self, above: Pair) -> None:
        await clusters.furnish(self.place)
        here = {"namespace": SPACE}
        pair = issuer(above, self.name)
        data = {"tls.crt": chain_pem(pair.certificate), "tls.key": key_pem(pair.key)}
        coded = {name: b64encode(value).decode() for name, value in data.items()}
        await self.place.create(
            PLAIN_SECRETS, {"metadata": {**here, "name": ISSUER}, "data": coded}
        )
        text = chain_pem(above.certificate).decode()
        trusted = {"metadata": {**here, "name": TRUST}, "data": {ANCHORS: text}}
        await self.place.create(_MAPS, trusted)
        seen = {"metadata": {**here, "name": TRUST_SEEN}}
        await self.place.create(_MAPS, seen)
        for account in (CONTROLLER, GATEWAY, EGRESS):
            await self.place.create(_ACCOUNTS, {"metadata": {**here, "name": account}})

    async def add(self, name: str, account: str, lag: float) -> Member:
        container = {"name": "main", "image": "example.org/isthmus"}
        spec = {"serviceAccountName": account, "containers": [container]}
        metadata = {"name": name, "namespace": SPACE}
        await self.place.create(_PODS, {"metadata": metadata, "spec": spec})
        made = Member(name, account, lag)
        self.members.append(made)
        return made

    async def current(self) -> tuple[frozenset[str], frozenset[str]]:
        """What everybody here should trust, and be below of."""
        client = self.place.client
        found = await client.get(CONFIG_MAPS, Key(SPACE, TRUST))
        secret = await client.get(SECRETS, Key(SPACE, ISSUER))
        (signer,) = read_certificates(secret.data["tls.crt"], "it")
        above = fingerprint(anchor_of(signer, KNOWN))
        return frozenset(bundle.parse(found.data[ANCHORS]).fingerprints), frozenset((above,))

    async def live(self) -> None:
        """Let everybody learn, late, and speak."""
        history = [(0.0, await self.current())]
        clock = asyncio.get_running_loop().time
        while True:
            now = await self.current()
            if now != history[-1][1]:
                history.append((clock(), now))
            for one in self.members:
                if not one.is_deaf or not one.trusts:
                    known = [what for when, what in history if when <= clock() - one.lag]
                    one.trusts, one.chains_to = (known or [history[0][1]])[-1]
            await self.speak()
            await asyncio.sleep(STEP)

    async def speak(self) -> None:
        heard = [one for one in self.members if not one.is_deaf]
        told = reports.written({one.name: one.report() for one in heard})
        own = {one.name: one.report() for one in heard if one.account != CONTROLLER}
        data = {f"{one.name}_1": told for one in heard if one.account == CONTROLLER}
        data |= {f"{name}.own": reports.written(own) for name in data}
        key = Key(SPACE, TRUST_SEEN)
        await self.place.client.merge_patch(CONFIG_MAPS, key, {"data": data})


@dataclass
class Mesh:
    towns: dict[str, Town]
    wires: dict[str, Wire] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    watched: tuple[str, Callable[[], object]] | None = None  # a line, and what happens then
    around: Callable[[Transport], Transport] = clusters.unchanged  # all ways of the next driver

    def say(self, line: str) -> None:
        self.lines.append(line)
        if self.watched is not None and self.watched[0] in line:
            self.watched[1]()

    async def heard(self, text: str) -> None:
        """Wait until a line is said that has this in it."""
        said = asyncio.Event()
        self.watched = text, said.set
        await said.wait()
        self.watched = None

    def strangers(self) -> Iterator[str]:
        everybody = [one for town in self.towns.values() for one in town.members if one.trusts]
        for one in everybody:
            for other in everybody:
                if not other.chains_to <= one.trusts:
                    yield f"{one.name} does not know {other.name}"

    async def watch(self) -> None:
        while True:
            assert list(self.strangers()) == []
            await asyncio.sleep(1)

    def driver(self) -> Driver:
        """Somebody with ways of their own to all clusters."""
        sites = {}
        for name, town in self.towns.items():
            wire = self.wires[name] = Wire(self.around(town.place.cluster.transport()))
            sites[name] = Site(f"context-{name}", Client(wire, clock=VirtualClock()))
        return Driver(
            sites=sites,
            clock=VirtualClock(),
            say=self.say,
            random=Random(len(self.lines)),
            overrun=lambda: None,
            pause=STEP,
        )

    async def looks(self) -> Looks:
        return await self.looked(Site(name, town.place.client) for name, town in self.towns.items())

    async def looked(self, sites: Iterable[Site]) -> Looks:
        return planning.named(await look_at(sites, VirtualClock()))

    async def kept(self) -> Kept | None:
        return newest(look.copy for look in (await self.looks()).values())

    async def run(self, goal: Pair = NEW) -> bool:
        """Do what ``rotate run`` and ``rotate roll-back`` do."""
        driver = self.driver()
        looks = await self.looked(driver.sites.values())
        kept = newest(look.copy for look in looks.values())
        decide = planning.forward if goal is NEW else planning.back
        wanted = decide(looks, kept, goal.certificate)
        if wanted is None:
            return True
        await driver.keep(looks, wanted)
        return await driver.drive(wanted, Means(goal, wanted.anchors, LIFETIME))

    async def pause(self) -> None:
        looks = await self.looks()
        sites = {name: Site(name, town.place.client) for name, town in self.towns.items()}
        driver = Driver(sites=sites, clock=VirtualClock(), say=self.say)
        await driver.keep(looks, planning.paused(newest(look.copy for look in looks.values())))

    async def state(self) -> set[tuple[frozenset[str], frozenset[str]]]:
        return {await town.current() for town in self.towns.values()}

    def said(self, text: str) -> bool:
        return any(text in line for line in self.lines)


@asynccontextmanager
async def mesh(*names: str, seed: int = 1, slowest: float = 90.0) -> AsyncIterator[Mesh]:
    """Clusters that are all joined with each other, each with a controller and proxies.

    ``slowest`` is how many seconds later than it is a proxy may learn what is current.
    """
    random = Random(seed)
    towns = {name: Town(clusters.place(name, number)) for number, name in enumerate(names)}
    for name, town in towns.items():
        await town.furnish(OLD)
        await town.add(f"{name}-controller", CONTROLLER, random.uniform(0, min(20, slowest)))
        for account in (GATEWAY, EGRESS):
            await town.add(f"{name}-{account}", account, random.uniform(0, slowest))
        for other in names:
            if other != name:
                await town.place.create(LINKS, clusters.link(other, via="gateway"))
                await town.place.create(
                    GRANTS, {"metadata": {"name": other}, "spec": {"cluster": other}}
                )
    made = Mesh(towns)
    async with asyncio.TaskGroup() as group:
        parts = [town.live() for town in towns.values()] + [made.watch()]
        tasks = [group.create_task(part) for part in parts]
        await asyncio.sleep(1)
        try:
            yield made
        finally:
            for task in tasks:
                task.cancel()
    assert list(made.strangers()) == []
