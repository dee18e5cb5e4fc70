"""What the demo shows: a StatefulSet with its headless Service in west, ready to be exported."""

from typing import Protocol

import msgspec

from isthmus.cli import render
from isthmus.embedded.cluster import Cluster
from isthmus.kube.errors import Garbled
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
LABELS = {"app": "nginx-svc"}
SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "nginx-svc", "labels": LABELS},
    "spec": {
        "clusterIP": "None",
        "selector": LABELS,
        "ports": [{"name": "http", "port": 80}],
    },
}
STATEFUL_SET: JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "nginx-set", "labels": LABELS},
    "spec": {
        "serviceName": "nginx-svc",
        "replicas": 3,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {
                "containers": [
                    {
                        "name": "nginx",
                        "image": "nginx:1.29",
                        "ports": [{"name": "http", "containerPort": 80}],
                    }
                ]
            },
        },
    },
}
SERVICES = "/api/v1/namespaces/default/services"
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"


class Teller(Protocol):
    """Where the story is told."""

    def say(self, text: str = "") -> None: ...

    def typed(self, command: str) -> None: ...


async def tell(page: Teller, west: Cluster) -> None:
    """Do in ``west``, through its API, what kubectl would do, and show what it would show."""
    page.typed("kubectl --context west apply -f nginx.yaml")
    await _ask(west, "POST", SERVICES, SERVICE)
    page.say("service/nginx-svc created")
    await _ask(west, "POST", STATEFUL_SETS, STATEFUL_SET)
    page.say("statefulset.apps/nginx-set created")
    page.say()
    page.typed("kubectl --context west get statefulsets")
    page.say(render.table(await _ask(west, "GET", STATEFUL_SETS)))
    page.say()
    page.typed("kubectl --context west get services")
    page.say(render.table(await _ask(west, "GET", SERVICES)))
    page.say()


async def _ask(
    cluster: Cluster, method: str, path: str, body: JsonObject | None = None
) -> JsonObject:
    headers = {"accept": TABLE, "content-type": "application/json"}
    content = msgspec.json.encode(body) if body is not None else b""
    request = Request(method=method, path=path, headers=headers, body=content)
    async with cluster.transport().send(request) as response:
        answer = b"".join([chunk async for chunk in response.chunks()])
        if response.status >= 300:
            raise Garbled(f"cluster {cluster.name} refuses {method} {path}: {response.status}")
        table: JsonObject = msgspec.json.decode(answer)
        return table
