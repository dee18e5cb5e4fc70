"""What a Link would change in its source, said by the code that would change it.

The controller's own state is fed with what two clusters show, and its planner is asked about every
name that comes up. Nothing is written, and nothing is decided here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from msgspec.structs import replace

from isthmus.apps.controller.mirroring.expected import Expected
from isthmus.apps.controller.mirroring.facts import refusals
from isthmus.apps.controller.mirroring.remote import Catalogued, Listing, Remote
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Target
from isthmus.core.grant import Permit
from isthmus.core.link import claimed
from isthmus.core.mirror import owner
from isthmus.core.offer import Offer, offer
from isthmus.core.plan import plan
from isthmus.model.actions import Create, Delete, Report, Update
from isthmus.model.links import Link, RefusedExport
from isthmus.model.names import FINALIZER, HEADLESS_MIRROR, REMOTE_NAME
from isthmus.model.objects import EndpointSlice, Key, Namespace, Service, service_of
from isthmus.runtime.cache import Listed
from isthmus.runtime.clock import SystemClock

PLANNED = "not-known-yet"  # stands for the UID of a Link that is not there


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """The source: all of it that planning looks at."""

    own_namespace: str
    namespaces: tuple[Namespace, ...]
    services: tuple[Service, ...]
    slices: tuple[EndpointSlice, ...]  # of mirrors
    egress: tuple[EndpointSlice, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class There:
    """The target: what may be exported, and by which Grants; None if the Link needs none."""

    uid: str
    domain: str  # empty if it does not show it
    services: tuple[Service, ...]
    slices: tuple[EndpointSlice, ...]
    permits: tuple[Permit, ...] | None


@dataclass(frozen=True, slots=True)
class Write:
    """Something that would be done; ``before`` is what it is done to, None if that is new."""

    action: Create | Update | Delete
    before: Service | EndpointSlice | None
    is_provisional: bool  # its name ends in something else when the Link is there


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would be done, what would be refused, and how many mirrors are as they should be."""

    link: Link
    writes: Sequence[Write]
    refused: Sequence[RefusedExport]
    settled: int


def forecast(here: Here, there: There, link: Link, export: Key | None = None) -> Forecast:
    """Say what ``link`` makes of the source once its controller has read the target; only of
    what concerns ``export``, if one is named."""
    link = armed(link, here, there)
    names: set[Key] = set()
    state = _state(here, link, names)
    target = state.targets[link.uid]
    if link.spec.via == "gateway":
        state.place(link.uid, there.domain or _recorded_domain(here, link))
    if all(map(_is_address, link.spec.gateway.addresses)):
        state.resolved(link.uid, link.spec.gateway.addresses, ())
    offers = [] if there.permits is None else list(_offers(there))
    state.adopt(link.uid, _remote(there, offers))
    if target.held:
        state.confirm(link.uid, target.held)  # by the second look before a mass deletion
    planned = dict(_planned(state, sorted(names)))
    refused = [*refusals(state, target), *_ungranted(there, link, offers)]
    mirrors = state.owned[link.uid]
    if export is not None:
        meant = _names_of(state, link, export)
        planned = {name: planned[name] for name in planned if name in meant}
        refused = [one for one in refused if (one.namespace, one.name) == export]
        mirrors = mirrors & meant
    return Forecast(
        link=target.link,
        writes=list(_writes(state, planned, _provisional(target))),
        refused=sorted(refused, key=lambda one: (one.namespace, one.name)),
        settled=sum(name not in planned for name in mirrors),
    )


def armed(link: Link, here: Here, there: There) -> Link:
    """Return ``link`` as it is when it makes mirrors; one of its name that is there goes on."""
    before = next((one for one in here.links if one.cluster == link.cluster), None)
    metadata = replace(link.metadata, uid=PLANNED) if before is None else before.metadata
    status = link.status if before is None else before.status
    others = (one for one in metadata.finalizers if one != FINALIZER)
    return replace(
        link,
        metadata=replace(metadata, finalizers=(*others, FINALIZER)),
        status=replace(status, cluster_uid=status.cluster_uid or there.uid),
    )


def _state(here: Here, link: Link, names: set[Key]) -> State:
    def queue(name: Key, _lane: object) -> None:
        names.add(name)

    expected = Expected(SystemClock(), queue)  # writes, of which there are none
    state = State(here.own_namespace, queue, lambda _: None, expected, allow_loopback=True)
    state.fold_namespaces(Listed(here.namespaces))
    state.fold_services(Listed(here.services))
    state.fold_slices(Listed(here.slices))
    state.fold_egress(Listed(here.egress))
    others = (one for one in here.links if one.cluster != link.cluster)
    state.fold_links(Listed((*others, link)))
    return state


