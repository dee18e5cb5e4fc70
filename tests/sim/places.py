"""The clusters of a simulation: furnished once in each worker, set back for every schedule."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import cache
from random import Random

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.state.store import Event, Key, Record
from isthmus.kube.client import Client
from isthmus.kube.resources import untyped
from isthmus.model.wire import JsonObject
from isthmus.pki.keys import Pair, chain_pem, key_pem
from tests.apps import clusters
from tests.apps.clusters import PLAIN_NAMESPACES, PLAIN_SECRETS, START, Place, VirtualClock
from tests.apps.trusting import anchor, issuer
from tests.support.virtual import VirtualLoop

SERVICES, SLICES = "/services", "discovery.k8s.io/endpointslices"
NAMESPACES, LINKS = "/namespaces", "isthmus.dev/links"
GRANTS, LEASES = "isthmus.dev/grants", "coordination.k8s.io/leases"
_NUMBERS = {"east": 0, "west": 1, "far-west": 2}  # each has a range of addresses of its own


class Site:
    """One embedded cluster, with somebody who sees every change of it."""

    def __init__(self, name: str, incarnation: int) -> None:
        self.name = name
        self.observe: Callable[[Event | None], None] = lambda _: None
        self._dice = Random(f"{name} {incarnation}")
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            self.cluster = runner.run(self._built())
        self._template = self.cluster.store.snapshot()
        self.cluster.store.follow(self)

    @property
    def uid(self) -> str:
        """What tells it from every other cluster, be it one of the same name."""
        found = self.cluster.store.get(Key(NAMESPACES, "", "kube-system"))
        return "" if found is None else str(found.object["metadata"]["uid"])

    def set_back(self, seed: str) -> None:
        """Be fresh again, with dice of its own."""
        self.observe = lambda _: None
        self._dice.seed(f"{seed} {self.name}")
        self.cluster.store.restore(self._template)

    def objects(self, resource: str) -> list[JsonObject]:
        """Everything of one kind, as it is stored: nobody's view of it."""
        return [one.object for one in self.cluster.store.scan(resource)]

    def reset(self, _records: Iterable[Record]) -> None:
        self.observe(None)

    def note(self, event: Event) -> None:
        self.observe(event)

    async def _built(self) -> Cluster:
        made = Cluster(
            self.name,
            domain=f"{self.name}.cluster.local",
            service_range=f"10.{96 + _NUMBERS[self.name]}.0.0/16",
            wall=VirtualClock().utc,
            random=self._dice,
        )
        here = Place(self.name, Client(made.transport(), clock=VirtualClock()))
        await clusters.furnish(here)
        await here.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
        pair = issuer(trusted(), self.name)
        data = {"tls.crt": chain_pem(pair.certificate), "tls.key": key_pem(pair.key)}
        coded = {name: b64encode(value).decode() for name, value in data.items()}
        metadata = {"name": "isthmus-issuer", "namespace": "isthmus"}
        await here.create(PLAIN_SECRETS, {"metadata": metadata, "data": coded})
        maps = untyped("v1", "ConfigMap", "configmaps", namespaced=True)
        text = chain_pem(trusted().certificate).decode()
        metadata = {"name": "isthmus-trust", "namespace": "isthmus"}
        await here.create(maps, {"metadata": metadata, "data": {"anchors.pem": text}})
        return made


@cache
def trusted() -> Pair:
    """The anchor that all clusters of all schedules are below."""
    return anchor(START - timedelta(days=1))


@cache
def site(name: str, incarnation: int) -> Site:
    """The cluster of that name; another incarnation is one that was built anew."""
    return Site(name, incarnation)


@cache
def build() -> None:
    """Build all clusters; once in a process, before any play runs."""
    for name in _NUMBERS:
        site(name, 1)
        site(name, 2)
