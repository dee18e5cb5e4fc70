"""What the demo types as kubectl answers what kubectl answers."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from isthmus.cli.showing import props
from isthmus.cli.showing.kubectl import Kubectl, NotUnderstood
from isthmus.embedded.api.executing import Execution, Output
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve
from isthmus.install.definitions import definitions
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.plain import KINDS
from isthmus.model.objects import Key
from tests.support import kubectl as real

LINK = """\
apiVersion: isthmus.dev/v1alpha1
kind: Link
metadata: {name: west}
spec:
  gateway: {addresses: [192.0.2.1]}
"""
LINES = (
    "kubectl --context west get links",
    "kubectl --context west get pods",
    "kubectl --context west apply -f -",
    "kubectl --context west apply -f nginx.yaml",
    "kubectl --context west apply -f callers.yaml",
    "kubectl --context west get services",
    "kubectl --context west get pods",
    "kubectl --context west get links",
    "kubectl --context west -n kube-system get pods",
    "kubectl --context west label service nginx-svc mirror.linkerd.io/exported=true",
    "kubectl --context west scale statefulset nginx-set --replicas=5",
    "kubectl --context west label service nginx-svc mirror.linkerd.io/exported-",
    "kubectl --context west wait service/nginx-svc --for=create --timeout=10s",
    "kubectl --context west wait namespace/default --for=condition=Odd=False --timeout=10s",
    "kubectl --context west exec curl -- say hello",
    "kubectl --context west wait service/none --for=create --timeout=1s",
    "kubectl --context west wait namespace/default --for=condition=Odd --timeout=1s",
    "kubectl --context west exec curl -- fail",
)
FAILING = LINES[-3:]


async def echo(wanted: Execution) -> Output:
    """Says where it is and what it was told, or fails with it."""
    said = f"in {wanted.pod}: {' '.join(wanted.command)}\n"
    return Output(err=said, code=3) if wanted.command[0] == "fail" else Output(said)


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[tuple[Cluster, Kubectl]]:
    """A cluster, and the files that the demo applies."""
    made = Cluster("west", service_range="10.96.0.0/16")
    made.execute = echo
    client = Client(made.transport())
    for one in definitions():
        await client.create(KINDS["CustomResourceDefinition"], one)
    conditions = {"status": {"conditions": [{"type": "Odd", "status": "False"}]}}
    await client.merge_patch(KINDS["Namespace"], Key("", "default"), conditions, "status")
    for name, text in props.FILES.items():
        (folder / name).write_text(text)
    yield made, Kubectl({"west": made}, folder)


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
            expected = await theirs(*words, stdin=LINK, fails=line in FAILING)
            found = await ours.run(words, LINK)
            assert timeless(found.out + found.err) == timeless(expected), line
            assert bool(found.code) is (line in FAILING)


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
