"""What is said to the embedded cluster: by kubectl, by pods, by whoever resolves a name."""

import asyncio
import re
from contextlib import suppress
from random import Random
from urllib.parse import parse_qsl, quote

import msgspec

from isthmus.embedded.access.tokens import TokenKey
from isthmus.embedded.api.calls import APPLY, JSON, YAML, decoded
from isthmus.embedded.api.labels import requirements
from isthmus.embedded.api.selectors import selection
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.protobuf import Unreadable, object_of
from isthmus.embedded.kinds import jsonpath, patterns
from isthmus.embedded.kinds.builtin import builtin
from isthmus.embedded.kinds.quantities import canonical
from isthmus.embedded.machine import dns
from isthmus.embedded.patches import patch
from isthmus.embedded.status import Refusal
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.embedded.machine.test_records import zone
from tests.fuzz.target import parts_of, refusing, target, text_of
from tests.support.virtual import VirtualLoop

SERVICE = next(one for one in builtin(loopback=True) if one.name == "Service")
KEY = TokenKey()
ZONE = zone()


@target
def dns_query(data: bytes) -> None:
    for limit in (None, dns.SMALL):
        found = dns.answer(ZONE, data, limit)
        assert found is None or found[:2] == data[:2]
        if found is not None and limit is not None:
            assert len(found) <= max(limit, len(data))


@target
def protobuf_of_kubectl(data: bytes) -> None:
    with refusing(Unreadable):
        found = object_of(data)
        assert found["kind"]


@target
def quantity(data: bytes) -> None:
    text = text_of(data)
    with suppress(ValueError):
        found = canonical(text)
        # What has a power of ten is kept as it is written.
        assert canonical(found) == found or re.search("[eE][0-9+-]", text)


@target
def body_of_a_request(data: bytes) -> None:
    for kind in (JSON, YAML, APPLY):
        with suppress(Refusal):
            assert isinstance(decoded(data, kind, "Service"), dict)


PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


def _service(namespace: str = "shop") -> JsonObject:
    return {
        "metadata": {"name": "web", "namespace": namespace, "labels": {"app": "web"}},
        "spec": {"ports": [{"name": "http", "port": 80, "protocol": "TCP"}], "type": "ClusterIP"},
    }


@target
def patch_of_a_service(data: bytes) -> None:
    for kind in PATCHES:
        current = _service()
        with suppress(Refusal):
            patch.patched(SERVICE, kind, current, data)
        assert current == _service()


@target
def selector_of_a_query(data: bytes) -> None:
    text = text_of(data)
    with suppress(Refusal):
        requirements(text)
    with suppress(Refusal):
        found = selection(SERVICE, text, text)
        assert found is None or found(_service()) in (True, False)


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
MEDIA = ("application/json", "application/yaml", "application/apply-patch+yaml", *PATCHES)


@target
def request_to_an_embedded_cluster(data: bytes) -> None:
    """The first two bytes choose a method and a kind of body; an answer of any kind will do."""
    head, path, query, body = parts_of(data, 4)
    method, media = (
        some[head[at] % len(some)] if len(head) > at else some[0]
        for at, some in enumerate((METHODS, MEDIA))
    )
    request = Request(
        method=method,
        path="/" + quote(path.lstrip(b"/"), safe="/%"),
        query=tuple(parse_qsl(text_of(query), keep_blank_values=True)),
        headers={"content-type": media},
        body=body,
    )
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        status = runner.run(_answered(request))
    assert 200 <= status < 600


async def _answered(request: Request) -> int:
    """Send it to a cluster that has a Service, and hear the beginning of the answer."""
    cluster = Cluster("east", random=Random(1))
    made = Request(
        method="POST",
        path="/api/v1/namespaces/default/services",
        headers={"content-type": JSON},
        body=msgspec.json.encode({"kind": "Service", "apiVersion": "v1", **_service("default")}),
    )
    async with cluster.transport().send(made) as answer:
        assert answer.status == 201
    async with cluster.transport().send(request) as answer:
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                async for _ in answer.chunks():
                    break
        return answer.status


@target
def token_of_an_account(data: bytes) -> None:
    assert KEY.claims(text_of(data)) is None


@target
def pattern_of_a_schema(data: bytes) -> None:
    pattern, text = map(text_of, parts_of(data, 2))
    with suppress(patterns.BadPattern, patterns.TooMuchWork):
        patterns.compiled(pattern).is_in(text[:200])


@target
def path_of_a_column(data: bytes) -> None:
    with suppress(jsonpath.Unsupported):
        jsonpath.compiled(text_of(data))(_service())
