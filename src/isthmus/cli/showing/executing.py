"""``isthmus demo exec``: from a pod's name and a command to what it has printed."""

from collections.abc import Sequence

from isthmus.cli.where import Where
from isthmus.embedded.api.executing import Output
from isthmus.embedded.machine.ports import permitted
from isthmus.embedded.mesh import callers, inside
from isthmus.embedded.mesh.blocks import domain
from isthmus.model.errors import Misused
from isthmus.model.objects import Key
from isthmus.model.syntax import is_dns_label


class NoPod(Misused):
    """What was typed does not name a pod."""


def place(text: str) -> tuple[str, Key]:
    """Return the cluster and the pod that ``east/curl``, or ``east/default/curl``, names."""
    cluster, *rest = text.split("/")
    if not 1 <= len(rest) <= 2 or not all(map(is_dns_label, (cluster, *rest))):
        raise NoPod(f"{text[:80]!r}: name a pod by its cluster and its name, as in east/curl")
    return cluster, Key(rest[0] if len(rest) == 2 else "default", rest[-1])


async def execute(where: Where, pod: str, words: Sequence[str]) -> Output:
    """Run a command as a pod of a demo that runs in another process."""
    cluster, key = place(pod)
    async with where.at(cluster).connected() as client:
        who = await callers.found(client, key, domain(cluster), permitted())
    return await inside.run(who, words)
