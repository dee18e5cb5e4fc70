"""The decision: what to change so that one local name is what the links want it to be.

A key is a local name. All who claim it are in view at once, so that a clash is decided here
and the same way every time; nothing is ever written to, or deleted from, a name that is
another's.
"""

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter

from isthmus.core import listeners, mirror, slices
from isthmus.core.world import Claim, World
from isthmus.model import names
from isthmus.model.actions import Action, Create, Delete, Report, Update
from isthmus.model.objects import EndpointSlice, Key, Metadata, Namespace, Service

PROTECTED = frozenset({"kube-system", "kube-public", "kube-node-lease"})


def plan(world: World, key: Key) -> list[Action]:
    """Say what to do about ``key`` now. What cannot be known yet is left to a later round."""
    observed = world.services.get(key)
    if observed is not None and observed.metadata.deletion_timestamp is not None:
        return []  # somebody's finalizer keeps it; the watch brings the key back
    reports: list[Action] = []
    winner: Claim | None = None
    for claim in _in_order(world, key):
        refused = _refusal(world, key, claim, winner)
        if refused is None:
            winner = claim
        else:
            reports.append(Report(claim.link_uid, claim.export, *refused))
    if winner is None:
        return [*reports, *_removal(world, key)]
    return [*reports, *_upkeep(world, key, winner)]


def _in_order(world: World, key: Key) -> list[Claim]:
    """Return the claimants: the one that has the name already, then the oldest link's."""
    observed = world.services.get(key)

    def rank(claim: Claim) -> tuple[bool, str, str, Key, str]:
        link = world.links[claim.link_uid].link
        holds = observed is not None and mirror.stands_for(observed.metadata, claim, link)
        created = link.metadata.creation_timestamp or ""
        return (not holds, created, claim.link_uid, claim.export, claim.hostname)

    return sorted(world.claims.get(key, ()), key=rank)


def _refusal(world: World, key: Key, claim: Claim, winner: Claim | None) -> tuple[str, str] | None:
    """Tell why ``claim`` cannot have the name ``key``: a reason and a sentence."""
    link = world.links[claim.link_uid].link
    protected = key.namespace in PROTECTED or key.namespace == world.own_namespace
    if protected and key.namespace not in link.spec.allowed_namespaces:
        return "NamespaceProtected", f"mirrors are not made in namespace {key.namespace}"
    if not names.is_service_name(key.name):
        return "InvalidName", f"{key.name!r} cannot be the name of a Service"
    observed = world.services.get(key)
    if winner is not None:
        return "NameTaken", f"{key} is the mirror of another export"
    if observed is not None and not _is_available(world, observed, claim):
        return "NameTaken", f"{key} exists and is not a mirror of ours"
    return _namespace_refusal(world.namespaces.get(key.namespace), key, claim, world)


def _is_available(world: World, observed: Service, claim: Claim) -> bool:
    """Tell whether a Service may become the mirror that ``claim`` wants.

    One that another link has made may be taken over only when that link could delete it: until
    its target has been read, nobody knows whether it still wants the name.
    """
    owner = mirror.owner(observed.metadata)
    return owner == claim.link_uid or (owner in world.links and _may_delete(world, observed))


def _namespace_refusal(
    namespace: Namespace | None, key: Key, claim: Claim, world: World
) -> tuple[str, str] | None:
    if namespace is None:
        if world.links[claim.link_uid].link.spec.create_namespaces:
            return None
        return "NamespaceMissing", f"namespace {key.namespace} does not exist here"
    if namespace.metadata.deletion_timestamp is not None:
        return "NamespaceTerminating", f"namespace {key.namespace} is being deleted"
    return None


def _upkeep(world: World, key: Key, claim: Claim) -> Iterator[Action]:
    """Make ``key`` the mirror that ``claim`` wants."""
    view = world.links[claim.link_uid]
    if key.namespace not in world.namespaces:
        yield Create(
            Namespace(
                metadata=Metadata(
                    name=key.namespace, labels={names.CREATED_NAMESPACE: view.link.cluster}
                )
            )
        )
    observed = world.services.get(key)
    wanted = mirror.desired(key, claim, view, observed)
    ours = {one.metadata.name: one for one in _own_slices(world, key)}
    try:
        wanted_slices = slices.desired(key, claim, world, wanted)
    except listeners.Exhausted as error:
        yield Report(claim.link_uid, claim.export, "NoListenerPort", str(error))
        return
    if observed is not None and mirror.changed_shape(observed, wanted):
        # In one go: a name that is gone, even for a moment, is one that callers' resolvers miss.
        yield from _deletion(world, key, observed)
        observed, ours = None, {}
    if observed is None:
        yield Create(wanted)
    elif (repaired := mirror.repaired(observed, wanted)) is not None:
        yield Update(repaired)
    yield from _slice_changes(ours, wanted_slices)


def _slice_changes(
    ours: Mapping[str, EndpointSlice], wanted: Iterable[EndpointSlice]
) -> Iterator[Action]:
    left = dict(ours)
    for one in wanted:
        found = left.pop(one.metadata.name, None)
        if found is None:
            yield Create(one)
        elif found.address_type != one.address_type:
            yield Delete(found)
        elif (repaired := slices.repaired(found, one)) is not None:
            yield Update(repaired)
    yield from map(Delete, sorted(left.values(), key=attrgetter("metadata.name")))


def _removal(world: World, key: Key) -> Iterator[Action]:
    """Remove what is under ``key`` if it is ours and its link is sure that it should go."""
    observed = world.services.get(key)
    if observed is None:
        yield from (Delete(one) for one in _own_slices(world, key) if _may_delete(world, one))
    elif _may_delete(world, observed):
        yield from _deletion(world, key, observed)


def _may_delete(world: World, found: Service | EndpointSlice) -> bool:
    """Absence is not a delete: the owner must be known, complete, and not held by the guard."""
    view = world.links.get(mirror.owner(found.metadata))
    return view is not None and view.synced and not view.deletions_held


def _deletion(world: World, key: Key, observed: Service) -> Iterator[Action]:
    """Take the slices first, so that a Service without endpoints never gets traffic."""
    yield from map(Delete, _own_slices(world, key))
    yield Delete(observed)


def _own_slices(world: World, key: Key) -> list[EndpointSlice]:
    return [
        one
        for one in world.slices.get(key, ())
        if one.metadata.labels.get(names.MANAGED_BY) == names.MANAGER
        and mirror.owner(one.metadata) in world.links
    ]
