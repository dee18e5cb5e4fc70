"""The reflector under fault: whatever happens, its cache ends up equal to the server."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

import pytest

from isthmus.kube.client import Client
from isthmus.kube.errors import Unreachable
from isthmus.kube.exchange import Limits
from isthmus.kube.reflect import Source, reflect
from isthmus.kube.reflector import Reflector
from isthmus.kube.requests import Selection
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.kube.transport import Request, Response, Transport
from isthmus.model.objects import ConfigMap, Key
from isthmus.runtime.cache import Cache
from tests.contract.objects import config, secret
from tests.contract.server import Server
from tests.support.transports import Canned, Intercepting
from tests.support.waiting import until

MINE = {"mine": "yes"}
STREAMING = pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])


@dataclass(frozen=True, slots=True)
class Scene:
    """A reflector at work, and the hands that change what it reflects."""

    server: Server
    truth: Client
    reflector: Reflector[ConfigMap]
    cache: Cache[Key, ConfigMap]

    @property
    def selection(self) -> Selection:
        return Selection(namespace=self.server.namespace, labels="mine=yes")

    async def put(self, *names: str, colour: str = "red") -> None:
        for name in names:
            body = config(name, {"colour": colour}, labels=MINE)
            assert (await self.server.apply(f"configmaps/{name}", body)).code in (200, 201)

    async def agree(self) -> None:
        """Return when cache and server are equal; fail if that takes too long."""

        async def compared() -> tuple[dict[Key, ConfigMap], dict[Key, ConfigMap] | None]:
            try:
                page = await self.truth.list(CONFIG_MAPS, self.selection)
            except Unreachable:  # while it restarts, there is no truth to compare with
                return dict(self.cache.objects), None
            return dict(self.cache.objects), {one.metadata.key: one for one in page.objects}

        await until(compared, lambda both: both[0] == both[1] and self.cache.synced, within=30)

    async def change_everything(self) -> None:
        """One object new, one changed, one gone."""
        await self.put("new")
        await self.put("changed", colour="blue")
        await self.server.delete("configmaps/gone")


@asynccontextmanager
async def reflecting(
    server: Server,
    *,
    streaming: bool = False,
    through: Transport | None = None,
    limits: Limits | None = None,
) -> AsyncIterator[Scene]:
    """Reflect three objects; the scene begins when the cache has them."""
    client = Client(through or server.shaky(None), limits=limits, random=Random(1))
    scene = Scene(
        server=server,
        truth=Client(server.transport(None)),
        reflector=Reflector[ConfigMap](Random(1), streaming=streaming),
        cache=Cache[Key, ConfigMap](lambda one: one.metadata.key),
    )
    source = Source(client, CONFIG_MAPS, scene.selection)
    await scene.put("same", "changed", "gone")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(reflect(source, scene.reflector, scene.cache.fold))
        await scene.agree()
        yield scene
        running.cancel()


@STREAMING
async def test_changes_are_followed(server: Server, streaming: bool) -> None:
    async with reflecting(server, streaming=streaming) as scene:
        await scene.change_everything()
        await scene.agree()
        assert scene.reflector.snapshots == 1


@STREAMING
async def test_a_broken_connection_is_taken_up_again(server: Server, streaming: bool) -> None:
    async with reflecting(server, streaming=streaming) as scene:
        server.cut_connections()
        await scene.change_everything()
        await scene.agree()
        # Nothing was forgotten meanwhile, so that the watch could go on where it had stopped.
        assert scene.reflector.snapshots == 1


@STREAMING
async def test_a_forgotten_version_leads_to_a_new_snapshot(server: Server, streaming: bool) -> None:
    async with reflecting(server, streaming=streaming) as scene:
        # The version we stand at grows old without our noticing: others are writing.
        await server.create("secrets", secret())
        await server.compact()
        server.cut_connections()
        await scene.change_everything()
        await scene.agree()
        assert scene.reflector.snapshots == 2


async def test_a_forgotten_version_may_be_told_by_the_status(server: Server) -> None:
    gone = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410}
    expired = Canned(410, json.dumps({**gone, "reason": "Expired", "message": "old"}).encode())
    pending: list[Response] = []

    async def answer(request: Request) -> Response | None:
        return pending.pop() if pending and ("watch", "true") in _flags(request) else None

    async def again() -> bool:
        """Cut what there is, until there is a watch anew: the first may not be under way yet."""
        server.cut_connections()
        return not pending

    through = Intercepting(server.shaky(None), answer)
    async with reflecting(server, through=through) as scene:
        pending.append(expired)
        await until(again, bool)
        await scene.change_everything()
        await scene.agree()
        assert (pending, scene.reflector.snapshots) == ([], 2)


def _flags(request: Request) -> set[tuple[str, str]]:
    return {(name, "true" if value in ("1", "true") else value) for name, value in request.query}


@STREAMING
async def test_silence_is_noticed(server: Server, streaming: bool) -> None:
    limits = Limits(silence=server.silence_limit)
    async with reflecting(server, streaming=streaming, limits=limits) as scene:
        server.silence()
        await scene.change_everything()
        before = asyncio.get_running_loop().time()
        await until(_state(scene), lambda seen: seen == "Stale", within=server.silence_limit + 5)
        assert asyncio.get_running_loop().time() - before <= server.silence_limit + 1
        await scene.agree()


def _state(scene: Scene) -> Callable[[], Awaitable[str]]:
    async def read() -> str:
        return scene.reflector.state.value

    return read


async def test_a_list_whose_token_expires_is_read_again(server: Server) -> None:
    wanted: list[str] = ["compaction"]

    async def compact_once(request: Request) -> Response | None:
        if wanted and any(name == "continue" for name, _ in request.query):
            wanted.clear()
            await server.create("configmaps", config("late", labels=MINE))
            await server.compact()
        return None

    through = Intercepting(server.shaky(None), compact_once)
    async with reflecting(server, through=through, limits=Limits(page=2)) as scene:
        assert wanted == []
        assert Key(server.namespace, "late") in scene.cache.objects
        await scene.change_everything()
        await scene.agree()


async def test_a_restart_of_the_server_is_survived(server: Server) -> None:
    async with reflecting(server) as scene:
        await scene.put("before")
        await server.restart()
        await scene.change_everything()
        await scene.agree()
