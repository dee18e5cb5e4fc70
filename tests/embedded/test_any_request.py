"""No request breaks the server: whatever a client sends, it gets an answer of the API."""

import asyncio
import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isthmus.embedded.access.reviews import REVIEWS
from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.kinds.kind import Kind
from isthmus.kube.transport import Request
from isthmus.model.wire import Json, JsonObject
from tests.contract.gadgets import definition, gadget
from tests.contract.objects import (
    config,
    deployment,
    lease,
    pod,
    rbac,
    secret,
    service,
    slice_of,
    stateful_set,
)
from tests.support.embedded import cluster

ROLE = {"kind": "Role", "name": "x", "apiGroup": "rbac.authorization.k8s.io"}
# All that reviews and requests for tokens ask for.
SPEC: JsonObject = {
    "audiences": ["x"],
    "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "a", "uid": "x"},
    "expirationSeconds": 600,
    "groups": ["x"],
    "namespace": "default",
    "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"},
    "token": "x",
    "user": "joe",
}
METADATA: JsonObject = {
    "annotations": {"x/y": "z"},
    "finalizers": ["x/y"],
    "generateName": "a-",
    "labels": {"x": "y"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "x"}],
}
SOUND: list[JsonObject] = [
    config("a"),
    definition(),
    deployment("a"),
    gadget("a"),
    lease("a"),
    pod("a"),
    rbac("Role", "a", rules=[{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]),
    rbac("RoleBinding", "a", roleRef=ROLE, subjects=[{"kind": "User", "name": "joe"}]),
    secret("a"),
    service("a"),
    service("a", {"type": "LoadBalancer"}),
    slice_of("a"),
    stateful_set("a"),
    *({"kind": kind.name, "apiVersion": kind.api_version, "spec": SPEC} for kind in REVIEWS),
]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GADGETS = "/apis/contract.example.org/v1/namespaces/default/gadgets"
TYPES = {
    "POST": ("application/json", "application/yaml"),
    "PUT": ("application/json",),
    "PATCH": (
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ),
    "DELETE": ("application/json",),
    "GET": ("application/json",),
}
JUNK: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.sampled_from([-1, 0, 2**70, 0.5, "", "x", "None", "\0"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "name", "type", "items", "$patch", "$retainKeys"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=4,
)


def _spots(value: Json) -> list[tuple[Json, Json]]:
    """Every place inside ``value``: the container, and the name or index in it."""
    if isinstance(value, dict):
        here: list[tuple[Json, Json]] = [(value, name) for name in value]
    elif isinstance(value, list):
        here = [(value, index) for index in range(len(value))]
    else:
        return []
    return here + [spot for container, at in here for spot in _spots(container[at])]


@st.composite
def bodies(draw: st.DrawFn) -> JsonObject:
    """A sound object in which one thing, or two, may be wrong."""
    body = copy.deepcopy(draw(st.sampled_from(SOUND)))
    if draw(st.booleans()):
        name = {} if draw(st.booleans()) else {"name": "a"}
        body["metadata"] = copy.deepcopy(METADATA) | name
    for _ in range(draw(st.integers(0, 2))):
        container, at = draw(st.sampled_from(_spots(body)))
        container[at] = copy.deepcopy(draw(JUNK))
    return body


@st.composite
def requests(draw: st.DrawFn) -> Request:
    method = draw(st.sampled_from(sorted(TYPES)))
    media = draw(st.sampled_from(TYPES[method]))
    body: Json = draw(bodies())
    path = _path(body) if draw(st.integers(0, 9)) else "/api/v1/namespaces/default/services"
    if method != "POST":
        path += draw(st.sampled_from(["/a", "/a", "/a/status", "/a/scale", ""]))
    elif not draw(st.integers(0, 9)):
        path = "/api/v1/namespaces/default/serviceaccounts/default/token"
        body["kind"], body["apiVersion"] = "TokenRequest", "authentication.k8s.io/v1"
    if media == "application/json-patch+json":
        body = [{"op": "add", "path": draw(st.sampled_from(["/spec", "/x/0", ""])), "value": body}]
    names = st.sampled_from(["dryRun", "limit", "continue", "resourceVersion", "fieldSelector"])
    query = draw(st.dictionaries(names, st.sampled_from(["", "1", "All", "x=", "9" * 30])))
    return Request(
        method=method,
        path=path,
        query=tuple({"fieldManager": "me", **query}.items()),
        headers={"content-type": media},
        body=json.dumps(body).encode(),
    )


def _path(body: JsonObject) -> str:
    """Where objects of this kind live; if it is not known any more, where gadgets do."""
    known: dict[str, Kind] = {kind.name: kind for kind in (*REVIEWS, *reversed(BUILTIN))}
    name = body.get("kind")
    if not isinstance(name, str) or name not in known:
        return GADGETS
    kind = known[name]
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    return f"{root}{'/namespaces/default' if kind.namespaced else ''}/{kind.plural}"


TOO_DEEP = "json: exceeded max depth"
HEAD = b'{"apiVersion":"contract.example.org/v1","kind":"Gadget","metadata":{"name":"a"},"spec":'


@pytest.mark.parametrize(
    "media, spec, complaint",
    [
        pytest.param("application/json", b'{"free":' * 100_000, TOO_DEEP, id="without an end"),
        pytest.param(
            "application/json",
            b'{"free":' * 900 + b"1" + b"}" * 900,
            "the object is nested too deeply",
            id="deep",
        ),
        pytest.param("application/yaml", b"&a {port: 1, free: *a}", TOO_DEEP, id="itself"),
    ],
)
async def test_a_bottomless_body_is_refused(media: str, spec: bytes, complaint: str) -> None:
    transport = cluster().transport()
    create = Request(method="POST", path=DEFINITIONS, body=json.dumps(definition()).encode())
    async with transport.send(create) as response:
        assert response.status == 201
    headers = {"content-type": media}
    sent = Request(method="POST", path=GADGETS, headers=headers, body=HEAD + spec + b"}")
    async with transport.send(sent) as response:
        raw = b"".join([chunk async for chunk in response.chunks()])
        assert response.status == 400
        assert complaint in json.loads(raw)["message"]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sent=st.lists(requests(), min_size=5, max_size=15))
def test_every_request_is_answered(sent: list[Request]) -> None:
    async def run() -> None:
        transport = cluster().transport()
        create = Request(
            method="POST",
            path=DEFINITIONS,
            body=json.dumps(definition()).encode(),
        )
        for request in (create, *sent):
            async with transport.send(request) as response:
                raw = b"".join([chunk async for chunk in response.chunks()])
            assert response.status < 500 or json.loads(raw)["kind"] == "Status", raw

    asyncio.run(run())
