"""A custom kind with one of everything that schemas can say."""

from isthmus.model.wire import Json, JsonObject
from tests.contract.objects import obj
from tests.contract.server import Server
from tests.support.waiting import until

GROUP = "contract.example.org"
SPEC: JsonObject = {
    "type": "object",
    "required": ["port"],
    "properties": {
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "mode": {"type": "string", "enum": ["fast", "safe"], "default": "safe"},
        "short": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "tags": {
            "type": "array",
            "maxItems": 3,
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "amount": {"x-kubernetes-int-or-string": True},
        "nested": {
            "type": "object",
            "properties": {"deep": {"type": "boolean", "default": True}},
        },
        "maybe": {"type": "string", "nullable": True},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
            "items": {
                "type": "object",
                "required": ["key"],
                "properties": {"key": {"type": "string"}, "value": {"type": "string"}},
            },
        },
    },
}
STATUS: JsonObject = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
COLUMNS: list[JsonObject] = [
    {"name": "Port", "type": "integer", "jsonPath": ".spec.port"},
    {"name": "Ready", "type": "boolean", "jsonPath": ".status.ready"},
    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def definition(group: str = GROUP, scope: str = "Namespaced") -> JsonObject:
    return {
        **obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"gadgets.{group}"),
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": SPEC, "status": STATUS},
                        }
                    },
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": COLUMNS,
                }
            ],
        },
    }


def gadget(
    name: str = "one", spec: Json = None, group: str = GROUP, **metadata: Json
) -> JsonObject:
    spec = {"port": 80} if spec is None else spec
    return {**obj(f"{group}/v1", "Gadget", name, **metadata), "spec": spec}


async def served(server: Server, group: str = GROUP) -> Server:
    """Return when gadgets can be used. The real server keeps the shared kind between tests."""
    await server.create("customresourcedefinitions", definition(group))
    await until(
        lambda: server.get(f"/apis/{group}/v1/gadgets"),
        lambda reply: reply.code == 200,
        within=30,
    )
    return server
