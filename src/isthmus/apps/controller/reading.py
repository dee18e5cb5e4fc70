"""Two reflections that belong together: a target's Services and their EndpointSlices."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.remote import Listing
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

LOOK = 2.0  # seconds between two looks at how it goes


class Reading:
    """One attempt to read a target, from nothing to complete and then in step with it."""

    def __init__(self, outside: Outside, client: Client, labels: str, cluster: str) -> None:
        self._outside = outside
        self._client = client
        self._labels = labels
        self._cluster = cluster
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
                await clock.sleep(LOOK)
