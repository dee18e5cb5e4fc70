"""Clusters, processes and the lines between them: everything that a schedule happens to."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from urllib.parse import urlsplit

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.run import Controller
from isthmus.embedded.state.store import Snapshot
from isthmus.kube.access import Access
from isthmus.kube.client import Client
from isthmus.kube.transport import Request, Transport
from tests.apps.clusters import START, Place
from tests.sim.layout import Layout
from tests.sim.ledger import Ledger
from tests.sim.loop import PROCESS, SimLoop
from tests.sim.network import Air, Network
from tests.sim.paths import WRITES, Path, Weather
from tests.sim.places import Site, site

# Seconds: a name is asked for again after 30, at the next of the probes, which are 22 apart at
# most; two of them have to fail, each within 5.
NOTICED = 30 + 22 + 2 * (22 + 5)


@dataclass(slots=True)
class Clock:
    """A process's clocks: one that only ever grows, and one that somebody may set."""

    loop: SimLoop
    ahead: float = 0.0

    def now(self) -> float:
        return self.loop.time()

    def utc(self) -> datetime:
        return START + timedelta(seconds=self.loop.time() + self.ahead)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True)
class Replica:
    """A controller at work, until it ends or is ended."""

    process: str
    slot: str
    controller: Controller
    task: asyncio.Task[None]
    stop: asyncio.Event
    paths: list[Path]
    air: Air
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Doom:
    """A process is to be killed before or after one of its next writes."""

    writes: int
    when: str
    happens: Callable[[], None]  # is called when it is


@dataclass(slots=True)
class Slot:
    """Where a replica runs, one after another."""

    name: str
    cluster: str
    clock: Clock
    replica: Replica | None = None
    starts: int = 0
    doom: Doom | None = None
    rests: float = 5.0  # seconds until it is started again
    wants_to_run: bool = True


