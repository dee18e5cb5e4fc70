"""Tells those who write Grants whether they are understood, while leading."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from isthmus.apps.controller.mirroring.writer import LATER, NotLeading
from isthmus.apps.controller.outside import Outside
from isthmus.core.grant import status
from isthmus.kube.resources import GRANTS
from isthmus.model.errors import Permanent
from isthmus.model.grants import Grant
from isthmus.model.objects import Key
from isthmus.model.times import second_time
from isthmus.runtime.cache import Event, Gone, Listed, Put
from isthmus.runtime.work import work
from isthmus.runtime.workqueue import WorkQueue

WORKERS = 2  # Grants written at once


class Granting:
    """Writes the status of Grants."""

    def __init__(
        self, grants: Mapping[Key, Grant], outside: Outside, leading: Callable[[], bool]
    ) -> None:
        self._grants = grants
        self._outside = outside
        self._leading = leading
        self._queue: WorkQueue[Key] = WorkQueue(outside.clock, random=outside.random)

    def fold(self, event: Event[Key, Grant]) -> None:
        """Take in that Grants may need another status."""
        match event:
            case Listed(objects):
                for one in objects:
                    self._queue.add(one.metadata.key)
            case Put(one):
                self._queue.add(one.metadata.key)
            case Gone():
                pass

    async def run(self) -> None:
        """Look after all Grants, for ever."""
        for key in self._grants:
            self._queue.add(key)
        await work(self._queue, self._attend, WORKERS)

    async def _attend(self, key: Key) -> None:
        grant = self._grants.get(key)
        if grant is None:
            return
        wanted = status(grant, second_time(self._outside.clock.utc()))
        if wanted == grant.status:
            return
        if not self._leading():
            raise NotLeading(f"grant {key}: not leading any more")
        try:
            await self._outside.client.replace(GRANTS, replace(grant, status=wanted), "status")
        except Permanent:
            # A right or a schema may change without anything that we watch.
            self._queue.add_after(key, LATER)
            raise
