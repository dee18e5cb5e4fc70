"""The manifests of stories and measurements: what a user would have in a repository."""

from isthmus.model.wire import Json

EXPORTED = {"mirror.linkerd.io/exported": "true"}
# nginx says which pod it is; /who says who called, as the gateway has verified it.
SAY = "echo I am $HOSTNAME > /usr/share/nginx/html/index.html && exec nginx -g 'daemon off;'"


def service(name: str, *, headless: bool = False, app: str = "", exported: bool = True) -> Json:
    spec: dict[str, Json] = {
        "selector": {"app": app or name},
        "ports": [{"name": "http", "port": 80}],
    }
    if headless:
        spec["clusterIP"] = "None"
    labels = EXPORTED if exported else {}
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def stateful_set(name: str, replicas: int, *, governs: str) -> Json:
    spec = _workload(name, replicas) | {"serviceName": governs}
    return _apps("StatefulSet", name) | {"spec": spec}


def deployment(name: str, replicas: int = 1) -> Json:
    return _apps("Deployment", name) | {"spec": _workload(name, replicas)}


def caller(name: str, command: str = "sleep infinity", *, account: str = "") -> Json:
    """A pod with curl; its command is a line for a shell."""
    container = {"name": "curl", "image": "curlimages/curl", "command": ["sh", "-c", command]}
    spec = {
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        **({"serviceAccountName": account} if account else {}),
    }
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def account(name: str) -> Json:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _apps(kind: str, name: str) -> dict[str, Json]:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
    }


def _workload(name: str, replicas: int) -> dict[str, Json]:
    container = {
        "name": "nginx",
        "image": "nginx",
        "command": ["sh", "-c", SAY],
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1},
    }
    return {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 5},
        },
    }
