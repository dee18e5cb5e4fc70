"""Looks after the Link objects themselves, while leading: finalizer, status, Events, farewell."""

import logging
from collections import Counter, deque
from collections.abc import Callable

from msgspec.structs import replace

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.mirroring.facts import facts
from isthmus.apps.controller.mirroring.leftovers import NotGone, check_gone
from isthmus.apps.controller.mirroring.namespaces import remove_namespaces
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Target
from isthmus.apps.controller.mirroring.writer import LATER, NotLeading
from isthmus.apps.controller.outside import Outside
from isthmus.core.status import Note, notes, status
from isthmus.kube.resources import EVENTS, LINKS
from isthmus.model.errors import IsthmusError, Permanent
from isthmus.model.links import Link, LinkStatus
from isthmus.model.names import FINALIZER
from isthmus.model.objects import Event, Metadata, ObjectReference
from isthmus.model.times import micro_time, second_time
from isthmus.runtime.backoff import Backoff
from isthmus.runtime.work import work
from isthmus.runtime.workqueue import WorkQueue

log = logging.getLogger(__name__)

EVERY = 1.0  # seconds between two statuses of one link
BACKOFF = Backoff(first=1.0, cap=60.0)  # on top of it, after failures
WORKERS = 4  # links written at once
BUSY = 10.0  # seconds for which a status may wait for the work that it counts
EVENTS_A_MINUTE = 10  # of one link
LONGEST_NOTE = 1024  # characters; the API server refuses more


class Upkeep:
    """Writes what links need written. ``busy`` tells whether names wait to be planned."""

    def __init__(
        self,
        state: State,
        outside: Outside,
        config: Config,
        leading: Callable[[], bool],
        busy: Callable[[], bool],
    ) -> None:
        self._state = state
        self._outside = outside
        self._config = config
        self._leading = leading
        self._busy = busy
        self._links: WorkQueue[str] = WorkQueue(outside.clock, random=outside.random)
        self._not_before: dict[str, float] = {}
        self._failures: Counter[str] = Counter()  # in a row, of each link
        self._tried: dict[str, str] = {}  # the version of each link over which was last written
        self._written: dict[str, tuple[str, LinkStatus]] = {}  # over which version, and what
        self._recent: dict[str, deque[float]] = {}  # when Events of a link were written

    def touch(self, uid: str) -> None:
        """Take in that something about a link may have changed.

        Every mirror that is written touches its link, so that what can wait is not even queued.
        """
        target = self._state.targets.get(uid)
        wait = 0.0 if target is None else self._wait(target)
        if wait > 0:
            self._links.add_after(uid, wait)
        else:
            self._links.add(uid)

    async def run(self) -> None:
        """Look after all links, for ever."""
        for uid in self._state.targets:
            self.touch(uid)
        await work(self._links, self._attend, WORKERS)

    async def _attend(self, uid: str) -> None:
        target = self._state.targets.get(uid)
        if target is None:
            for known in (self._not_before, self._tried, self._written, self._recent):
                known.pop(uid, None)
            self._failures.pop(uid, None)
            return
        if not self._leading():
            raise NotLeading(f"link {target.link.cluster}: not leading any more")
        wait = self._wait(target)
        if wait > 0:
            self._links.add_after(uid, wait)
            return
        self._not_before[uid] = self._outside.clock.now() + EVERY
        self._tried[uid] = target.link.metadata.resource_version
        try:
            await self._look_after(target)
        except IsthmusError as error:
            if isinstance(error, Permanent):
                # A right or a schema may change without anything that we watch.
                self._links.add_after(uid, LATER)
            # The queue's own patience ends whenever a link has to wait: it is counted here.
            self._failures[uid] += 1
            pause = BACKOFF.wait(self._failures[uid], self._outside.random)
            self._not_before[uid] += pause
            raise
        self._failures.pop(uid, None)

    async def _look_after(self, target: Target) -> None:
        link = target.link
        if target.is_ending:
            await self._say_farewell(target)
        elif FINALIZER not in link.metadata.finalizers:
            await self._set_finalizers(link, (*link.metadata.finalizers, FINALIZER))
        else:
            await self._write_status(target)

    def _wait(self, target: Target) -> float:
        """Return how long ``target`` can wait. What mirrors wait for cannot; what is for people
        to read waits for the work that it counts, within reason."""
        now, link = self._outside.clock.now(), target.link
        urgent = (
            target.is_ending
            or FINALIZER not in link.metadata.finalizers
            or target.identity != link.status.cluster_uid
        )
        if urgent and self._tried.get(link.uid) != link.metadata.resource_version:
            return 0.0
        not_before = self._not_before.setdefault(link.uid, now)
        if self._busy() and now < not_before + BUSY:
            not_before = max(not_before, now + EVERY / 4)
        return not_before - now

    async def _write_status(self, target: Target) -> None:
        link = target.link
        version = link.metadata.resource_version
        wanted = status(link, facts(self._state, target), second_time(self._outside.clock.utc()))
        if wanted == link.status or self._written.get(link.uid) == (version, wanted):
            return
        await self._outside.client.replace(LINKS, replace(link, status=wanted), "status")
        self._written[link.uid] = (version, wanted)
        for note in notes(link.status, wanted):
            await self._tell(link, note)

    async def _say_farewell(self, target: Target) -> None:
        """Let the link go when nothing of it is left; the target is not asked."""
        link = target.link
        if FINALIZER not in link.metadata.finalizers:
            return
        if self._state.owned[link.uid] or self._state.owned_slices[link.uid]:
            return  # the watch of what is left touches this link again
        if self._state.is_written(link.uid):
            raise NotGone(f"link {link.cluster}: something of it is being written still")
        await check_gone(self._outside.client, link)
        await remove_namespaces(self._outside.client, self._state, link)
        left = tuple(one for one in link.metadata.finalizers if one != FINALIZER)
        await self._set_finalizers(link, left)
        log.info("link ended; its mirrors are gone", extra={"link": link.cluster})

    async def _set_finalizers(self, link: Link, finalizers: tuple[str, ...]) -> None:
        version = link.metadata.resource_version
        patch = {"metadata": {"finalizers": list(finalizers), "resourceVersion": version}}
        await self._outside.client.merge_patch(LINKS, link.metadata.key, patch)

    async def _tell(self, link: Link, note: Note) -> None:
        """Write an Event, unless there were many of late: they are for people, who can read
        only so many, and the status has the rest."""
        now = self._outside.clock.now()
        recent = self._recent.setdefault(link.uid, deque(maxlen=EVENTS_A_MINUTE))
        if len(recent) == EVENTS_A_MINUTE and now - recent[0] < 60:
            return
        recent.append(now)
        name = f"{link.cluster}.{self._outside.random.getrandbits(64):016x}"
        event = Event(
            metadata=Metadata(namespace="default", name=name),
            event_time=micro_time(self._outside.clock.utc()),
            reporting_controller="isthmus.dev/controller",
            reporting_instance=self._config.identity[:128],
            action="Link",
            reason=note.reason,
            note=note.text[:LONGEST_NOTE],
            type="Warning" if note.warning else "Normal",
            regarding=ObjectReference(
                api_version=LINKS.api_version, kind=LINKS.kind, name=link.cluster, uid=link.uid
            ),
        )
        try:
            await self._outside.client.create(EVENTS, event)
        except IsthmusError as error:
            # Nothing depends on it, and the status says the same.
            extra = {"link": link.cluster, "error": str(error)}
            log.info("event not written", extra=extra)
