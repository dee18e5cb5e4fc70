"""Gives pods the service account they run as, and the volume with its token."""

from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.kinds.refusals import forbidden
from isthmus.embedded.state.plane import Plane
from isthmus.model.wire import JsonObject

_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_SECONDS = 3607
_AUTOMOUNT = "automountServiceAccountToken"


def housed(plane: Plane, kind: Kind, pod: JsonObject) -> JsonObject:
    """``pod`` with its account and, unless it or the account objects, the account's token."""
    metadata, spec = pod["metadata"], {**pod["spec"]}
    namespace, name = metadata["namespace"], spec.get("serviceAccountName") or "default"
    account = plane.find("", "serviceaccounts", namespace, name)
    if account is None:
        why = (
            f"error looking up service account {namespace}/{name}: "
            f'serviceaccount "{name}" not found'
        )
        raise forbidden(kind, metadata.get("name", ""), why)
    spec |= {"serviceAccountName": name, "serviceAccount": name}
    mounts = spec.get(_AUTOMOUNT, account.get(_AUTOMOUNT, True))
    if mounts and not any(_mounted(container) for container in spec["containers"] or []):
        _mount(spec, plane.generated("kube-api-access-"))
    return {**pod, "spec": spec}


def _mounted(container: JsonObject) -> bool:
    return any(mount["mountPath"] == _MOUNT_PATH for mount in container.get("volumeMounts") or [])


def _mount(spec: JsonObject, volume: str) -> None:
    mount = {"name": volume, "readOnly": True, "mountPath": _MOUNT_PATH}
    for field in ("initContainers", "containers"):
        if spec.get(field):
            spec[field] = [
                {**container, "volumeMounts": [*(container.get("volumeMounts") or []), mount]}
                for container in spec[field]
            ]
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {
            "configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }
        },
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]
    projected = {"sources": sources, "defaultMode": 420}
    spec["volumes"] = [*(spec.get("volumes") or []), {"name": volume, "projected": projected}]
