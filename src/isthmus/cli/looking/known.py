"""Whether what somebody asks for is there: a table that is empty would look like an answer."""

from collections.abc import Collection

from isthmus.cli.looking import listed, probed
from isthmus.cli.looking.golden import Line
from isthmus.kube.client import Client
from isthmus.kube.requests import Selection
from isthmus.kube.resources import LINKS, SERVICES
from isthmus.model.errors import Permanent
from isthmus.model.names import EXPORTED, MIRRORED
from isthmus.model.objects import Key

MOST = 10  # names that an error lists
SHARED = (Selection(labels=EXPORTED), Selection(labels=f"{MIRRORED}=true"))


class NotShared(Permanent):
    """A Service was asked for that is neither exported nor imported. Names some that are."""


async def require(client: Client, only: Line, counted: Collection[Line]) -> None:
    """Raise unless the cluster has what is asked for. The proxies have ``counted`` for some; the
    others may be there all the same, and have carried nothing yet."""
    if only.link and only.link not in {one.link for one in counted}:
        probed.chosen(await listed.every(client, LINKS), (only.link,))
    if only.service and not _is_among(only, {Key(one.namespace, one.service) for one in counted}):
        found = [await listed.every(client, SERVICES, one) for one in SHARED]
        keys = {one.metadata.key for services in found for one in services}
        if not _is_among(only, keys):
            raise unknown(only, keys)


def _is_among(only: Line, keys: Collection[Key]) -> bool:
    return any(only.service == key.name and only.namespace in ("", key.namespace) for key in keys)


def unknown(only: Line, keys: Collection[Key]) -> NotShared:
    """Return what to say of a Service that is not there, beside those that are."""
    wanted = Key(only.namespace, only.service)
    names = ", ".join(map(str, sorted(keys)[:MOST])) or "none"
    more = f" and {len(keys) - MOST} more, see `isthmus services -A`" if len(keys) > MOST else ""
    return NotShared(f"no Service {wanted} is exported or imported here; known are: {names}{more}")
