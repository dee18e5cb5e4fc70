"""Carries plans out: one name at a time, each write conditional and only while leading."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import assert_never

from isthmus.apps.controller.mirroring import pacing
from isthmus.apps.controller.mirroring.expected import GONE, Expected, Thing
from isthmus.apps.controller.mirroring.state import State
from isthmus.core.mirror import owner
from isthmus.core.plan import plan
from isthmus.kube.client import Client
from isthmus.kube.errors import AlreadyExists, Conflict, NotFound
from isthmus.kube.requests import Preconditions
from isthmus.kube.resources import ENDPOINT_SLICES, NAMESPACES, SERVICES
from isthmus.model.actions import Create, Delete, Report, Update, Written
from isthmus.model.errors import Permanent, Transient
from isthmus.model.objects import EndpointSlice, Key, Namespace, Service
from isthmus.runtime.workqueue import Lane, WorkQueue

LATER = 120.0  # seconds until a write that was refused is tried again without a reason


class NotLeading(Transient):
    """Another replica may be writing by now."""


class Writer:
    """Brings this cluster in line with what the state says it should be."""

    def __init__(
        self,
        client: Client,
        state: State,
        expected: Expected,
        queue: WorkQueue[Key],
        leading: Callable[[], bool],
    ) -> None:
        self._client = client
        self._state = state
        self._expected = expected
        self._queue = queue
        self._leading = leading

    async def reconcile(self, name: Key) -> None:
        """Plan ``name`` from what is known now, and do what the plan says."""
        left = self._expected.left(name)
        if left:
            self._queue.add_after(name, left)
            return
        actions = plan(self._state.world(), name)
        reports = [one for one in actions if isinstance(one, Report)]
        writes = [one for one in actions if not isinstance(one, Report)]
        self._state.report(name, reports)
        chosen = (one.object for one in writes if not isinstance(one, Delete))
        slices = [one for one in chosen if isinstance(one, EndpointSlice)]
        self._state.listeners.reserve(name, slices)
        if not writes:
            await asyncio.sleep(0)  # thousands of settled names must not hold up everybody else
        try:
            with self._expected.during({owner(one.object.metadata) for one in writes}):
                for action in writes:
                    await self._carry_out(name, action)
        except BaseException as error:
            self._expected.failed(name)
            if isinstance(error, Permanent):
                self._state.report(name, [*reports, *self._refused(name, error)])
                # A right, a quota, a policy, or who answers in the API server's place may change
                # without anything that we watch.
                self._queue.add_after(name, LATER)
            raise
        pause = pacing.pause(sum(len(one.endpoints) for one in slices))
        rest = self._expected.finished(name, pause)
        if rest:
            self._queue.add_after(name, rest, Lane.SINGLE if pause else Lane.BULK)

    def _refused(self, name: Key, error: Permanent) -> list[Report]:
        return [
            Report(claim.link_uid, claim.export, type(error).__name__, str(error))
            for claim in self._state.claims.by_name.get(name, ())
        ]

    async def _carry_out(self, name: Key, action: Create | Update | Delete) -> None:
        thing = Thing(type(action.object), action.object.metadata.key)
        if not self._leading():
            raise NotLeading(f"{name}: not leading any more")
        self._expected.writing(name, thing)
        match action:
            case Create(value):
                version = await self._create(value)
            case Update(value):
                version = await self._replace(value)
            case Delete(value):
                version = await self._delete(value)
            case _:
                assert_never(action)
        self._expected.written(name, thing, version)

    async def _create(self, value: Written) -> str:
        match value:
            case Service():
                return (await self._client.create(SERVICES, value)).metadata.resource_version
            case EndpointSlice():
                return (await self._client.create(ENDPOINT_SLICES, value)).metadata.resource_version
            case Namespace():
                try:
                    made = await self._client.create(NAMESPACES, value)
                except AlreadyExists:
                    # Another name in the same namespace was quicker; whose it is does not matter.
                    made = await self._client.get(NAMESPACES, value.metadata.key)
                return made.metadata.resource_version

    async def _replace(self, value: Written) -> str:
        try:
            made: Written
            match value:
                case Service():
                    made = await self._client.replace(SERVICES, value)
                case EndpointSlice():
                    made = await self._client.replace(ENDPOINT_SLICES, value)
                case Namespace():
                    made = await self._client.replace(NAMESPACES, value)
                case _:
                    assert_never(value)
        except NotFound as error:
            raise Conflict(str(error)) from error  # it has gone meanwhile, as the watch will show
        return made.metadata.resource_version

    async def _delete(self, value: Written) -> str:
        metadata = value.metadata
        unchanged = Preconditions(uid=metadata.uid, resource_version=metadata.resource_version)
        with suppress(NotFound):  # as wanted
            match value:
                case Service():
                    await self._client.delete(SERVICES, metadata.key, unchanged)
                case EndpointSlice():
                    await self._client.delete(ENDPOINT_SLICES, metadata.key, unchanged)
                case Namespace():
                    await self._client.delete(NAMESPACES, metadata.key, unchanged)
        return GONE
