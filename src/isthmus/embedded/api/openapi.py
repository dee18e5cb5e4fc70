"""OpenAPI v3 documents: enough for kubectl to trust the server with validating its input.

Before it applies or creates anything, kubectl looks for the query parameter
``fieldValidation`` (or ``dryRun``) at the kind's PATCH operation. Schemas of fields are left
out: kubectl knows the built-in kinds, and custom ones are validated by the server.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from isthmus.embedded.kinds.kind import Kind
from isthmus.model.wire import JsonObject

_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
    for name, kind in (
        ("pretty", "string"),
        ("dryRun", "string"),
        ("fieldManager", "string"),
        ("fieldValidation", "string"),
        ("force", "boolean"),
    )
]
_RESPONSES = {"200": {"description": "OK"}, "401": {"description": "Unauthorized"}}


# OpenAPI v2, of which kubectl asks for the protobuf form before it takes a `kind: List`. A
# document without definitions tells it to leave the validation to us. Its type is asked for
# with an "@", which is not allowed in a content type, hence the dot of the answer.
SWAGGER_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_INFO = b"\x0a\x0aKubernetes\x12\x07v1.36.3"
SWAGGER = b"\x0a\x032.0\x12" + bytes([len(_INFO)]) + _INFO


def document(place: str, kinds: Sequence[Kind]) -> JsonObject | None:
    """The index (``place`` is empty), or the document of ``api/v1``, ``apis/apps/v1`` and so on."""
    if not place:
        places = dict.fromkeys(_place(kind) for kind in kinds)
        return {"paths": {at: {"serverRelativeURL": _address(at, kinds)} for at in places}}
    members = [kind for kind in kinds if _place(kind) == place]
    if not members:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.36.3"},
        "paths": {_path(kind): _operations(kind) for kind in members},
        "components": {"schemas": {}},
    }


def _place(kind: Kind) -> str:
    return f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"


def _address(place: str, kinds: Sequence[Kind]) -> str:
    """Clients cache documents for ever by this address, so it changes with the content."""
    content = msgspec.json.encode(document(place, kinds))
    return f"/openapi/v3/{place}?hash={hashlib.sha256(content).hexdigest().upper()}"


def _path(kind: Kind) -> str:
    namespace = "/namespaces/{namespace}" if kind.namespaced else ""
    return f"/{_place(kind)}{namespace}/{kind.plural}/{{name}}"


def _operations(kind: Kind) -> JsonObject:
    is_about = {
        "x-kubernetes-group-version-kind": {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.name,
        }
    }
    verbs = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
    return {
        method: {
            "parameters": _PARAMETERS,
            "responses": _RESPONSES,
            "x-kubernetes-action": verb,
            **is_about,
        }
        for method, verb in verbs.items()
    }
