"""The second opinion on a mass deletion: a list that shares nothing with the first but the cluster.

The first word came over a watch; this one is a plain, consistent list, read page by page.
"""

from isthmus.apps.controller.remote import Remote
from isthmus.core.link import claimed, passing
from isthmus.kube.client import Client
from isthmus.kube.requests import EVERYTHING, Selection
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES
from isthmus.model.exports import Export
from isthmus.model.links import Link
from isthmus.model.names import SERVICE_NAME
from isthmus.model.objects import Key
from isthmus.runtime.cache import Listed


async def second_look(client: Client, link: Link, held: frozenset[Key]) -> bool:
    """Tell whether the target, asked again, still exports nothing that claims a held name."""
    services = await client.list(SERVICES, Selection(labels=link.spec.selector.query))
    slices = await client.list(ENDPOINT_SLICES, Selection(labels=SERVICE_NAME))
    if services.bad or slices.bad:
        return False  # what cannot be read may be what is missing
    if not services.objects and not await _lists_anything(client):
        return False
    remote = Remote()
    remote.fold_services(Listed(services.objects))
    remote.fold_slices(Listed(slices.objects))
    digests = (remote.digest(key, link) for key in remote.services.objects)
    exports = passing((one for one in digests if isinstance(one, Export)), link)
    return held.isdisjoint(claimed(exports, link))


async def _lists_anything(client: Client) -> bool:
    """Tell a target that exports nothing from a server that lists nothing: every cluster has
    at least the Service of its own API."""
    async for page in client.pages(SERVICES, EVERYTHING, limit=1):
        if page.objects:
            return True
    return False