def _recorded_domain(here: Here, link: Link) -> str:
    """Return the target's domain as mirrors have it, since its catalogue is not heard here."""
    for one in here.services:
        metadata = one.metadata
        if owner(metadata) == link.uid:
            name = metadata.annotations.get(REMOTE_NAME, "")
            return name.partition(f".{metadata.namespace}.svc.")[2] or link.spec.cluster_domain
    return link.spec.cluster_domain


def _offers(there: There) -> Iterator[Offer]:
    """Yield what the target's catalogue would have, Grants apart."""
    slices: dict[Key, list[EndpointSlice]] = {}
    for one in there.slices:
        for key in service_of(one):
            slices.setdefault(key, []).append(one)
    for service in there.services:
        found = offer(service, slices.get(service.metadata.key, ()))
        if found is not None:
            yield found


def _remote(there: There, offers: Iterable[Offer]) -> Remote:
    if there.permits is None:
        listing = Listing()
        listing.fold_services(Listed(there.services))
        listing.fold_slices(Listed(there.slices))
        return listing
    catalogued = Catalogued()
    catalogued.fold(Listed(tuple(one for one in offers if _is_granted(one, there.permits))))
    return catalogued


def _is_granted(one: Offer, permits: Iterable[Permit]) -> bool:
    return any(each.covers(one.said.key, one.labels) for each in permits)


def _ungranted(there: There, link: Link, offers: Iterable[Offer]) -> Iterator[RefusedExport]:
    for one in offers:
        wanted = link.spec.selector.selects(one.labels)
        if wanted and there.permits is not None and not _is_granted(one, there.permits):
            yield RefusedExport(
                namespace=one.said.namespace,
                name=one.said.name,
                reason="NotGranted",
                message="no Grant of the target lets this cluster see it",
            )


def _planned(
    state: State, names: Iterable[Key]
) -> Iterator[tuple[Key, list[Create | Update | Delete]]]:
    """Yield what there is to do, by name, as a controller would plan one after another."""
    for name in names:
        actions = plan(state.world(), name)
        writes = [one for one in actions if not isinstance(one, Report)]
        state.report(name, [one for one in actions if isinstance(one, Report)])
        chosen = (one.object for one in writes if not isinstance(one, Delete))
        slices = [one for one in chosen if isinstance(one, EndpointSlice)]
        state.listeners.reserve(name, slices)
        if writes:
            yield name, writes


def _names_of(state: State, link: Link, export: Key) -> set[Key]:
    """Return the names that ``export`` claims, and those of its pods that it claimed before."""
    claims = state.claims.by_name.items()
    own = {
        name: one.hostname
        for name, wanted in claims
        for one in wanted
        if (one.link_uid, one.export) == (link.uid, export)
    }
    parents = {name for name, hostname in own.items() if not hostname}
    return own.keys() | {
        name
        for name in state.owned[link.uid]
        if Key(name.namespace, _parent(state.services.objects[name])) in parents
    }


def _parent(service: Service) -> str:
    return service.metadata.labels.get(HEADLESS_MIRROR, "")


def _provisional(target: Target) -> frozenset[Key]:
    """Return the names that a Link that is not there yet will have made otherwise: a long one is
    cut, and ends in a hash that the Link's UID is part of."""
    link, exports = target.link, target.admitted.exports
    if link.uid != PLANNED:
        return frozenset()
    other = replace(link, metadata=replace(link.metadata, uid=f"{PLANNED}-either"))
    return frozenset(claimed(exports, link).keys() - claimed(exports, other).keys())


def _writes(
    state: State,
    planned: dict[Key, list[Create | Update | Delete]],
    provisional: frozenset[Key],
) -> Iterator[Write]:
    namespaces: set[str] = set()
    for name, actions in planned.items():
        for action in actions:
            value = action.object
            before: Service | EndpointSlice | None = None
            match value:
                case Namespace():
                    if value.metadata.name in namespaces:
                        continue  # every name in it would make it, if it came first
                    namespaces.add(value.metadata.name)
                case Service():
                    before = state.services.objects.get(value.metadata.key)
                case EndpointSlice():
                    before = state.slices.objects.get(value.metadata.key)
            known = None if isinstance(action, Create) else before
            yield Write(action, known, name in provisional)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
