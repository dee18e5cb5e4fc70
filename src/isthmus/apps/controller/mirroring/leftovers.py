"""Asks what is left of a link before it is let go: once it is gone, nobody looks for that again.

What the watches have shown is not enough. A list that lacked everything, for a moment and for no
reason that anybody could see, would let go a link whose mirrors stay behind for ever. So everything
is listed once more, and a list counts only if it has in it what every cluster has: at least the
Service of its own API, and its endpoints.
"""

from collections.abc import Sequence

from isthmus.core.mirror import owner
from isthmus.kube.client import Client
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES
from isthmus.model.errors import Transient
from isthmus.model.links import Link
from isthmus.model.objects import EndpointSlice, Service


class NotGone(Transient):
    """Something of the link is there still, or it cannot be told whether anything is."""


async def check_gone(client: Client, link: Link) -> None:
    """Raise :class:`NotGone` unless this cluster, asked anew, holds nothing of ``link``."""
    _check((await client.list(SERVICES)).objects, "Services", link)
    _check((await client.list(ENDPOINT_SLICES)).objects, "EndpointSlices", link)


def _check(found: Sequence[Service | EndpointSlice], kind: str, link: Link) -> None:
    if not found:
        raise NotGone(f"this cluster lists no {kind} at all, not even its own API's")
    left = [one.metadata.key for one in found if owner(one.metadata) == link.uid]
    if left:
        raise NotGone(f"link {link.cluster}: {len(left)} {kind} are left, such as {left[0]}")