@dataclass(slots=True)
class Scene:
    """``sites`` are the clusters that answer to their names now."""

    layout: Layout
    seed: str
    loop: SimLoop
    sites: dict[str, Site] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    backups: dict[str, Snapshot] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)  # tokens
    down: set[str] = field(default_factory=set)  # clusters whose API servers are gone
    injected: Counter[str] = field(default_factory=Counter)  # faults that have happened
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)  # a fault, and a state
    late: set[asyncio.Task[None]] = field(default_factory=set)
    ways: dict[str, float] = field(default_factory=dict)  # when gateways had trouble last
    weather: Weather = field(init=False)
    network: Network = field(init=False)
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.weather = Weather(Random(f"{self.seed} weather"))
        self.network = Network(self.weather, self._serving)
        self.ledger = Ledger(self.loop.time)
        self.ledger.truth.gateways = self._way_since
        for name in ("east", *self.layout.targets):
            self.sites[name] = site(name, 1)
            self.sites[name].set_back(self.seed)
        for name in self.layout.slots:
            self.slots[name] = Slot(name, name.rpartition("-")[0], Clock(self.loop))
        self.ledger.follow(self.sites)

    def user(self, where: str) -> Place:
        """Somebody at a cluster, whom nothing disturbs."""
        path = self._path("user", where)
        path.token = self.sites[where].cluster.admin_token
        path.weather = _CALM
        return Place(where, Client(path, clock=Clock(self.loop), random=Random(1)))

    # Processes.

    def start(self, slot: Slot) -> Replica:
        slot.starts += 1
        process = f"{slot.name}.{slot.starts}"
        context = copy_context()
        context.run(PROCESS.set, process)
        made = context.run(self._made, slot, process)
        slot.replica = made
        made.task.add_done_callback(lambda _: self._ended(made))
        return made

    def _made(self, slot: Slot, process: str) -> Replica:
        own = self._path(process, slot.cluster)
        own.token = self.sites[slot.cluster].cluster.admin_token
        paths = [own]

        def connect(access: Access) -> Transport:
            host = (urlsplit(access.server.url).hostname or "").partition(".")[0]
            known = next((one for one in paths[1:] if one.where == host), None)
            if known is None:
                known = self._path(process, host)
                paths.append(known)
            return known

        air = Air(self.network, lambda: self._alive(process))
        outside = Outside(
            client=Client(own, clock=slot.clock, random=Random(f"{self.seed} {process} client")),
            connect=connect,
            catalogue=air.open,
            knock=air.knock,
            network=air,
            clock=slot.clock,
            random=Random(f"{self.seed} {process}"),
            overrun=lambda: self.kill(slot),
        )
        config = Config(
            cluster_name=slot.cluster,
            cluster_domain=f"{slot.cluster}.cluster.local",
            identity=process,
            workers=4,
            admin_port=None,
            sign_port=None,
            ads_port=None,
        )
        controller, stop = Controller(config, outside), asyncio.Event()
        task = asyncio.get_running_loop().create_task(controller.run(stop))
        return Replica(process, slot.name, controller, task, stop, paths, air)

    def kill(self, slot: Slot) -> None:
        """End a process in the middle of whatever it does: nothing of it gets out any more."""
        replica = slot.replica
        if replica is None or replica.is_over:
            return
        replica.is_over = True
        for path in replica.paths:
            path.is_gone = True
            path.heal()
        self.loop.resume(replica.process)
        replica.task.cancel()

    def _ended(self, replica: Replica) -> None:
        slot = self.slots[replica.slot]
        if slot.replica is replica:
            slot.replica = None
        if not replica.is_over and not replica.task.cancelled():
            error = replica.task.exception()
            if error is not None:
                self.ledger.blame("died", f"{replica.process} has died", error)
        replica.is_over = True
        if slot.wants_to_run:
            self.loop.call_later(slot.rests, self._start_again, slot)
            slot.rests = 5.0

    def _start_again(self, slot: Slot) -> None:
        """Whoever has ended is started again, as a pod is."""
        if slot.replica is None and slot.wants_to_run:
            self.start(slot)

    def _alive(self, process: str) -> Controller | None:
        for slot in self.slots.values():
            found = slot.replica
            if found is not None and found.process == process and not found.is_over:
                return found.controller
        return None

    def _serving(self, cluster: str) -> Controller | None:
        """Some replica of a cluster that runs: the first, unless it stands still."""
        for slot in self.slots.values():
            found = slot.replica
            if slot.cluster != cluster or found is None or found.is_over:
                continue
            if not self.loop.is_paused(found.process):
                return found.controller
        return None

    # Lines.

    def _path(self, process: str, where: str) -> Path:
        made = Path(
            process=process,
            where=where,
            site=lambda: self.sites[where],
            weather=self.weather,
            sent=self._sent,
            answered=self._answered,
            is_admitted=self._is_admitted,
        )
        if where in self.down and process != "user":
            made.is_refused = True
        return made

    def paths(self, slot: str = "", where: str = "") -> list[Path]:
        """All lines of the processes of a slot, of a cluster or of all, to one cluster or all."""
        return [
            path
            for one in self.slots.values()
            if one.replica is not None and slot in ("", one.name, one.cluster)
            for path in one.replica.paths
            if where in ("", path.where)
        ]

    def _is_admitted(self, request: Request) -> bool:
        shown = {name.lower(): value for name, value in request.headers.items()}
        return shown.get("authorization", "").removeprefix("Bearer ") not in self.revoked

    async def _sent(self, path: Path, request: Request) -> None:
        self.ledger.sent(path.process, path.where, request)
        await self._maybe_crash(path, request, "before")

    async def _answered(self, path: Path, request: Request) -> None:
        await self._maybe_crash(path, request, "after")

    async def _maybe_crash(self, path: Path, request: Request, when: str) -> None:
        slot = self.slots.get(path.process.rpartition(".")[0])
        if slot is None or slot.doom is None or slot.doom.when != when:
            return
        if request.method not in WRITES or "/leases" in request.path:
            return
        doom, left = slot.doom, slot.doom.writes - 1
        slot.doom = replace(doom, writes=left) if left > 0 else None
        if left <= 0:
            doom.happens()
            self.loop.call_soon(self.kill, slot)
            await asyncio.Event().wait()

    def way_changed(self, target: str) -> None:
        """A gateway has gone, moved or come back; whoever probes it has yet to notice."""
        self.ways[target] = self.loop.time()

    def _way_since(self, target: str) -> float | None:
        """Since when everybody can know that a gateway is up, and where; None if it is not."""
        joint = next(one for one in self.layout.joints if one.target == target)
        led_to = {self.network.listening.get(one) for one in self.network.names.get(joint.host, ())}
        if led_to != {target} or target in self.network.dead:
            return None
        return self.ways[target] + NOTICED if target in self.ways else 0.0

    def keep(self, task: asyncio.Task[None]) -> None:
        """Hold on to what arrives later by itself."""
        self.late.add(task)
        task.add_done_callback(self.late.discard)


class _Calm(Weather):
    def delay(self) -> float:
        return 0.0


_CALM = _Calm(Random(0))
