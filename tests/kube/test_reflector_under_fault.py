"""Whatever goes wrong, in whatever order, the reflection ends up equal to the server.

The faults happen inside an embedded cluster, on virtual time, so that hours of trouble pass in
seconds. The contract suite repeats the important ones on a real server.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.embedded import effects
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.faults import Effect, Faults
from isthmus.embedded.inprocess import InProcess
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
from tests.support.virtual import VirtualLoop

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

    def __init__(self, seed: int, *, streaming: bool) -> None:
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
        self.cluster.faults.add(FAULTS[name](self.cluster), _reads, times)


def _reads(request: Request) -> bool:
    return request.method == "GET"


Step: TypeAlias = tuple[str, str, int]

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, st.integers(0, 9)),
    st.tuples(st.just("delete"), NAMES, st.just(0)),
    st.tuples(st.just("wait"), st.just(""), st.integers(0, 900)),
    st.tuples(st.just("fault"), st.sampled_from(sorted(FAULTS)), st.integers(1, 4)),
    st.tuples(
        st.sampled_from(["compact", "disconnect", "stop", "start", "backup", "restore"]),
        st.just(""),
        st.just(0),
    ),
)


async def act(scene: Scene, step: Step) -> None:
    faults = scene.cluster.faults
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


async def play(steps: list[Step], *, seed: int = 1, streaming: bool = True) -> Scene:
    """Act the steps out, let all faults end, give it half an hour, and compare."""
    scene = Scene(seed, streaming=streaming)
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


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=30), seed=st.integers(0, 99), streaming=st.booleans())
def test_any_mixture_of_faults_and_changes_ends_in_the_servers_state(
    steps: list[Step], seed: int, streaming: bool
) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(play(steps, seed=seed, streaming=streaming))


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])
@pytest.mark.parametrize("name", sorted(FAULTS))
async def test_one_fault_while_the_world_changes_is_survived(name: str, streaming: bool) -> None:
    await play(
        [
            ("put", "a", 1), ("put", "b", 1), ("put", "c", 1), ("wait", "", 5),
            ("fault", name, 3), ("disconnect", "", 0), ("put", "a", 2), ("delete", "b", 0),
            ("put", "d", 1), ("wait", "", 200), ("compact", "", 0), ("put", "e", 1),
            ("disconnect", "", 0), ("wait", "", 60),
        ],
        streaming=streaming,
    )  # fmt: skip


async def test_a_watch_from_before_a_restore_is_found_out() -> None:
    """The server accepts a version from its own future and says nothing about what it lost."""
    scene = await play(
        [
            ("put", "a", 1), ("backup", "", 0), ("put", "b", 1), ("put", "c", 1),
            ("wait", "", 5), ("restore", "", 0),
        ]
    )  # fmt: skip
    assert {key.name for key in scene.cache.objects} >= {"a"}
    assert not {key.name for key in scene.cache.objects} & {"b", "c"}


async def test_versions_that_a_restore_hands_out_twice_are_not_mistaken_for_each_other() -> None:
    await play(
        [
            ("put", "a", 1), ("backup", "", 0), ("put", "a", 2), ("put", "b", 1), ("wait", "", 5),
            ("restore", "", 0), ("put", "a", 3), ("put", "b", 1),
        ],
        streaming=False,
    )  # fmt: skip
