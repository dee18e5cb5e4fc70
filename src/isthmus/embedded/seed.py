"""What every fresh cluster holds: its namespaces, the API's own Service, the first roles."""

from isthmus.embedded.kinds import admission
from isthmus.embedded.kinds.bindings import GROUP as RBAC
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.store import Key
from isthmus.model.wire import JsonObject

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_READ_PATHS = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]


def furnish(plane: Plane) -> None:
    for name in NAMESPACES:
        place(plane, "v1", "Namespace", {"metadata": {"name": name}})
    _kubernetes(plane)
    _roles(plane)


def place(plane: Plane, api_version: str, name: str, obj: JsonObject) -> None:
    """Store an object as if it had been created through the API, unless it is there."""
    kind = plane.registry.named(api_version, name)
    assert kind is not None, f"no kind {name} in {api_version}"
    metadata = obj["metadata"]
    key = Key(kind.resource, metadata.get("namespace", ""), metadata["name"])
    if plane.store.get(key) is not None:
        return
    given = {"uid": plane.uid(), "creationTimestamp": plane.timestamp()}
    whole = {"kind": name, "apiVersion": api_version, **obj, "metadata": {**metadata, **given}}
    plane.store.put(key, admission.admit(kind, whole, None), 0)


def _kubernetes(plane: Plane) -> None:
    """The Service by which pods find the API."""
    address = str(plane.addresses.network[1])
    labels = {"component": "apiserver", "provider": "kubernetes"}
    place(
        plane,
        "v1",
        "Service",
        {
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
            "spec": {
                "type": "ClusterIP",
                "clusterIP": address,
                "clusterIPs": [address],
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
            },
        },
    )
    place(
        plane,
        "discovery.k8s.io/v1",
        "EndpointSlice",
        {
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"kubernetes.io/service-name": "kubernetes"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
        },
    )


def _roles(plane: Plane) -> None:
    anything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    any_path = {"nonResourceURLs": ["*"], "verbs": ["*"]}
    _role(plane, "cluster-admin", [anything, any_path], "system:masters")
    reads = {"nonResourceURLs": _READ_PATHS, "verbs": ["get"]}
    _role(plane, "system:discovery", [reads], "system:authenticated")
    asks = [
        {
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
            "verbs": ["create"],
        },
        {
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["selfsubjectreviews"],
            "verbs": ["create"],
        },
    ]
    _role(plane, "system:basic-user", asks, "system:authenticated")


def _role(plane: Plane, name: str, rules: list[JsonObject], group: str) -> None:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    metadata = {"name": name, "labels": labels}
    place(plane, f"{RBAC}/v1", "ClusterRole", {"metadata": metadata, "rules": rules})
    place(
        plane,
        f"{RBAC}/v1",
        "ClusterRoleBinding",
        {
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group}],
        },
    )
