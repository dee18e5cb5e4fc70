"""One session for each link, and each in its own compartment.

Nothing that a target does can reach the session of another: they share no connection, no limit
and no waiting. Only a bug in our own code goes further, and ends the process. What all of them do
share is how many files a process may open, so no more links are read than there are files for.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.linking.following import Following
from isthmus.apps.controller.linking.session import Session
from isthmus.apps.controller.mirroring.prober import Prober
from isthmus.apps.controller.mirroring.probes import Probes
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Contact, Target
from isthmus.apps.controller.outside import Outside


@dataclass(frozen=True, slots=True)
class Running:
    session: Session | Following
    task: asyncio.Task[None]
    way: tuple[str, str]  # by which it reads


@dataclass(frozen=True, slots=True)
class Probing:
    task: asyncio.Task[None]
    cluster: str


class Sessions:
    """Starts, refreshes and ends sessions as links come, change and go."""

    def __init__(self, state: State, outside: Outside, config: Config) -> None:
        self.probes = Probes(self._returned)
        self._state = state
        self._outside = outside
        self._config = config
        self._running: dict[str, Running] = {}
        self._probing: dict[str, Probing] = {}
        self._changed = asyncio.Event()

    @property
    def by_cluster(self) -> Mapping[str, Session | Following]:
        """The sessions that run, by the names of their targets."""
        return {
            target.link.cluster: self._running[uid].session
            for uid, target in self._state.targets.items()
            if uid in self._running
        }

    def refresh(self) -> None:
        """Take in that links may have changed."""
        self._changed.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                await self._changed.wait()
                self._changed.clear()
                self._end_unwanted()
                for target in sorted(self._state.targets.values(), key=lambda one: one.age):
                    if self._has_room(target):
                        self._attend(target, group.create_task)
                    else:
                        self._state.meet(target.uid, _no_room(self._outside.berths))

    def _returned(self, cluster: str) -> None:
        """Take in that a gateway answers again. Only a catalogue is read by way of it."""
        session = self.by_cluster.get(cluster)
        if isinstance(session, Following):
            session.hurry()

    def _end_unwanted(self) -> None:
        for uid, running in list(self._running.items()):
            target = self._state.targets.get(uid)
            if target is None or target.is_ending or _way(target) != running.way:
                del self._running[uid]
                running.task.cancel()
        for uid, probing in list(self._probing.items()):
            if uid not in self._state.targets:
                del self._probing[uid]
                self.probes.forget(probing.cluster)
                probing.task.cancel()

    def _has_room(self, target: Target) -> bool:
        """Tell whether a link can be read; who is there already stays, and the oldest come first.

        What ends is only cleaned up after, which needs nothing of its target.
        """
        is_there = target.uid in self._running or target.is_ending
        return is_there or len(self._running) < self._outside.berths

    def _attend(self, target: Target, start: Callable[..., asyncio.Task[None]]) -> None:
        cluster = target.link.cluster
        if target.is_ending:
            return
        if target.uid not in self._probing:
            prober = Prober(target, self._state, self._outside, self._config, self.probes)
            self._probing[target.uid] = Probing(start(prober.run()), cluster)
        if target.uid in self._running:
            self._running[target.uid].session.refresh()
        else:
            reads = Session if target.link.spec.via == "api" else Following
            session = reads(target.uid, self._state, self._outside, self._config)
            task = start(session.run(), name=f"link {cluster}")
            self._running[target.uid] = Running(session, task, _way(target))


def _no_room(berths: int) -> Contact:
    message = (
        f"this controller may open files for {berths} links only, and older ones have taken them; "
        "raise its limit of open files (ulimit -n)"
    )
    return Contact(False, "NoFilesLeft", message)


def _way(target: Target) -> tuple[str, str]:
    """Return what a session is made for; with another, another takes its place."""
    return target.link.spec.via, target.link.spec.credentials_secret
