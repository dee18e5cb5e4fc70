"""Objects as clients send them, and what becomes of them before they are stored."""

from isthmus.embedded.kinds import admission
from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject

KINDS = {kind.name: kind for kind in BUILTIN if kind.view is None}


def made(kind: str, metadata: JsonObject | None = None, **content: Json) -> JsonObject:
    api = KINDS[kind]
    meta: JsonObject = {"name": "x"}
    if api.namespaced:
        meta["namespace"] = "default"
    meta |= metadata or {}
    return {"apiVersion": api.api_version, "kind": kind, "metadata": meta, **content}


def admitted(obj: JsonObject, old: JsonObject | None = None) -> JsonObject:
    return admission.admit(KINDS[obj["kind"]], obj, old)


def complaints(obj: JsonObject, old: JsonObject | None = None) -> list[tuple[str, str]]:
    try:
        admitted(obj, old)
    except Refusal as refusal:
        return list(dict.fromkeys((cause.field, cause.message) for cause in refusal.causes))
    return []


def service(metadata: JsonObject | None = None, **spec: Json) -> JsonObject:
    return made("Service", metadata, spec={"ports": [{"port": 80}], **spec})


def slice_of(*addresses: str, **content: Json) -> JsonObject:
    endpoints = [{"addresses": [address]} for address in addresses]
    return made("EndpointSlice", **{"addressType": "IPv4", "endpoints": endpoints, **content})


TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}


SELECTOR = {"matchLabels": {"a": "b"}}


def workload(kind: str, **spec: Json) -> JsonObject:
    return made(kind, spec={"selector": SELECTOR, "template": TEMPLATE, **spec})


CONTAINER = {
    "name": "c",
    "image": "nginx",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}
