"""An operator with a cluster, in which pods of ours answer what they have been told to."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from aiohttp import web

from isthmus.embedded.fronts.server import serve
from isthmus.install.parts import ADMIN, METRICS
from isthmus.kube.client import Client
from isthmus.kube.errors import AlreadyExists
from isthmus.kube.plain import KINDS
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import Place, furnish
from tests.cli.joining.desk import Desk
from tests.support.machine import cluster

PORTS = {"controller": ADMIN, "gateway": METRICS, "egress": METRICS}
NUMBERS = "/stats/prometheus"  # of a proxy
Printed = pytest.CaptureFixture[str]


def page(name: str) -> str:
    """What a real proxy or controller has shown once."""
    return (Path(__file__).parent / "pages" / f"{name}.txt").read_text()


@dataclass
class Stage:
    """The desk's kubeconfig has the context east only."""

    desk: Desk
    stack: AsyncExitStack
    count: int = 0

    @property
    def east(self) -> Place:
        return self.desk.east

    async def run(self, *words: str) -> int:
        return await self.desk.run(*words)

    async def start(
        self, role: str, name: str = "", *, image: str = "", **pages: str | Sequence[str]
    ) -> web.AppRunner:
        """Start a pod of ours in east; a page that has many texts shows one after another."""
        name = name or f"isthmus-{role}-0"
        address = self._address()
        await placed(self.east, f"isthmus-{role}", name, image, address)
        runner = web.AppRunner(_application(pages), access_log=None)
        await runner.setup()
        self.stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, address, PORTS[role]).start()
        return runner

    def _address(self) -> str:
        self.count += 1
        return str(IPv4Network(self.east.cluster.pod_range)[self.count])


async def placed(where: Place, account: str, name: str, image: str, address: str) -> None:
    """Let a pod be there, and be said to run."""
    metadata = {"name": name, "namespace": "isthmus"}
    try:
        whole = {"metadata": {"name": account, "namespace": "isthmus"}}
        await where.create(KINDS["ServiceAccount"], whole)
    except AlreadyExists:
        pass
    containers = [{"name": "main", "image": image or "isthmus.dev/isthmus:0.1.0"}]
    spec = {"serviceAccountName": account, "containers": containers}
    await where.create(KINDS["Pod"], {"metadata": metadata, "spec": spec})
    status: JsonObject = {"status": {"podIP": address, "phase": "Running"}}
    await where.client.merge_patch(KINDS["Pod"], Key("isthmus", name), status, "status")


def _application(pages: dict[str, str | Sequence[str]]) -> web.Application:
    """The keys are the last words of paths."""
    texts = {
        name: iter([text] * 1000 if isinstance(text, str) else text) for name, text in pages.items()
    }

    async def answer(request: web.Request) -> web.Response:
        found = texts.get(request.path.rpartition("/")[2])
        if found is None:
            raise web.HTTPNotFound(text="no such page\n")
        return web.Response(text=next(found))

    made = web.Application()
    made.add_routes([web.get("/{path:.*}", answer)])
    return made


@asynccontextmanager
async def stage(directory: Path) -> AsyncIterator[Stage]:
    made = cluster("east")
    east = Place("east", Client(made.transport()), made)
    await furnish(east)
    async with AsyncExitStack() as stack:
        entries = [(await stack.enter_async_context(serve(made))).entry()]
        desk = Desk(east, east, directory / "config", entries)
        desk.write(entries)
        yield Stage(desk, stack)


async def uninstalled(where: Place, plural: str) -> None:
    """Let a cluster know a kind of ours no more."""
    await where.client.delete(KINDS["CustomResourceDefinition"], Key("", f"{plural}.isthmus.dev"))
