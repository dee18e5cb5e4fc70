"""A play of its own: the trust anchor is replaced while drivers crash, lines break, members are
deaf and somebody changes their mind. Nobody may ever meet a stranger (I9), and it has to end.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from random import Random

from isthmus.apps.rotation import planning
from isthmus.apps.rotation.driving import Driver
from isthmus.apps.rotation.kept import newest
from isthmus.apps.rotation.looking import Site
from isthmus.apps.rotation.steps import Means
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Effect, Faults
from isthmus.embedded.fronts.inprocess import InProcess
from isthmus.embedded.state.store import Store
from isthmus.kube.client import Client
from isthmus.kube.transport import Request, Response
from isthmus.model.errors import IsthmusError
from isthmus.pki.issuer import LIFETIME
from isthmus.pki.keys import Pair
from tests.apps.clusters import VirtualClock, Wire
from tests.apps.rotation.mesh import NEW, OLD, STEP, Mesh, mesh, prints
from tests.sim.paths import noted
from tests.sim.steps import Step

NAMES = ("east", "west")
DEADLINE = 6 * 3600.0  # seconds within which a rotation is over that nobody disturbs any more
FAULTS: dict[str, Callable[[Faults], Effect]] = {
    "500": lambda _: effects.failing(500),
    "409": lambda _: effects.failing(409),
    "403": lambda _: effects.failing(403),
    "503": lambda _: effects.failing(503, retry_after=2),
    "delayed": lambda _: effects.delayed(8),
    "answers lost": lambda _: effects.lost_answer(),
    "hang": effects.hanging,
    "HTML": lambda _: effects.answering(),
}
KINDS = ("fault", "fault", "fault", "crash", "crash at", "deaf", "hears", "turn", "joins")


def rotation_schedule(random: Random) -> list[Step]:
    """Make up what happens to a rotation."""
    steps = [Step("begin", wait=round(random.random() * 60, 1))]
    for _ in range(random.randint(1, 10)):
        kind = random.choice(KINDS)
        what = random.choice(sorted(FAULTS)) if kind == "fault" else ""
        wait = round(random.random() * random.choice((1, 30, 300)), 1)
        steps.append(Step(kind, random.choice(NAMES), what, random.randint(1, 9), wait))
    return steps


class Rotation:
    """A mesh, and whoever drives the rotation at the moment."""

    def __init__(self, made: Mesh, seed: str, happens: Callable[[str], None]) -> None:
        self.mesh = made
        self._happens = happens
        self.goal: Pair = NEW
        self.is_done = asyncio.Event()
        self._random = Random(f"{seed} driver")
        self._wires: dict[str, Wire] = {}
        self._faults: dict[str, Faults] = {}
        self._task: asyncio.Task[None] | None = None
        self._crash_at = 0

    def begin(self) -> None:
        """Let somebody drive, from the beginning or from wherever it is by now."""
        self._wires = {}
        for name, town in self.mesh.towns.items():
            self._faults[name] = Faults(town.place.cluster.api.handle, Store())
            inner = InProcess(self._faults[name], town.place.cluster.admin_token)
            self._wires[name] = _Counting(inner, self._wrote)
        self._task = asyncio.get_running_loop().create_task(self._drive())

    async def crash(self) -> None:
        for wire in self._wires.values():
            wire.cut()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        self.begin()

    def heal(self) -> None:
        self._crash_at = 0
        for faults in self._faults.values():
            faults.clear()
            faults.disconnect()
        for town in self.mesh.towns.values():
            for member in town.members:
                member.is_deaf = False

    async def act(self, step: Step) -> None:
        match step.kind:
            case "begin":
                self.begin()
            case "fault":
                faults = self._faults[step.where]
                effect = noted(FAULTS[step.what](faults), lambda: self._happens(step.what))
                faults.add(effect, times=int(step.number))
            case "crash":
                self._happens("crash")
                await self.crash()
            case "crash at":
                self._crash_at = int(step.number)
            case "deaf" | "hears":
                members = self.mesh.towns[step.where].members
                members[int(step.number) % len(members)].is_deaf = step.kind == "deaf"
                if step.kind == "deaf":
                    self._happens("deaf")
            case "turn" if not self.is_done.is_set():
                self._happens("turn")
                self.goal = OLD if self.goal is NEW else NEW
                await self.crash()
            case "joins":
                town = self.mesh.towns[step.where]
                name = f"{step.where}-new-{len(town.members)}"
                await town.add(name, "isthmus-egress", self._random.uniform(0, 60))
        await asyncio.sleep(step.wait)

    async def _drive(self) -> None:
        """Try until it is done, as somebody would who reads what is said."""
        while True:
            try:
                if await self._run():
                    self.is_done.set()
                    await asyncio.Event().wait()
            except IsthmusError as error:
                self.mesh.say(f"again: {error}")
            await asyncio.sleep(self._random.uniform(1, 60))

    async def _run(self) -> bool:
        sites = {
            name: Site(f"context-{name}", Client(wire, clock=VirtualClock(), random=self._random))
            for name, wire in self._wires.items()
        }
        driver = Driver(
            sites=sites,
            clock=VirtualClock(),
            say=self.mesh.say,
            random=self._random,
            overrun=lambda: None,
            pause=STEP,
        )
        looks = await self.mesh.looked(sites.values())
        kept = newest(look.copy for look in looks.values())
        if kept is None and await self.mesh.state() == {(prints(self.goal), prints(self.goal))}:
            return True
        decide = planning.forward if self.goal is NEW else planning.back
        wanted = decide(looks, kept, self.goal.certificate)
        if wanted is None:
            return True
        await driver.keep(looks, wanted)
        return await driver.drive(wanted, Means(self.goal, wanted.anchors, LIFETIME))

    def _wrote(self) -> None:
        if self._crash_at > 0:
            self._crash_at -= 1
            if self._crash_at == 0:
                self._happens("crash at")
                for wire in self._wires.values():
                    wire.cut()


class _Counting(Wire):
    """A wire that tells of every write, before it is sent."""

    def __init__(self, inner: InProcess, wrote: Callable[[], None]) -> None:
        super().__init__(inner)
        self._wrote = wrote

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        if request.method != "GET":
            self._wrote()
        return Wire.send(self, request)


async def rotate(
    steps: tuple[Step, ...],
    seed: str,
    say: Callable[[str], None],
    happens: Callable[[str], None],
) -> str:
    """Act a rotation out; return what was wrong in the end, or nothing. Strangers raise.

    ``happens`` hears of every fault, by name.
    """
    async with mesh(*NAMES, seed=Random(seed).randint(0, 99)) as made:
        turning = Rotation(made, seed, happens)
        for step in steps:
            say(f"## {step}")
            await turning.act(step)
        turning.heal()
        say("## all trouble ends")
        await turning.crash()
        wrong = ""
        try:
            async with asyncio.timeout(DEADLINE):
                await turning.is_done.wait()
        except TimeoutError:
            wrong = f"not over {DEADLINE / 3600:g} hours after all trouble"
        state = await made.state()
        due = prints(turning.goal)
        if not wrong and state != {(due, due)}:
            wrong = f"it says that it is done, and the clusters are {state}"
        for line in made.lines:
            say(line)
        if turning._task is not None:
            turning._task.cancel()
            await asyncio.wait({turning._task})
        return wrong
