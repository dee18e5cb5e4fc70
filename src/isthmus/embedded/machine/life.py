"""One pod that runs: its containers, each started, asked and started again by a task of its own."""

import asyncio
import errno
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from isthmus.embedded.machine import probes, statuses
from isthmus.embedded.machine.objects import Container, Pod
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.probes import Asked, Verdict
from isthmus.embedded.machine.programs import Start
from isthmus.embedded.machine.statuses import Ending, State
from isthmus.embedded.machine.volumes import Stores, Volumes
from isthmus.model.errors import IsthmusError
from isthmus.model.wire import JsonObject
from isthmus.runtime.backoff import Backoff
from isthmus.runtime.children import end

# Seconds until what has ended is started again, from the second time on. A tenth of what Kubernetes
# takes: nobody watches a demo for ten minutes.
CRASHED = Backoff(first=1.0, cap=30.0)
UNSTARTED = Backoff(first=0.05, cap=2.0)  # seconds until what did not start is tried again
STEADY = 60.0  # seconds after which an end is not taken for one more of the same crashes


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What all pods of a machine need."""

    start: Start
    stores: Stores
    ports: Ports


class Life:
    """A pod at its address, from its containers' start to the end of the last one.

    ``changed`` is called when its status may be another one, and when it has ended.
    """

    def __init__(
        self, pod: Pod, address: str, equipment: Equipment, changed: Callable[[], None]
    ) -> None:
        self.uid = pod.metadata.uid
        self.address = address
        self.volumes = Volumes(pod, address, equipment.stores)
        self.stops_at: float | None = None  # when it is to stop, once that is known
        self.ended_at: float | None = None
        self.ended = asyncio.Event()
        self.said: JsonObject | None = None  # the status that the API has been told
        self._pod = pod
        self._equipment = equipment
        self._clock = equipment.stores.clock
        self._changed = changed
        self._began = self._clock.utc()
        self._states = {container: State() for container in pod.spec.containers}
        self._conditions = pod.status.conditions
        self._untried = set(pod.spec.containers)
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stopping = asyncio.Event()
        self._children: set[Process] = set()
        self._killing: asyncio.TimerHandle | None = None

    def status(self) -> JsonObject:
        """What is to be said about the pod now."""
        states = self._states
        now = self._clock.utc()
        self._conditions = statuses.conditions(self._conditions, states.values(), now)
        return statuses.status(self.address, self._conditions, states, self._began)

    async def begun(self) -> None:
        """Wait until every container was tried; raises OSError if the address is taken."""
        await self._begun

    def stop(self, grace: float) -> None:
        """End all containers, by force after ``grace`` seconds."""
        self._stopping.set()
        if self.ended_at is None:
            if self._killing is not None:
                self._killing.cancel()
            loop = asyncio.get_running_loop()
            self._killing = loop.call_later(max(0.0, grace), self._kill)

    async def run(self) -> None:
        """Run until it is stopped, and everything has ended."""
        try:
            async with asyncio.TaskGroup() as group:
                for container in self._states:
                    group.create_task(self._contain(container))
        finally:
            if self._killing is not None:
                self._killing.cancel()
            self.volumes.remove()
            self.ended_at = self._clock.now()
            self.ended.set()
            self._changed()

    async def _contain(self, container: Container) -> None:
        failures = crashes = 0
        mounted = partial(self.volumes.mounted, container)
        while not self._stopping.is_set():
            began, since = self._clock.utc(), self._clock.now()
            try:
                program = self._equipment.start(self._pod, container, self.address, mounted)
                async with program as child:
                    failures = 0
                    is_ready = container.readiness_probe is None
                    self._say(container, self._states[container].running(began, is_ready))
                    self._tried(container)
                    code = await self._attended(container, child)
            except (OSError, IsthmusError) as error:
                failures += 1
                self._say(container, self._states[container].waiting(str(error)))
                self._tried(container, error)
                await self._pause(UNSTARTED.ceiling(failures))
            else:
                if self._stopping.is_set():
                    return
                crashes = 1 if self._clock.now() - since > STEADY else crashes + 1
                wait = CRASHED.ceiling(crashes - 1) if crashes > 1 else 0.0
                last = Ending(code=code, began=began, ended=self._clock.utc())
                self._say(container, self._states[container].crashed(last, wait))
                await self._pause(wait)

    async def _attended(self, container: Container, child: Process | None) -> int:
        """Watch a container until it has ended, or is to; the code that its process ended with."""
        over = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            parts = self._watching(container, child, over)
            tasks = [group.create_task(part) for part in parts]
            await over.wait()
            if child is not None:
                await end(child, self._pod.spec.termination_grace_period_seconds)
                self._children.discard(child)
            for task in tasks:
                task.cancel()
        return 0 if child is None else child.returncode or 0

    def _watching(
        self, container: Container, child: Process | None, over: asyncio.Event
    ) -> list[Coroutine[None, None, None]]:
        """All that can become of a container that runs; some of it means that it is ``over``."""

        async def stopped() -> None:
            await self._stopping.wait()
            over.set()

        async def ended(one: Process) -> None:
            await one.wait()
            over.set()

        def lively(is_alive: bool) -> None:
            if not is_alive:
                over.set()

        def ready(is_ready: bool) -> None:
            self._say(container, replace(self._states[container], is_ready=is_ready))

        asked = Asked(container, self.address, self._equipment.ports)
        found: list[Coroutine[None, None, None]] = [stopped()]
        if child is not None:
            self._children.add(child)
            found.append(ended(child))
        if container.readiness_probe is not None:
            found.append(probes.follow(container.readiness_probe, asked, Verdict(False), ready))
        if container.liveness_probe is not None:
            found.append(probes.follow(container.liveness_probe, asked, Verdict(True), lively))
        return found

    def _tried(self, container: Container, error: Exception | None = None) -> None:
        """Note that a container was started, or was tried to be."""
        self._untried.discard(container)
        if self._begun.done():
            return
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE and self._can_move:
            self._begun.set_exception(error)
            self.stop(0)
        elif not self._untried:
            self._begun.set_result(None)

    @property
    def _can_move(self) -> bool:
        """Whether nobody knows the pod's address yet, so that it may get another one."""
        return not self._pod.status.pod_ip

    def _say(self, container: Container, state: State) -> None:
        if state != self._states[container]:
            self._states[container] = state
            self._changed()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def _kill(self) -> None:
        for child in self._children:
            with suppress(ProcessLookupError):
                child.kill()
