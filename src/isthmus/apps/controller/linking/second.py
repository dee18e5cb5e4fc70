"""The second opinion on a mass loss: a list that shares nothing with the first but the cluster.

The first word came over a watch; this one is a plain, consistent list, read page by page.
"""

from collections.abc import Awaitable, Callable

from isthmus.apps.controller.mirroring.remote import Listing, Remote
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Target
from isthmus.apps.controller.outside import Outside
from isthmus.core.dusk import Held
from isthmus.core.link import passing
from isthmus.kube.client import Client
from isthmus.kube.requests import EVERYTHING, Selection
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES
from isthmus.model.exports import Export
from isthmus.model.links import Link
from isthmus.model.names import SERVICE_NAME
from isthmus.runtime.backoff import Backoff, Retries
from isthmus.runtime.cache import Listed

BACKOFF = Backoff(first=1.0, cap=60.0)
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 2.0  # seconds before the second look at a mass loss


async def look_twice(
    state: State, target: Target, outside: Outside, confirmed: Callable[[Held], Awaitable[bool]]
) -> None:
    """Ask for a second opinion whenever a guard holds a mass loss, for ever."""
    retries = Retries(BACKOFF, outside.random)
    while True:
        await target.doubt.wait()
        await outside.clock.sleep(outside.random.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))
        held = target.held
        if not held:
            retries.reset()
        elif await confirmed(held):
            state.confirm(target.uid, held)
            retries.reset()
        else:
            await outside.clock.sleep(retries.failed())


async def second_look(client: Client, link: Link, held: Held) -> bool:
    """Tell whether the target, asked again, still says what is held for being hard to believe.

    All of its Services are listed, not only what the link selects: every cluster has at least the
    Service of its own API, by which a target that exports nothing is told from a list that lacks
    everything. Asked for separately, it could be told by a server that has recovered meanwhile.
    """
    services = await client.list(SERVICES, EVERYTHING)
    slices = await client.list(ENDPOINT_SLICES, Selection(labels=SERVICE_NAME))
    if services.bad or slices.bad:
        return False  # what cannot be read may be what is missing
    if not services.objects:
        return False
    if held.exports and not slices.objects:
        return False  # every cluster has at least the endpoints of its own API
    remote = Listing()
    remote.fold_services(Listed(services.objects))
    remote.fold_slices(Listed(slices.objects))
    return is_confirmed(held, remote, link)


def is_confirmed(held: Held, remote: Remote, link: Link) -> bool:
    """Tell whether another reading of the target says the same about what is held."""
    digests = (remote.digest(key, link) for key in remote.keys)
    exports = passing((one for one in digests if isinstance(one, Export)), link)
    return held.is_confirmed(exports, link)
