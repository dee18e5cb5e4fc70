"""Removes the namespaces that a link has made, if nobody else has come to use them.

A namespace takes everything in it along, so everything is looked for, of every kind that the
cluster serves. Where we may not look, the namespace stays.
"""

import logging
from collections.abc import AsyncIterator

from isthmus.apps.controller.mirroring.state import State
from isthmus.kube.client import Client
from isthmus.kube.codec import decoded_json
from isthmus.kube.errors import Garbled, NotFound, Unavailable
from isthmus.kube.requests import Call, Preconditions, Selection
from isthmus.kube.resources import NAMESPACES, Resource, untyped
from isthmus.kube.transport import Request
from isthmus.model.errors import Permanent
from isthmus.model.links import Link
from isthmus.model.names import CREATED_NAMESPACE
from isthmus.model.objects import Namespace
from isthmus.model.wire import Json, JsonObject

log = logging.getLogger(__name__)

DISCOVERY = untyped("v1", "APIGroup", "apis", namespaced=False)
LARGEST = 4 * 1024 * 1024  # bytes of a discovery document
# What Kubernetes itself puts into every namespace, and notes that nobody keeps.
FURNITURE = frozenset({("configmaps", "kube-root-ca.crt"), ("serviceaccounts", "default")})
NOTES = frozenset({"events", "endpoints"})


async def remove_namespaces(client: Client, state: State, link: Link) -> None:
    """Remove what ``link`` has made and what holds nothing any more."""
    for namespace in list(state.namespaces.objects.values()):
        metadata = namespace.metadata
        made = metadata.labels.get(CREATED_NAMESPACE) == link.cluster
        if made and metadata.deletion_timestamp is None and await _is_empty(client, namespace):
            unchanged = Preconditions(uid=metadata.uid, resource_version=metadata.resource_version)
            await client.delete(NAMESPACES, metadata.key, unchanged)


async def _is_empty(client: Client, namespace: Namespace) -> bool:
    name = namespace.metadata.name
    try:
        async for resource in listable(client):
            async for page in client.pages(resource, Selection(namespace=name), limit=10):
                for obj in page.objects:
                    if (resource.plural, obj["metadata"]["name"]) not in FURNITURE:
                        return False
    except NotFound:
        return False  # a kind has gone while we looked; whatever it held is not known
    except (Permanent, Unavailable, Garbled) as error:
        # An aggregated API that is down may be so for long, and a Link must be able to end.
        extra = {"namespace": name, "error": str(error)}
        log.warning("namespace kept: cannot tell whether it is empty", extra=extra)
        return False
    return True


async def listable(client: Client) -> AsyncIterator[Resource[JsonObject]]:
    """Yield every kind that lives in namespaces and can be listed."""
    groups = (await _discovered(client, "/apis"))["groups"]
    versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in groups)]
    for version in versions:
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for one in (await _discovered(client, path))["resources"]:
            listable = one["namespaced"] and "list" in one["verbs"] and "/" not in one["name"]
            if listable and one["name"] not in NOTES:
                yield untyped(version, one["kind"], one["name"], namespaced=True)


async def _discovered(client: Client, path: str) -> Json:
    request = Request(method="GET", path=path)
    call = Call(verb="get", resource=DISCOVERY, where=path, request=request)
    return decoded_json(await client.exchange.fetch(call, LARGEST), call)
