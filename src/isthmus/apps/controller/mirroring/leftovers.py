"""Asks what is left of a link before it is let go: once it is gone, nobody looks for that again.

What the watches have shown is not enough. A list that lacked everything, for a moment and for no
reason that anybody could see, would let go a link whose mirrors stay behind for ever.
"""

from typing import TypeVar

from isthmus.core.mirror import owner
from isthmus.kube.client import Client
from isthmus.kube.requests import EVERYTHING, Selection
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES, Resource
from isthmus.model.errors import Transient
from isthmus.model.links import Link
from isthmus.model.names import MIRRORED
from isthmus.model.objects import EndpointSlice, Service

T = TypeVar("T")

OURS = Selection(labels=f"{MIRRORED}=true")


class NotGone(Transient):
    """Something of the link is there still, or it cannot be told whether anything is."""


async def check_gone(client: Client, link: Link) -> None:
    """Raise :class:`NotGone` unless this cluster, asked anew, holds nothing of ``link``."""
    services = await client.list(SERVICES, OURS)
    slices = await client.list(ENDPOINT_SLICES, OURS)
    found: tuple[Service | EndpointSlice, ...] = (*services.objects, *slices.objects)
    for one in found:
        if owner(one.metadata) == link.uid:
            kind = type(one).__name__
            raise NotGone(f"link {link.cluster}: {kind} {one.metadata.key} is there still")
    await _check_whole(client, SERVICES)
    await _check_whole(client, ENDPOINT_SLICES)


async def _check_whole(client: Client, kind: Resource[T]) -> None:
    """Every cluster has at least the Service of its own API, and its endpoints."""
    async for page in client.pages(kind, EVERYTHING, limit=1):
        if page.objects or page.bad:
            return
    raise NotGone(f"this cluster lists no {kind.plural} at all, not even its own API's")
