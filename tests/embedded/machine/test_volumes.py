"""Volumes that are kept current: tokens are replaced before they end, files as they change."""

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.machine.objects import PODS, Pod
from isthmus.embedded.machine.volumes import RENEWED, Stores, Volumes
from isthmus.kube.client import Client
from isthmus.model.objects import ConfigMap, Key, Metadata
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import SystemClock
from tests.support.machine import Admin, pod

SOURCES: list[JsonObject] = [
    {"serviceAccountToken": {"path": "token", "audience": "us", "expirationSeconds": 1000}},
    {"configMap": {"name": "settings"}},
]
MOUNT = {"name": "all", "mountPath": "/all"}
CONTAINER = {"name": "main", "image": "x", "volumeMounts": [MOUNT]}
WEB = pod(
    "web",
    containers=[CONTAINER],
    volumes=[{"name": "all", "projected": {"sources": SOURCES}}],
    automountServiceAccountToken=False,
)
SETTINGS = Key("default", "settings")


def config(**data: str) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name="settings", namespace="default"), data=data)


@contextmanager
def volumes(
    client: Client, of: Pod, folder: Path
) -> Iterator[tuple[Volumes, dict[Key, ConfigMap]]]:
    configs = {SETTINGS: config(colour="red")}
    stores = Stores(client=client, configs=configs, secrets={}, clock=SystemClock(), folder=folder)
    made = Volumes(of, "127.1.2.3", stores)
    yield made, configs
    made.remove()


async def created() -> tuple[Client, Pod]:
    client = Client(Cluster("west").transport())
    await Admin(client).create(WEB)
    return client, await client.get(PODS, Key("default", "web"))


def read(folder: Path) -> dict[str, str]:
    return {one.name: one.read_text() for one in folder.iterdir()}


async def test_a_token_is_for_its_audience_and_its_pod_and_is_replaced_in_time(
    tmp_path: Path,
) -> None:
    client, web = await created()
    with volumes(client, web, tmp_path) as (made, _):
        assert await made.refresh() is None, "nobody has asked for anything yet"
        assert os.listdir(tmp_path) == []
        mounts = await made.mounted(web.spec.containers[0])
        folder = dict(mounts.paths)["/all"]
        first = read(folder)["token"]
        claims = msgspec.json.decode(_payload(first))
        assert claims["aud"] == ["us"]
        assert claims["kubernetes.io"]["pod"]["uid"] == web.metadata.uid

        due = await made.refresh()
        assert due is not None
        assert 0.9 * RENEWED * 1000 < due <= RENEWED * 1000
        assert read(folder)["token"] == first
        clock = SystemClock()
        await clock.sleep(due + 1)  # the clock of this test jumps
        await made.refresh()
        assert read(folder)["token"] != first
    assert os.listdir(tmp_path) == []


async def test_files_follow_what_they_are_made_from(tmp_path: Path) -> None:
    client, web = await created()
    with volumes(client, web, tmp_path) as (made, configs):
        mounts = await made.mounted(web.spec.containers[0])
        folder = dict(mounts.paths)["/all"]
        (folder / "own").write_text("mine")
        configs[SETTINGS] = config(shape="round")
        await made.refresh()
        found = read(folder)
        assert found.keys() == {"token", "shape", "own"}
        assert (found["shape"], found["own"]) == ("round", "mine")


def _payload(token: str) -> bytes:
    part = token.split(".")[1]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
