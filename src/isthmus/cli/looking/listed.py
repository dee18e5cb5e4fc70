"""Lists objects of a cluster; of our own kinds only if it knows them."""

from typing import TypeVar

from isthmus.cli.installation import NotInstalled
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import EVERYTHING, Selection
from isthmus.kube.resources import Resource

T = TypeVar("T")


async def every(
    client: Client, resource: Resource[T], selection: Selection = EVERYTHING
) -> tuple[T, ...]:
    """Return all objects of a kind; raise :class:`NotInstalled` if there is no such kind."""
    try:
        return (await client.list(resource, selection)).objects
    except NotFound as error:
        raise NotInstalled(
            f"this cluster knows no {resource.kind}s: Isthmus is not installed in it, or not "
            "completely; see `isthmus install`"
        ) from error
