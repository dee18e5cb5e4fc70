"""What a busy cluster holds: Services as charts write them, and the slices that belong to them."""

from isthmus.model.wire import JsonObject

NAMESPACES = 20
ENDPOINTS = 3


def namespace(number: int) -> str:
    return f"team-{number % NAMESPACES:02}"


def service(number: int, *, headless: bool = True) -> JsonObject:
    """A Service with the metadata a chart gives it.

    It is headless unless that matters, because the API server's allocation of cluster IPs slows
    down with every Service it has, and would take most of the time.
    """
    name = f"payments-{number:05}"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": namespace(number),
            "labels": {
                "app.kubernetes.io/name": name,
                "app.kubernetes.io/instance": f"{name}-production",
                "app.kubernetes.io/part-of": "payments",
                "app.kubernetes.io/managed-by": "Helm",
                "mirror.linkerd.io/exported": "true",
            },
            "annotations": {
                "meta.helm.sh/release-name": f"{name}-production",
                "meta.helm.sh/release-namespace": namespace(number),
                "example.com/owner": f"team-{number % 37}@example.com",
            },
        },
        "spec": {
            "clusterIP": "None" if headless else "",
            "selector": {
                "app.kubernetes.io/name": name,
                "app.kubernetes.io/instance": f"{name}-production",
            },
            "ports": [
                {"name": "http", "port": 80, "targetPort": "http", "appProtocol": "http"},
                {"name": "metrics", "port": 9090, "targetPort": 9090},
            ],
        },
    }


def endpoint_slice(number: int, uid: str) -> JsonObject:
    """The slice that the endpoint slice controller would write for ``service(number)``."""
    owner = service(number)["metadata"]
    name, inside = owner["name"], owner["namespace"]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{name}-{number * 7919 % 100003:05}",
            "namespace": inside,
            "labels": {
                **owner["labels"],
                "kubernetes.io/service-name": name,
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                "service.kubernetes.io/headless": "",
            },
            "annotations": {
                "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z"
            },
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "name": name,
                    "uid": uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "addressType": "IPv4",
        "endpoints": [_endpoint(number, replica, inside) for replica in range(ENDPOINTS)],
        "ports": [
            {"name": "http", "port": 8080, "protocol": "TCP", "appProtocol": "http"},
            {"name": "metrics", "port": 9090, "protocol": "TCP"},
        ],
    }


STATEFUL = "database"
SLICE = 100  # endpoints in one slice, as Kubernetes fills them


def stateful() -> JsonObject:
    """A headless Service whose pods have names of their own."""
    body = service(0)
    labels = {**body["metadata"]["labels"], "app.kubernetes.io/name": STATEFUL}
    return {**body, "metadata": {**body["metadata"], "name": STATEFUL, "labels": labels}}


def set_slices(pods: range) -> list[JsonObject]:
    """The slices of these pods of the StatefulSet behind it."""
    return [_set_slice(pods[first : first + SLICE]) for first in range(0, len(pods), SLICE)]


def _set_slice(pods: range) -> JsonObject:
    owner = stateful()["metadata"]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{STATEFUL}-{pods.start:05}",
            "namespace": owner["namespace"],
            "labels": {
                **owner["labels"],
                "kubernetes.io/service-name": STATEFUL,
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                "service.kubernetes.io/headless": "",
            },
        },
        "addressType": "IPv4",
        "endpoints": [
            {**_endpoint(pod, 0, owner["namespace"]), "hostname": f"{STATEFUL}-{pod}"}
            for pod in pods
        ],
        "ports": [
            {"name": "http", "port": 8080, "protocol": "TCP", "appProtocol": "http"},
            {"name": "metrics", "port": 9090, "protocol": "TCP"},
        ],
    }


def _endpoint(number: int, replica: int, inside: str) -> JsonObject:
    host = number * ENDPOINTS + replica
    return {
        "addresses": [f"10.{64 + host // 65536}.{host // 256 % 256}.{host % 256}"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": f"node-{host % 50}.example.com",
        "zone": f"zone-{host % 3}",
        "targetRef": {
            "kind": "Pod",
            "namespace": inside,
            "name": f"payments-{number:05}-6f7c9d5b8-{replica:05}",
            "uid": f"{host:08x}-0000-4000-8000-{host:012x}",
        },
    }
