"""What a Link leaves behind if nobody cleans up after it: decided as its controller would."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from isthmus.core import mirror
from isthmus.core.plan import plan
from isthmus.core.world import LinkView, World
from isthmus.model import names
from isthmus.model.actions import Delete
from isthmus.model.links import Link
from isthmus.model.objects import EndpointSlice, Key, Metadata, Namespace, Service, service_of


@dataclass(frozen=True, slots=True)
class Seen:
    """What a cluster has that may be of a Link.

    ``links`` are all Links, read after everything else: a mirror whose Link is not among them has
    been left behind, and is not one that was made meanwhile.
    """

    services: tuple[Service, ...]
    slices: tuple[EndpointSlice, ...]
    namespaces: tuple[Namespace, ...]
    links: tuple[Link, ...]


def leftovers(seen: Seen, cluster: str, uid: str) -> list[Service | EndpointSlice]:
    """Return what is to be deleted so that nothing is left of the links to ``cluster``.

    That is what carries the label of mirrors and the UID of the Link (``uid``, empty if it is gone)
    or of one to the same cluster that exists no more; nothing else, whatever it is called. The
    planner says so: it is told that such Links are about to end.
    """
    ending = {
        one: LinkView(link=_bare(cluster, one), synced=True) for one in _ended(seen, cluster, uid)
    }
    world = World(
        links=ending,
        namespaces={one.metadata.name: one for one in seen.namespaces},
        services={one.metadata.key: one for one in seen.services if not _is_ending(one.metadata)},
        slices=_by_service(one for one in seen.slices if not _is_ending(one.metadata)),
    )
    keys = {*world.services, *world.slices}
    actions = (action for key in sorted(keys) for action in plan(world, key))
    found = (action.object for action in actions if isinstance(action, Delete))
    return [one for one in found if isinstance(one, Service | EndpointSlice)]


def _ended(seen: Seen, cluster: str, uid: str) -> Iterator[str]:
    if uid:
        yield uid
    alive = {one.uid for one in seen.links}
    marked = [one.metadata for one in seen.services] + [one.metadata for one in seen.slices]
    for metadata in marked:
        owner = mirror.owner(metadata)
        if metadata.labels.get(names.CLUSTER) == cluster and owner not in ("", *alive):
            yield owner


def _is_ending(metadata: Metadata) -> bool:
    """What only somebody's finalizer keeps is as good as gone, and cannot be deleted again."""
    return metadata.deletion_timestamp is not None


def _bare(cluster: str, uid: str) -> Link:
    return Link(metadata=Metadata(name=cluster, uid=uid))


def _by_service(slices: Iterable[EndpointSlice]) -> Mapping[Key, tuple[EndpointSlice, ...]]:
    found: dict[Key, tuple[EndpointSlice, ...]] = {}
    for one in slices:
        for key in service_of(one):
            found[key] = (*found.get(key, ()), one)
    return found
