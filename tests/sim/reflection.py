"""A reflector and a server that has a hard time: hours of trouble, acted out in seconds.

The faults happen inside an embedded cluster, on virtual time and without sockets; the client and
the reflector are the production code. A schedule is a list of steps, and a seed makes one.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import TypeAlias

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Effect, Faults
from isthmus.embedded.fronts.inprocess import InProcess
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.exchange import Limits
from isthmus.kube.reflect import Source, reflect
from isthmus.kube.reflector import Reflector, State
from isthmus.kube.requests import Selection
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.kube.transport import Request
from isthmus.model.objects import ConfigMap, Key, Metadata
from isthmus.runtime.cache import Cache
from tests.sim.paths import noted

DEFAULT = Selection(namespace="default")

FAULTS: dict[str, Callable[[Cluster], Effect]] = {
    "delayed": lambda _: effects.delayed(5),
    "hanging": lambda west: effects.hanging(west.faults),
    "lost answer": lambda _: effects.lost_answer(),
    "401": lambda _: effects.failing(401),
    "403": lambda _: effects.failing(403),
    "404": lambda _: effects.failing(404),
    "410": lambda _: effects.failing(410),
    "422": lambda _: effects.failing(422),
    "429": lambda _: effects.failing(429, retry_after=7),
    "500": lambda _: effects.failing(500),
    "503": lambda _: effects.failing(503, retry_after=2),
    "HTML": lambda _: effects.answering(),
    "empty list": lambda _: effects.empty_list(),
    "items: null": lambda _: effects.null_items(),
    "half a list": lambda _: effects.partial_list(1),
    "cut at once": lambda _: effects.cut(0),
    "cut in a word": lambda _: effects.cut(100),
    "cut later": lambda _: effects.cut(2000),
    "silent": lambda west: effects.silent(west.faults),
    "silent after two events": lambda west: effects.silent(west.faults, 2),
    "stale": lambda west: effects.stale(west.store.revision - 2),
    "events lost": lambda _: effects.events(lambda lines: lines[1:], batch=2),
    "events doubled": lambda _: effects.events(lambda lines: [*lines, *lines], batch=2),
    "events swapped": lambda _: effects.events(lambda lines: lines[::-1], batch=2),
}


class Scene:
    """A cluster, someone who writes undisturbed, and a reflector that has a hard time."""

    def __init__(self, seed: int, happens: Callable[[str], None], *, streaming: bool) -> None:
        self.happens = happens  # hears of every fault, by name
        self.cluster = Cluster("west", random=Random(seed))
        undisturbed = Faults(self.cluster.api.handle, self.cluster.store)
        self.writer = Client(InProcess(undisturbed, self.cluster.admin_token))
        reader = Client(self.cluster.transport(), limits=Limits(page=2), random=Random(seed))
        self.source = Source(reader, CONFIG_MAPS, DEFAULT)
        self.reflector = Reflector[ConfigMap](Random(seed), streaming=streaming)
        self.cache = Cache[Key, ConfigMap](lambda one: one.metadata.key)
        self.backup = self.cluster.faults.snapshot()

    async def put(self, name: str, value: str) -> None:
        metadata = Metadata(name=name, namespace="default")
        await self.writer.apply(CONFIG_MAPS, ConfigMap(metadata=metadata, data={"value": value}))

    async def delete(self, name: str) -> None:
        with suppress(NotFound):
            await self.writer.delete(CONFIG_MAPS, Key("default", name))

    async def truth(self) -> dict[Key, ConfigMap]:
        page = await self.writer.list(CONFIG_MAPS, DEFAULT)
        return {one.metadata.key: one for one in page.objects}

    def hurt(self, name: str, times: int) -> None:
        effect = noted(FAULTS[name](self.cluster), lambda: self.happens(name))
        self.cluster.faults.add(effect, _reads, times)


def _reads(request: Request) -> bool:
    return request.method == "GET"


Step: TypeAlias = tuple[str, str, int]

NAMES = ("a", "b", "c", "d", "e")
ACTIONS = ("compact", "disconnect", "stop", "start", "backup", "restore")
BROKEN = frozenset({"compact", "disconnect", "stop", "restore"})  # those that are faults


def schedule(random: Random) -> list[Step]:
    """Make up what happens: changes, faults and pauses, in no order that anybody planned."""

    def step() -> Step:
        match random.choice(("put", "put", "delete", "wait", "fault", "act")):
            case "put":
                return ("put", random.choice(NAMES), random.randint(0, 9))
            case "delete":
                return ("delete", random.choice(NAMES), 0)
            case "wait":
                return ("wait", "", random.randint(0, 900))
            case "fault":
                return ("fault", random.choice(sorted(FAULTS)), random.randint(1, 4))
            case _:
                return (random.choice(ACTIONS), "", 0)

    return [step() for _ in range(random.randint(1, 40))]


async def act(scene: Scene, step: Step) -> None:
    faults = scene.cluster.faults
    if step[0] in BROKEN:
        scene.happens(step[0])
    match step:
        case ("put", name, number):
            await scene.put(name, str(number))
        case ("delete", name, _):
            await scene.delete(name)
        case ("wait", _, seconds):
            await asyncio.sleep(seconds)
        case ("fault", name, times):
            scene.hurt(name, times)
        case ("compact", _, _):
            faults.compact()
        case ("disconnect", _, _):
            faults.disconnect()
        case ("stop", _, _):
            faults.stop()
        case ("start", _, _):
            faults.start()
        case ("backup", _, _):
            scene.backup = faults.snapshot()
        case ("restore", _, _):
            faults.restore(scene.backup)


async def play(
    steps: list[Step],
    *,
    seed: int = 1,
    streaming: bool = True,
    happens: Callable[[str], None] = lambda _: None,
) -> Scene:
    """Act the steps out, let all faults end, give it half an hour, and compare."""
    scene = Scene(seed, happens, streaming=streaming)
    async with asyncio.TaskGroup() as group:
        reflecting = group.create_task(reflect(scene.source, scene.reflector, scene.cache.fold))
        for step in steps:
            await act(scene, step)
        scene.cluster.faults.clear()
        scene.cluster.faults.start()
        await asyncio.sleep(1800)
        assert dict(scene.cache.objects) == await scene.truth()
        assert scene.reflector.state is State.SYNCED
        reflecting.cancel()
    return scene
