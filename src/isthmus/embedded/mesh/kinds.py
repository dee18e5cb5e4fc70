"""The kinds of objects that joining clusters takes, for whoever creates them from manifests."""

from collections.abc import Iterable

from isthmus.kube.client import Client
from isthmus.kube.resources import Resource, untyped
from isthmus.model.wire import JsonObject

_EVERYWHERE = (
    ("v1", "Namespace", "namespaces"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions"),
    ("isthmus.dev/v1alpha1", "Link", "links"),
    ("isthmus.dev/v1alpha1", "Grant", "grants"),
)
_NAMESPACED = (
    ("v1", "ServiceAccount", "serviceaccounts"),
    ("v1", "Secret", "secrets"),
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Service", "services"),
    ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
    ("v1", "Pod", "pods"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "StatefulSet", "statefulsets"),
)
KINDS = {
    kind: untyped(version, kind, plural, namespaced=namespaced)
    for kinds, namespaced in ((_EVERYWHERE, False), (_NAMESPACED, True))
    for version, kind, plural in kinds
}


def placed(obj: JsonObject, namespace: str = "default") -> tuple[Resource[JsonObject], JsonObject]:
    """Return the kind of an object, and the object in the namespace that it says, or else in
    ``namespace``."""
    kind = KINDS[obj["kind"]]
    if not kind.namespaced:
        return kind, obj
    return kind, {**obj, "metadata": {"namespace": namespace, **obj["metadata"]}}


async def create(client: Client, objects: Iterable[JsonObject]) -> None:
    for obj in objects:
        await client.create(*placed(obj))
