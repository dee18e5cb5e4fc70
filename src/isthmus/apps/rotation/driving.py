"""Drives a rotation: looks at all clusters, takes the one step that may be taken, looks again.

Nothing is remembered but what is kept in the clusters, so that a driver may end at any moment, and
another one goes on. A Lease in the first cluster (by name) lets one act at a time; every write is
conditional besides.
"""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from isthmus.apps.rotation import kept as keeping
from isthmus.apps.rotation import planning
from isthmus.apps.rotation.kept import Kept
from isthmus.apps.rotation.looking import Look, Site, Unread, look, noted
from isthmus.apps.rotation.planning import Looks
from isthmus.apps.rotation.steps import Means, perform
from isthmus.kube.election import Election, StoredLease, identity
from isthmus.kube.errors import AlreadyExists, Conflict, NotFound
from isthmus.kube.lease import Candidate
from isthmus.model.errors import IsthmusError, Transient
from isthmus.model.names import TRUST_ROTATION
from isthmus.model.objects import Key
from isthmus.pki.rotation import Distribute, Done, Drop, Reissue, Step, Wait, next_step
from isthmus.pki.seen import Seen
from isthmus.runtime.clock import Clock

PAUSE = 2.0  # seconds between two looks
MOST = 5  # names in a line

Say = Callable[[str], None]


class Changed(Transient):
    """Somebody else changes the rotation at the same time."""


def _end() -> None:
    os._exit(1)  # whoever cannot stop acting must not go on


@dataclass(slots=True, kw_only=True)
class Driver:
    """``sites`` are all clusters of the mesh, by name; ``say`` takes a line for people."""

    sites: Mapping[str, Site]
    clock: Clock
    say: Say
    random: Random = field(default_factory=Random)
    overrun: Callable[[], None] = _end
    pause: float = PAUSE
    _said: dict[str, str] = field(default_factory=dict)  # the last line about each thing

    async def keep(self, looks: Looks, kept: Kept) -> None:
        """Let all clusters know what is to become."""
        for name, found in sorted(looks.items()):
            if found.copy is not None and found.copy.kept == kept:
                continue
            site = self.sites[name]
            try:
                await keeping.write(site.client, site.namespace, found.copy, kept)
            except (Conflict, AlreadyExists, NotFound) as error:
                raise Changed(
                    f"{name}: somebody else changes the rotation at the same time; see "
                    "`isthmus trust rotate status`, and try again"
                ) from error

    async def drive(self, kept: Kept, means: Means) -> bool:
        """Return True when all is done, and False if somebody has paused or turned it around."""
        first = self.sites[min(self.sites)]
        lease = Key(first.namespace, TRUST_ROTATION)
        stored = StoredLease(first.client, lease)
        me = Candidate(key=lease, identity=identity())
        election = Election(stored, me, self.clock, self.random, self.overrun)
        ended: list[bool | IsthmusError] = []

        async def work() -> None:
            try:
                ended.append(await self._drive(kept, means, election.still_leading))
            except IsthmusError as error:
                ended.append(error)

        held = await stored.read()
        if held is not None and held.spec.holder_identity:
            self.say(f"waiting for {held.spec.holder_identity}, which drives the rotation")
        while not ended:
            await election.lead(work)
            if not ended:
                self.say(f"{first.context} does not answer, or somebody else drives: trying again")
        if isinstance(ended[0], IsthmusError):
            raise ended[0]
        return ended[0]

    async def _drive(self, kept: Kept, means: Means, may_act: Callable[[], bool]) -> bool:
        seen: Seen = {}
        looks: dict[str, Look] = {}
        unread = set(self.sites)  # since the last write there
        while True:
            found = await self._look()
            looks |= found
            unread -= found.keys()
            for each in found.values():
                seen = noted(seen, each, kept.anchors)
            planning.complete(found, self.sites.keys())
            latest = keeping.newest(each.copy for each in found.values())
            if found and (latest is None or latest.rotation != kept.rotation):
                self.say(_end_of(latest))
                return False
            step = None if unread else next_step(kept.rotation, seen, self.clock.utc())
            match step:
                case Done() if may_act():
                    await self._remove(looks)
                    self.say("done: all clusters trust one anchor only, and are below it")
                    return True
                case (Distribute() | Reissue() | Drop()) as change if may_act():
                    unread.add(change.cluster)
                    await self._perform(change, looks[change.cluster], means)
                case _:
                    self._tell(step)
                    await self.clock.sleep(self.pause)

    async def _look(self) -> dict[str, Look]:
        """Read all clusters at once; say which of them cannot be read."""

        found: dict[str, Look] = {}
        failed: dict[str, IsthmusError] = {}

        async def one(name: str, site: Site) -> None:
            try:
                found[name] = await look(site, self.clock)
            except IsthmusError as error:
                failed[name] = error

        async with asyncio.TaskGroup() as group:
            for name, site in self.sites.items():
                group.create_task(one(name, site))
        for name, error in failed.items():
            if not isinstance(error, Unread):
                raise error
            self._once(name, str(error))
        return found

    async def _perform(self, step: Distribute | Reissue | Drop, found: Look, means: Means) -> None:
        site = self.sites[step.cluster]
        try:
            line = await perform(step, site, found, means, self.clock.utc())
        except Transient as error:
            # It may have been done all the same, or others have written: the next look shows it.
            self._once(step.cluster, f"{step.phase}: {step.cluster}: {error}")
            await self.clock.sleep(self.pause)
        else:
            self.say(f"{step.phase}: {line}")

    async def _remove(self, looks: Looks) -> None:
        for name, found in sorted(looks.items(), reverse=True):
            if found.copy is not None:
                site = self.sites[name]
                with suppress(NotFound):
                    await keeping.remove(site.client, site.namespace, found.copy)

    def _tell(self, step: Step | None) -> None:
        if isinstance(step, Wait):
            whom = f": {_listed(step.whom)}" if step.whom else ""
            self._once("", f"{step.phase}: waiting: {step.why}{whom}")

    def _once(self, about: str, line: str) -> None:
        if line != self._said.get(about):
            self._said[about] = line
            self.say(line)


async def look_at(sites: Iterable[Site], clock: Clock) -> dict[str, Look]:
    """Read all clusters, by context; raise if one of them cannot be read."""
    return {site.context: await look(site, clock) for site in sites}


def _end_of(latest: Kept | None) -> str:
    if latest is None:
        return "stopped: nothing is kept of the rotation any more; see who has ended it"
    return "paused" if latest.rotation.paused else "stopped: somebody else has turned it around"


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more
