"""What the demo types as kubectl answers what kubectl answers."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from isthmus.cli import manifests
from isthmus.cli.showing import props
from isthmus.cli.showing.kubectl import Kubectl, NotUnderstood
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve
from isthmus.embedded.mesh import installed
from isthmus.embedded.mesh.kinds import create
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from tests.support import kubectl as real

LINES = (
    "kubectl --context west get links",
    "kubectl --context west get pods",
    "kubectl --context west apply -f grant-east.yaml",
    "kubectl --context west apply -f link-west.yaml",
    "kubectl --context west apply -f nginx.yaml",
    "kubectl --context west apply -f callers.yaml",
    "kubectl --context west -n isthmus create configmap isthmus-trust --from-file=a.pem=anchor.crt",
    "kubectl --context west get services",
    "kubectl --context west get pods",
    "kubectl --context west get links",
    "kubectl --context west -n isthmus get pods",
    "kubectl --context west -n isthmus get services",
    "kubectl --context west label service nginx-svc mirror.linkerd.io/exported=true",
    "kubectl --context west scale statefulset nginx-set --replicas=5",
    "kubectl --context west label service nginx-svc mirror.linkerd.io/exported-",
    "kubectl --context west -n isthmus apply --server-side -f nginx.yaml",
)


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[tuple[Cluster, Kubectl]]:
    """A cluster, and the files that the demo applies."""
    made = Cluster("west", service_range="10.96.0.0/16")
    client = Client(made.transport())
    await create(client, [*manifests.definitions(), installed.NAMESPACE])
    files = {
        "grant-east.yaml": props.GRANT,
        "link-west.yaml": props.link("192.0.2.1"),
        "nginx.yaml": props.NGINX,
        "callers.yaml": props.CALLERS,
        "anchor.crt": "anything",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    yield made, Kubectl({"west": client}, folder)


def timeless(text: str) -> str:
    """Without what differs from run to run: ages and addresses."""
    return re.sub(r" +(\d+s|10\.96\.\S+)(?= |\n|$)", " ~", text).rstrip()


@pytest.mark.sockets
@pytest.mark.skipif(not real.found(), reason="no kubectl on this machine")
async def test_every_line_answers_what_the_real_one_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with (
        cluster(tmp_path) as (_, ours),
        cluster(tmp_path) as (beside, _),
        serve(beside) as served,
    ):
        theirs = real.Kubectl(real.found()[-1], tmp_path)
        theirs.kubeconfig.write_text(yaml.safe_dump(served.kubeconfig()))
        for line in LINES:
            words = line.split()[1:]
            expected = await theirs(*words)
            assert timeless(await ours.run(words)) == timeless(expected), line


@pytest.mark.parametrize(
    "words", ["get services", "--context west explode", "--context west get toys", ""]
)
async def test_what_it_does_not_know_it_refuses(words: str, tmp_path: Path) -> None:
    async with cluster(tmp_path) as (_, ours):
        with pytest.raises(NotUnderstood, match=r"^kubectl: "):
            await ours.run(words.split())


async def test_what_the_cluster_refuses_is_an_error(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (_, ours):
        with pytest.raises(NotFound):
            await ours.run(["--context", "west", "label", "service", "none", "a=b"])
