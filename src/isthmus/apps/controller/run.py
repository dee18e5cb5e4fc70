"""The controller, put together: read this first.

Watches of this cluster and a session for each link fold what they see into one state; the state
queues names; while this replica leads, workers plan each name and write what the plan says.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from isthmus.apps.controller.admin import serve
from isthmus.apps.controller.carrying.doubting import Doubting
from isthmus.apps.controller.carrying.exporting import LOOSE, MARKED, Exporting, only_offered
from isthmus.apps.controller.carrying.granting import Granting
from isthmus.apps.controller.carrying.outgoing import OURS
from isthmus.apps.controller.carrying.plane import DataPlane
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.lag import Lag
from isthmus.apps.controller.linking.sessions import Sessions
from isthmus.apps.controller.mirroring.expected import Expected
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.upkeep import Upkeep
from isthmus.apps.controller.mirroring.writer import Writer
from isthmus.apps.controller.outside import Outside, without_identity
from isthmus.kube.election import Election, StoredLease
from isthmus.kube.lease import Candidate
from isthmus.kube.reflect import Emit, Source, reflect
from isthmus.kube.reflector import Reflector
from isthmus.kube.requests import EVERYTHING, Selection
from isthmus.kube.resources import (
    ENDPOINT_SLICES,
    GRANTS,
    LINKS,
    NAMESPACES,
    SERVICES,
    Resource,
)
from isthmus.model.errors import IsthmusError
from isthmus.model.grants import Grant
from isthmus.model.links import Link
from isthmus.model.names import EGRESS, SERVICE_NAME
from isthmus.model.objects import EndpointSlice, Key, Service
from isthmus.runtime.cache import Event
from isthmus.runtime.work import work
from isthmus.runtime.workqueue import WorkQueue

T = TypeVar("T")

log = logging.getLogger(__name__)

GRACE = 5.0  # seconds for the workers to finish what they are writing
LEASE = "isthmus-controller"
API_SERVERS = Selection(namespace="default", labels=f"{SERVICE_NAME}=kubernetes")


class Controller:
    """One replica. Everything is made here, and nothing runs before ``run``."""

    def __init__(self, config: Config, outside: Outside) -> None:
        self.config = config
        self.exporting = Exporting(config, lambda: self.state.own_uid)
        self.dataplane = DataPlane(config, outside, self.exporting, self._gateways)
        if outside.catalogue is without_identity:
            dialer = self.dataplane.dialer
            outside = replace(outside, catalogue=dialer.open, knock=dialer.probe)
        self.outside = outside
        self.queue: WorkQueue[Key] = WorkQueue(outside.clock, random=outside.random)
        self.synced = asyncio.Event()
        self.lag = Lag()
        expected = Expected(outside.clock, self.queue.add)
        self.state = State(
            config.namespace,
            self.queue.add,
            self._touch,
            expected,
            allow_loopback=config.allow_loopback,
        )
        self.sessions = Sessions(self.state, outside, config)
        lease = Key(config.namespace, LEASE)
        self.election = Election(
            StoredLease(outside.client.apart(), lease),
            Candidate(key=lease, identity=config.identity),
            outside.clock,
            outside.random,
            outside.overrun,
        )
        leading = self.election.still_leading
        services = self._source(SERVICES, EVERYTHING)
        self.offered = Doubting(services, outside, self.exporting.fold_services)
        self.links = self._guard(LINKS, EVERYTHING, self._fold_links)
        self.grants = self._guard(GRANTS, EVERYTHING, self._fold_grants)
        self.marked = self._guard(ENDPOINT_SLICES, MARKED, self.exporting.fold_marked)
        self.loose = self._guard(ENDPOINT_SLICES, LOOSE, self.exporting.fold_loose)
        egress = Selection(namespace=config.namespace, labels=f"{SERVICE_NAME}={EGRESS}")
        self.egress = self._guard(ENDPOINT_SLICES, egress, self.state.fold_egress)
        self.granting = Granting(self.exporting.grants.objects, outside, leading)
        self.writer = Writer(outside.client, self.state, expected, self.queue, leading)
        self.upkeep = Upkeep(self.state, outside, config, leading, self._is_busy)

    @property
    def held(self) -> int:
        """How many objects are kept although a list lacked them."""
        here = (self.offered, self.links, self.grants, self.marked, self.loose, self.egress)
        return self.dataplane.held + sum(one.held for one in here)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until ``stop`` is set: then finish what is being written, and let others lead."""
        state = self.state
        own = Selection(namespace=self.config.namespace, labels=SERVICE_NAME)
        async with asyncio.TaskGroup() as group:
            leading = group.create_task(self._once_synced(self._lead))
            others = [
                group.create_task(part)
                for part in (
                    self._reflect(NAMESPACES, EVERYTHING, state.fold_namespaces),
                    self._reflect(SERVICES, EVERYTHING, self._fold_services),
                    self._reflect(ENDPOINT_SLICES, OURS, self._fold_slices),
                    self._doubt(self.egress),
                    self._reflect(ENDPOINT_SLICES, API_SERVERS, state.local.fold_api_servers),
                    self._doubt(self.links),
                    self._doubt(self.marked),
                    self._doubt(self.loose),
                    self._reflect(ENDPOINT_SLICES, own, self.exporting.fold_ours),
                    self._doubt(self.grants),
                    self.offered.run(),
                    self._once_synced(self.sessions.run),
                    *self.dataplane.parts(state.complain),
                    self.lag.run(self.outside.clock),
                    serve(self),
                )
            ]
            await stop.wait()
            self.queue.close()
            if self.election.still_leading():
                await asyncio.wait({leading}, timeout=GRACE)
            for task in (leading, *others):
                task.cancel()

    async def _reflect(self, resource: Resource[T], selection: Selection, emit: Emit[T]) -> None:
        def passed_on(event: Event[Key, T]) -> None:
            emit(event)
            if self.state.synced:
                self.synced.set()

        source = self._source(resource, selection)
        await reflect(source, Reflector(self.outside.random), passed_on, self.outside.clock)

    async def _doubt(self, guarded: Doubting[T]) -> None:
        """Reflect what calls hang on: no single list may cut off everybody."""
        source = guarded.source
        async with asyncio.TaskGroup() as group:
            group.create_task(guarded.run())
            group.create_task(self._reflect(source.resource, source.selection, guarded.fold))

    def _guard(self, resource: Resource[T], selection: Selection, emit: Emit[T]) -> Doubting[T]:
        return Doubting(self._source(resource, selection), self.outside, emit)

    def _source(self, resource: Resource[T], selection: Selection) -> Source[T]:
        return Source(self.outside.client, resource, selection, self.config.cluster_name)

    async def _once_synced(self, part: Callable[[], Awaitable[None]]) -> None:
        await self.synced.wait()
        await part()

    async def _lead(self) -> None:
        while not self.queue.closed:
            await self.election.lead(self._write)

    async def _write(self) -> None:
        """What only one replica does."""
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(one.run()) for one in (self.upkeep, self.granting)]
            await work(self.queue, self.writer.reconcile, self.config.workers)
            for task in others:
                task.cancel()

    def _fold_services(self, event: Event[Key, Service]) -> None:
        self.state.fold_services(event)
        self.offered.fold(only_offered(event))
        self.dataplane.fold_services(event)

    def _fold_slices(self, event: Event[Key, EndpointSlice]) -> None:
        self.state.fold_slices(event)
        self.dataplane.slices.fold(event)

    def _fold_grants(self, event: Event[Key, Grant]) -> None:
        self.exporting.fold_grants(event)
        self.granting.fold(event)

    def _fold_links(self, event: Event[Key, Link]) -> None:
        self.state.fold_links(event)
        self.dataplane.carrying.fold_links(event)
        self.sessions.refresh()

    def _touch(self, uid: str) -> None:
        self.upkeep.touch(uid)
        self.dataplane.carrying.moved(uid)

    def _gateways(self, uid: str) -> tuple[str, ...]:
        """Return where the gateways of a link are, as far as that is known."""
        target = self.state.targets.get(uid)
        return () if target is None else target.gateway_addresses

    def _is_busy(self) -> bool:
        return self.queue.depth + self.queue.held > 0


async def run(config: Config, outside: Outside, stop: asyncio.Event) -> None:
    """Run a controller until ``stop`` is set."""
    log.info("starting", extra={"cluster": config.cluster_name, "identity": config.identity})
    try:
        await Controller(config, outside).run(stop)
    except BaseExceptionGroup as group:
        ours, others = group.split(IsthmusError)
        if ours is None or others is not None:
            raise  # a bug: all of it must be seen
        raise _first(ours) from None
    log.info("stopped")


def _first(group: BaseExceptionGroup[IsthmusError]) -> IsthmusError:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, BaseExceptionGroup) else found
