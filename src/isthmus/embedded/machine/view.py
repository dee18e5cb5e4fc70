"""What the machine knows of its cluster, and which work a change of it calls for."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from enum import Enum
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

from isthmus.embedded.machine.contents import mounted_by
from isthmus.embedded.machine.objects import DEPLOYMENTS, PODS, STATEFUL_SETS, Pod, Workload
from isthmus.embedded.machine.volumes import Stores
from isthmus.kube.client import Client
from isthmus.kube.codec import key_of
from isthmus.kube.reflect import Source, reflect
from isthmus.kube.reflector import Reflector
from isthmus.kube.resources import CONFIG_MAPS, ENDPOINT_SLICES, SECRETS, SERVICES, Resource
from isthmus.model.objects import ConfigMap, EndpointSlice, Key, Secret, Service, service_of
from isthmus.runtime.cache import Cache, Change, Event
from isthmus.runtime.clock import SystemClock

T = TypeVar("T")


class Part(Enum):
    """The parts of the machine, each of which has its own work to do on a key."""

    POD = "Pod"
    STATEFUL_SET = "StatefulSet"
    DEPLOYMENT = "Deployment"
    SLICES = "EndpointSlice"
    ADDRESS = "Service"


_MAKERS = {one.value: one for one in (Part.STATEFUL_SET, Part.DEPLOYMENT)}


class Work(NamedTuple):
    part: Part
    key: Key


class View:
    """Copies of everything that the machine looks at, kept by watches."""

    def __init__(self, add: Callable[[Work], None]) -> None:
        self._add = add
        self.synced = asyncio.Event()
        self.pods: Cache[Key, Pod] = Cache(key_of)
        self.services: Cache[Key, Service] = Cache(key_of)
        self.slices: Cache[Key, EndpointSlice] = Cache(key_of)
        self.stateful_sets: Cache[Key, Workload] = Cache(key_of)
        self.deployments: Cache[Key, Workload] = Cache(key_of)
        self.configs: Cache[Key, ConfigMap] = Cache(key_of)
        self.secrets: Cache[Key, Secret] = Cache(key_of)
        self._mounting = self.pods.index(mounted_by)
        self._by_service = self.slices.index(service_of)
        self._selecting = self.services.index(_selecting_in)

    def slices_of(self, service: Key) -> list[EndpointSlice]:
        return [self.slices.objects[key] for key in sorted(self._by_service[service])]

    def stores(self, client: Client, folder: Path | None) -> Stores:
        """What the volumes of pods are made from."""
        return Stores(
            client=client,
            configs=self.configs.objects,
            secrets=self.secrets.objects,
            clock=SystemClock(),
            folder=folder,
        )

    def reflections(self, client: Client, cluster: str) -> Iterator[Coroutine[None, None, None]]:
        """The watches that keep this view; each runs until it is cancelled."""

        def watched(
            resource: Resource[T], cache: Cache[Key, T], calls_for: Callable[[T], Iterable[Work]]
        ) -> Coroutine[None, None, None]:
            def emit(event: Event[Key, T]) -> None:
                for change in cache.fold(event):
                    for work in _called_for(change, calls_for):
                        self._add(work)
                if self._is_synced():
                    self.synced.set()

            return reflect(Source(client, resource, cluster=cluster), Reflector(Random()), emit)

        yield watched(PODS, self.pods, self._pod)
        yield watched(SERVICES, self.services, _service)
        yield watched(ENDPOINT_SLICES, self.slices, _slice)
        yield watched(STATEFUL_SETS, self.stateful_sets, _workload(Part.STATEFUL_SET))
        yield watched(DEPLOYMENTS, self.deployments, _workload(Part.DEPLOYMENT))
        yield watched(CONFIG_MAPS, self.configs, self._mounted)
        yield watched(SECRETS, self.secrets, self._mounted)

    def _is_synced(self) -> bool:
        made = self.pods.synced and self.stateful_sets.synced and self.deployments.synced
        mounted = self.configs.synced and self.secrets.synced
        return made and mounted and self.services.synced and self.slices.synced

    def _mounted(self, one: ConfigMap | Secret) -> Iterator[Work]:
        for pod in self._mounting[type(one).__name__, one.metadata.key]:
            yield Work(Part.POD, pod)

    def _pod(self, pod: Pod) -> Iterator[Work]:
        key = pod.metadata.key
        yield Work(Part.POD, key)
        if pod.maker is not None and pod.maker.kind in _MAKERS:
            yield Work(_MAKERS[pod.maker.kind], Key(key.namespace, pod.maker.name))
        for service in self._selecting[key.namespace]:
            yield Work(Part.SLICES, service)


def _called_for(change: Change[Key, T], calls_for: Callable[[T], Iterable[Work]]) -> Iterator[Work]:
    for seen in (change.before, change.after):
        if seen is not None:
            yield from calls_for(seen)


def _service(service: Service) -> Iterator[Work]:
    yield Work(Part.SLICES, service.metadata.key)
    yield Work(Part.ADDRESS, service.metadata.key)


def _slice(one: EndpointSlice) -> Iterator[Work]:
    for key in service_of(one):
        yield Work(Part.SLICES, key)
        yield Work(Part.ADDRESS, key)


def _workload(part: Part) -> Callable[[Workload], Iterator[Work]]:
    def calls_for(workload: Workload) -> Iterator[Work]:
        yield Work(part, workload.metadata.key)

    return calls_for


def _selecting_in(service: Service) -> Iterator[str]:
    """The namespace whose pods a Service may select."""
    if service.spec.selector:
        yield service.metadata.namespace
