"""What the demo tells: a headless Service of west is exported, and appears in east.

Every line of output is what the clusters answer, at that moment, to what kubectl would ask.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from isthmus.cli import props, render
from isthmus.embedded.cluster import Cluster
from isthmus.kube.errors import Rejected, Unreachable
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
SERVICES = "/api/v1/namespaces/default/services"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
LINKS = "/apis/isthmus.dev/v1alpha1/links"
SECRETS = "/api/v1/namespaces/isthmus/secrets"

PATIENCE = 30.0  # seconds until what should happen must have happened
GLANCE = 0.05  # seconds between two looks at it


class Teller(Protocol):
    """Where the story is told."""

    def say(self, text: str = "") -> None: ...

    def typed(self, command: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Stage:
    """The two clusters, and where the story is told."""

    page: Teller
    east: Cluster
    west: Cluster

    async def show(
        self, command: str, path: str, ready: Callable[[JsonObject], bool] = bool
    ) -> None:
        """Show a command and, as soon as it is ``ready``, its answer."""
        self.page.typed(command)
        cluster = self.east if "--context east" in command else self.west
        self.page.say(render.table(await _until(cluster, path, ready)))
        self.page.say()


async def tell(stage: Stage, link: Sequence[JsonObject]) -> None:
    """Link east to west, export a Service of west, and watch its mirrors come, grow and go."""
    page, east, west = stage.page, stage.east, stage.west
    page.typed("kubectl --context east apply -f link-west.yaml")
    for path, obj in zip((SECRETS, LINKS), link, strict=True):
        await ask(east, "POST", path, obj)
    page.say("secret/cluster-credentials-west created")
    page.say("link.isthmus.dev/west created")
    page.say()
    await stage.show("kubectl --context east get links", LINKS, _is_linked)

    page.typed("kubectl --context west apply -f nginx.yaml")
    await ask(west, "POST", SERVICES, props.SERVICE)
    await ask(west, "POST", STATEFUL_SETS, props.STATEFUL_SET)
    await ask(west, "POST", SLICES, props.endpoints(3))
    page.say("service/nginx-svc created")
    page.say("statefulset.apps/nginx-set created")
    page.say()
    await stage.show("kubectl --context west get services", SERVICES)

    command = "kubectl --context west label service nginx-svc mirror.linkerd.io/exported=true"
    await _label(stage, command, "true", "labeled")
    await stage.show("kubectl --context east get services", SERVICES, _has_mirrors(4))
    await stage.show(
        "kubectl --context east get endpointslices -l kubernetes.io/service-name=nginx-svc-west",
        f"{SLICES}?labelSelector=kubernetes.io/service-name=nginx-svc-west",
        _names_pods(3),
    )

    page.typed("kubectl --context west scale statefulset nginx-set --replicas=5")
    await ask(west, "PATCH", f"{STATEFUL_SETS}/nginx-set", {"spec": {"replicas": 5}})
    await ask(west, "PUT", f"{SLICES}/nginx-svc-5x2bq", props.endpoints(5))
    page.say("statefulset.apps/nginx-set scaled")
    page.say()
    await stage.show("kubectl --context east get services", SERVICES, _has_mirrors(6))

    command = "kubectl --context west label service nginx-svc mirror.linkerd.io/exported-"
    await _label(stage, command, None, "unlabeled")
    await stage.show("kubectl --context east get services", SERVICES, _has_mirrors(0))


async def _label(stage: Stage, command: str, value: str | None, done: str) -> None:
    stage.page.typed(command)
    patch = {"metadata": {"labels": {"mirror.linkerd.io/exported": value}}}
    await ask(stage.west, "PATCH", f"{SERVICES}/nginx-svc", patch)
    stage.page.say(f"service/nginx-svc {done}")
    stage.page.say()


def _is_linked(table: JsonObject) -> bool:
    return any(row["cells"][:3] == ["west", "True", "True"] for row in table["rows"])


def _has_mirrors(count: int) -> Callable[[JsonObject], bool]:
    def ready(table: JsonObject) -> bool:
        mirrors = [row for row in table["rows"] if row["cells"][0].endswith("-west")]
        return len(mirrors) == count

    return ready


def _names_pods(count: int) -> Callable[[JsonObject], bool]:
    def ready(table: JsonObject) -> bool:
        return any(row["cells"][3].count(",") == count - 1 for row in table["rows"])

    return ready


async def _until(cluster: Cluster, path: str, ready: Callable[[JsonObject], bool]) -> JsonObject:
    for _ in range(round(PATIENCE / GLANCE)):
        if ready(table := await ask(cluster, "GET", path)):
            return table
        await asyncio.sleep(GLANCE)
    raise Unreachable(
        f"cluster {cluster.name}: {path} is not what it should be after {PATIENCE:g} s; "
        "run the demo with -v to see what the controller says"
    )


async def ask(
    cluster: Cluster, method: str, path: str, body: JsonObject | None = None
) -> JsonObject:
    """Do what kubectl does: send a request to the cluster and read its answer, as a table."""
    kind = "merge-patch+json" if method == "PATCH" else "json"
    headers = {"accept": TABLE, "content-type": f"application/{kind}"}
    content = msgspec.json.encode(body) if body is not None else b""
    where, _, query = path.partition("?")
    asked = tuple((name, value) for name, _, value in [query.partition("=")] if name)
    request = Request(method=method, path=where, query=asked, headers=headers, body=content)
    async with cluster.transport().send(request) as response:
        answer = b"".join([chunk async for chunk in response.chunks()])
        if response.status >= 300:
            raise Rejected(f"cluster {cluster.name} refuses {method} {path}: {response.status}")
        table: JsonObject = msgspec.json.decode(answer)
        return table
