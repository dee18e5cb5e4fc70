"""The kinds of objects that joining clusters takes, for whoever creates them from manifests."""

from collections.abc import Iterable

from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS as KINDS
from isthmus.kube.resources import Resource
from isthmus.model.wire import JsonObject


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
