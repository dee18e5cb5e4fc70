"""Two reflections that belong together: a target's Services and their EndpointSlices."""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias, TypeVar

from isthmus.apps.controller.mirroring.remote import Listing
from isthmus.apps.controller.outside import Outside
from isthmus.kube.client import Client
from isthmus.kube.reflect import Source, reflect
from isthmus.kube.reflector import Reflector, State
from isthmus.kube.requests import Selection
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES
from isthmus.model.errors import IsthmusError
from isthmus.model.names import SERVICE_NAME
from isthmus.model.objects import EndpointSlice, Key, Service
from isthmus.runtime.cache import Event, Listed
from isthmus.runtime.workqueue import Lane

T = TypeVar("T")
Complete: TypeAlias = Callable[[Listing], None]
Changed: TypeAlias = Callable[[Listing, set[Key], Lane], None]

log = logging.getLogger(__name__)

LOOK = 2.0  # seconds between two looks at how it goes
MOST_SKEW = 60.0  # seconds by which clocks may differ without a word


class Reading:
    """One attempt to read a target, from nothing to complete and then in step with it."""

    def __init__(self, outside: Outside, client: Client, labels: str, cluster: str) -> None:
        self._outside = outside
        self._client = client
        self._labels = labels
        self._cluster = cluster
        self._clocks_differ = False
        self._look: Callable[[Reading], None] = lambda _: None
        self._services: Reflector[Service] = self._reflector()
        self._slices: Reflector[EndpointSlice] = self._reflector()

    def _reflector(self) -> "Reflector[T]":
        return Reflector(self._outside.random, changed=lambda _: self._look(self))

    @property
    def error(self) -> IsthmusError | None:
        return self._services.error or self._slices.error

    @property
    def is_live(self) -> bool:
        """Whether everything was read and both watches go on."""
        return self._services.state is State.SYNCED and self._slices.state is State.SYNCED

    @property
    def unreadable(self) -> dict[Key, str]:
        return self._services.unreadable

    @property
    def divergences(self) -> int:
        return self._services.divergences + self._slices.divergences

    async def run(
        self, complete: Complete, changed: Changed, look: Callable[["Reading"], None]
    ) -> None:
        """Read for ever; tell when the first reading is complete, then what changes."""
        remote = Listing()
        self._look = look

        def passed_on(keys: set[Key], listed: bool, was_synced: bool) -> None:
            if was_synced:
                changed(remote, keys, Lane.BULK if listed else Lane.SINGLE)
            elif remote.synced:
                complete(remote)

        def services(event: Event[Key, Service]) -> None:
            was_synced = remote.synced
            passed_on(remote.fold_services(event), isinstance(event, Listed), was_synced)

        def slices(event: Event[Key, EndpointSlice]) -> None:
            was_synced = remote.synced
            passed_on(remote.fold_slices(event), isinstance(event, Listed), was_synced)

        clock = self._outside.clock
        labelled, owned = Selection(labels=self._labels), Selection(labels=SERVICE_NAME)
        exported = Source(self._client, SERVICES, labelled, self._cluster)
        theirs = Source(self._client, ENDPOINT_SLICES, owned, self._cluster)
        async with asyncio.TaskGroup() as group:
            group.create_task(reflect(exported, self._services, services, clock))
            group.create_task(reflect(theirs, self._slices, slices, clock))
            while True:
                look(self)
                self._compare_clocks()
                await clock.sleep(LOOK)

    def _compare_clocks(self) -> None:
        """Say once that the target's clock is wrong, or ours: certificates depend on both."""
        ahead = self._client.clock_skew or 0.0
        differ, self._clocks_differ = self._clocks_differ, abs(ahead) > MOST_SKEW
        if self._clocks_differ and not differ:
            ours = self._outside.clock.utc()
            theirs = ours + timedelta(seconds=ahead)
            extra = {"link": self._cluster, "ours": str(ours), "theirs": str(theirs)}
            log.warning("clocks differ by more than a minute", extra=extra)
