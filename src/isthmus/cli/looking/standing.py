"""How exports and mirrors stand: what the core says of each, and where its Link or a Grant leads.

Pure. Whether something is exported, and why not, is decided by the same functions as in the
controller; why something is not mirrored is what the controller has written into the Link.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from isthmus.core import grant as grants
from isthmus.core.mirror import owner
from isthmus.core.offer import offer
from isthmus.model.exports import Refused
from isthmus.model.grants import From, Grant
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.links import Link
from isthmus.model.names import CLUSTER, REMOTE_NAME
from isthmus.model.objects import EndpointSlice, Key, Service

Slices = Mapping[Key, Sequence[EndpointSlice]]  # by the Service that they belong to


@dataclass(frozen=True, slots=True)
class Endpoints:
    """How many places there are to call, and how many of them are ready."""

    ready: int
    all: int

    def __str__(self) -> str:
        return f"{self.ready}/{self.all}"


@dataclass(frozen=True, slots=True)
class Granted:
    """A cluster that may see an export, and which of its workloads may call it; None: all."""

    cluster: str
    callers: tuple[str, ...] | None = None

    def __str__(self) -> str:
        if self.callers is None:
            return self.cluster
        return f"{self.cluster}({','.join(self.callers) or 'nobody'})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A Service that is marked for export."""

    key: Key
    state: str  # offered, refused
    endpoints: Endpoints
    granted: tuple[Granted, ...]
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored:
    """A mirror, or an export of the target that has none: then ``key`` has no name."""

    link: str
    key: Key
    remote: str
    state: str  # ready, unready, orphaned, refused
    endpoints: Endpoints | None
    reason: str = ""
    message: str = ""


def exports(
    services: Iterable[Service], slices: Slices, given: Iterable[Grant]
) -> tuple[Exported, ...]:
    """Return everything that is marked for export, in order."""
    permits = [(one, grants.permit(one, MESH_DOMAIN)) for one in given]
    found: list[Exported] = []
    for service in sorted(services, key=lambda one: one.metadata.key):
        key = service.metadata.key
        own = slices.get(key, ())
        offered = offer(service, own)
        if offered is None:
            continue
        refused = offered.said if isinstance(offered.said, Refused) else None
        found.append(
            Exported(
                key=key,
                state="refused" if refused else "offered",
                endpoints=_endpoints(own),
                granted=tuple(
                    _granted(one)
                    for one, permit in permits
                    if permit is not None and permit.covers(key, offered.labels)
                ),
                reason=refused.reason if refused else "",
                message=refused.message if refused else "",
            )
        )
    return tuple(found)


def mirrors(
    services: Iterable[Service], slices: Slices, links: Iterable[Link]
) -> tuple[Mirrored, ...]:
    """Return all mirrors, and all exports of targets that have none, in order."""
    by_uid = {one.uid: one for one in links}
    made = (_mirrored(one, slices, by_uid.get(owner(one.metadata))) for one in services)
    refused = (one for link in by_uid.values() for one in _refused(link))
    return tuple(sorted((*made, *refused), key=lambda one: (one.link, one.key, one.remote)))


def unnamed(links: Iterable[Link]) -> Iterator[tuple[str, int]]:
    """Yield the Links that refuse more than they name, with how many more."""
    for link in links:
        more = (link.status.refused_count or 0) - len(link.status.refused)
        if more > 0:
            yield link.cluster, more


def _mirrored(mirror: Service, slices: Slices, link: Link | None) -> Mirrored:
    metadata = mirror.metadata
    found = _endpoints(slices.get(metadata.key, ()))
    trouble = "", ""
    if link is None:
        state, trouble = "orphaned", ("LinkGone", "the Link that it was made for is gone")
    elif found.ready:
        state = "ready"
    else:
        state, trouble = "unready", _trouble(link, metadata.name)
    return Mirrored(
        link=metadata.labels.get(CLUSTER, ""),
        key=metadata.key,
        remote=metadata.annotations.get(REMOTE_NAME, ""),
        state=state,
        endpoints=found,
        reason=trouble[0],
        message=trouble[1],
    )


def _refused(link: Link) -> Iterator[Mirrored]:
    for one in link.status.refused:
        yield Mirrored(
            link=link.cluster,
            key=Key(one.namespace, ""),
            remote=f"{one.name}.{one.namespace}",
            state="refused",
            endpoints=None,
            reason=one.reason,
            message=one.message,
        )


def _trouble(link: Link, mirror: str) -> tuple[str, str]:
    """Return why a Link is not ready, which its mirrors share; if it is, somebody has to look."""
    for one in link.status.conditions:
        if one.type == "Ready" and one.status != "True":
            return one.reason, one.message
    return "", f"`isthmus why {mirror}` finds out why"


def _granted(grant: Grant) -> Granted:
    said = grant.spec.from_
    if said == From():
        return Granted(grant.spec.cluster)
    namespaces = (f"{one}/*" for one in said.namespaces or ())
    return Granted(grant.spec.cluster, (*namespaces, *(said.service_accounts or ())))


def _endpoints(slices: Iterable[EndpointSlice]) -> Endpoints:
    known = [endpoint.conditions.ready is not False for one in slices for endpoint in one.endpoints]
    return Endpoints(sum(known), len(known))
