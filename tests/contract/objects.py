"""Small valid objects for tests; keyword arguments go into ``metadata``."""

from isthmus.model.wire import Json, JsonObject


def obj(api_version: str, kind: str, name: str, **metadata: Json) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}


def config(name: str = "settings", data: JsonObject | None = None, **metadata: Json) -> JsonObject:
    data = {"colour": "red"} if data is None else data
    return {**obj("v1", "ConfigMap", name, **metadata), "data": data}


def secret(name: str = "keys", **metadata: Json) -> JsonObject:
    return {**obj("v1", "Secret", name, **metadata), "data": {"password": "aHVudGVyMg=="}}


def namespace(name: str, **metadata: Json) -> JsonObject:
    return obj("v1", "Namespace", name, **metadata)


def service(name: str = "web", spec: JsonObject | None = None, **metadata: Json) -> JsonObject:
    spec = {"ports": [{"port": 80}], **(spec or {})}
    return {**obj("v1", "Service", name, **metadata), "spec": spec}


def slice_of(
    name: str = "web-1", *addresses: str, ports: list[JsonObject] | None = None, **metadata: Json
) -> JsonObject:
    endpoints = [{"addresses": [address]} for address in addresses or ("10.1.2.3",)]
    return {
        **obj("discovery.k8s.io/v1", "EndpointSlice", name, **metadata),
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"port": 80}] if ports is None else ports,
    }


def pod(name: str = "shell", **metadata: Json) -> JsonObject:
    containers = [{"name": "main", "image": "example.org/shell:1"}]
    return {**obj("v1", "Pod", name, **metadata), "spec": {"containers": containers}}


def template(**labels: str) -> JsonObject:
    return {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "example.org/main:1"}]},
    }


def deployment(name: str = "front", **metadata: Json) -> JsonObject:
    return {
        **obj("apps/v1", "Deployment", name, **metadata),
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(app=name)},
    }


def stateful_set(name: str = "store", **metadata: Json) -> JsonObject:
    return {
        **obj("apps/v1", "StatefulSet", name, **metadata),
        "spec": {
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": template(app=name),
        },
    }


def lease(name: str = "leader", holder: str = "one", **metadata: Json) -> JsonObject:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15}
    return {**obj("coordination.k8s.io/v1", "Lease", name, **metadata), "spec": spec}


def account(name: str = "robot", **metadata: Json) -> JsonObject:
    return obj("v1", "ServiceAccount", name, **metadata)


def rbac(kind: str, name: str, **fields: Json) -> JsonObject:
    return {**obj("rbac.authorization.k8s.io/v1", kind, name), **fields}


def owned_by(owner: JsonObject, **more: Json) -> list[JsonObject]:
    """The ``ownerReferences`` of an object that goes when ``owner`` goes."""
    return [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **more,
        }
    ]


def without_server_fields(found: JsonObject) -> JsonObject:
    """``found`` without what only the server writes into metadata."""
    owned = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
    metadata = {key: value for key, value in found["metadata"].items() if key not in owned}
    return {**found, "metadata": metadata}
