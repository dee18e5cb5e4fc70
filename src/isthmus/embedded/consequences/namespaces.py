"""The life of a namespace: what it is furnished with, and how it is emptied before it goes."""

from isthmus.embedded import seed
from isthmus.embedded.api import deleting
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.store import Event, Key, Record
from isthmus.model.wire import JsonObject

NAMESPACES = "/namespaces"
_ACCOUNT = "default"
_ROOT_CA = "kube-root-ca.crt"
_ABOUT_ROOT_CA = {
    "kubernetes.io/description": (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
        "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
        "guaranteed across distributions of Kubernetes clusters."
    )
}
_BACKGROUND = deleting.Options(propagation_policy="Background")


def react(plane: Plane, event: Event) -> None:
    """Furnish what is new or has been cleared out, go on emptying what is terminating."""
    if event.key.resource == NAMESPACES:
        home = event.key.name
    elif event.after is None:
        home = event.key.namespace
    else:
        return
    record = plane.store.get(Key(NAMESPACES, "", home))
    if record is None:
        return
    if record.object["metadata"].get("deletionTimestamp"):
        _empty(plane, record)
    else:
        furnish(plane, home)


def furnish(plane: Plane, namespace: str) -> None:
    """Every namespace has an account for its pods and the certificate they verify the API by."""
    seed.place(
        plane, "v1", "ServiceAccount", {"metadata": {"name": _ACCOUNT, "namespace": namespace}}
    )
    metadata = {"name": _ROOT_CA, "namespace": namespace, "annotations": _ABOUT_ROOT_CA}
    root = {"metadata": metadata, "data": {"ca.crt": plane.ca_pem}}
    seed.place(plane, "v1", "ConfigMap", root)


def _empty(plane: Plane, namespace: Record) -> None:
    for record in plane.store.namespaced(namespace.key.name):
        kind = plane.registry.stored(record.key.resource)
        if kind is not None and not record.object["metadata"].get("deletionTimestamp"):
            deleting.delete(plane, kind, record.key, _BACKGROUND)
    if not plane.store.namespaced(namespace.key.name):
        finalize(plane, namespace, _without_finalizer(namespace.object))


def _without_finalizer(namespace: JsonObject) -> JsonObject:
    spec = namespace.get("spec") or {}
    left = [name for name in spec.get("finalizers") or [] if name != "kubernetes"]
    rest = {key: value for key, value in spec.items() if key != "finalizers"}
    return {**namespace, "spec": {**rest, **({"finalizers": left} if left else {})}}


def finalize(plane: Plane, record: Record, wanted: JsonObject) -> None:
    """Store what remains to be done, or remove the namespace if nothing does."""
    if deleting.finished(wanted):
        plane.store.remove(record.key)
    elif wanted != record.object:
        plane.store.put(record.key, wanted)
