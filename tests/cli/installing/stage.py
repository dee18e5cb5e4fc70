"""An operator with one cluster in which nothing is installed, and an anchor."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from isthmus.cli import main
from isthmus.embedded.fronts.server import serve
from isthmus.kube.resources import Resource
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import Place, place


@dataclass(frozen=True, slots=True)
class Stage:
    west: Place
    config: Path
    anchor: Path

    async def run(self, *words: str) -> int:
        """Type a command of ours; its output goes where that of a process would."""
        return await asyncio.to_thread(main.run, ["--kubeconfig", str(self.config), *words])

    async def install(self, *words: str) -> int:
        """Install with the anchor."""
        given = ("--cluster-name", "west", "--anchor", str(self.anchor), "--apply")
        return await self.run("install", *given, *words)

    async def get(self, resource: Resource[JsonObject], name: str) -> JsonObject:
        return await self.west.client.get(resource, Key("isthmus", name))


@asynccontextmanager
async def stage(folder: Path) -> AsyncIterator[Stage]:
    west = place("west")
    anchor = folder / "anchor"
    assert main.run(["trust", "create", "--out", str(anchor)]) == 0
    async with serve(west.cluster) as served:
        config = folder / "config"
        config.write_text(yaml.safe_dump(served.kubeconfig()))
        yield Stage(west, config, anchor)
