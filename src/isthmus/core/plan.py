"""The decision: what to change so that one local name is what the links want it to be.

A key is a local name. Nothing is ever written to, or deleted from, a name that is another's.
"""

from collections.abc import Iterator
from operator import attrgetter

from isthmus.core import contest, listeners, mirror, slices
from isthmus.core.world import Claim, World
from isthmus.model import names
from isthmus.model.actions import Action, Create, Delete, Report, Update
from isthmus.model.objects import EndpointSlice, Key, Metadata, Namespace


def plan(world: World, key: Key) -> list[Action]:
    """Say what to do about ``key`` now. What cannot be known yet is left to a later round."""
    observed = world.services.get(key)
    if observed is not None and observed.metadata.deletion_timestamp is not None:
        return []  # somebody's finalizer keeps it; the watch brings the key back
    reports: list[Action] = []
    winner: Claim | None = None
    for claim in contest.in_order(world, key):
        refused = contest.refusal(world, key, claim)
        if refused is None and winner is not None:
            refused = "NameTaken", f"{key} is the mirror of another export"
        if refused is None:
            winner = claim
        else:
            reports.append(Report(claim.link_uid, claim.export, *refused))
    if winner is None:
        return [*reports, *_removal(world, key)]
    return [*reports, *_upkeep(world, key, winner)]


def _upkeep(world: World, key: Key, claim: Claim) -> Iterator[Action]:
    """Make ``key`` the mirror that ``claim`` wants."""
    view = world.links[claim.link_uid]
    if key.namespace not in world.namespaces:
        labels = {names.CREATED_NAMESPACE: view.link.cluster}
        yield Create(Namespace(metadata=Metadata(name=key.namespace, labels=labels)))
    observed = world.services.get(key)
    wanted = mirror.desired(key, claim, view, observed)
    try:
        wanted_slices = slices.desired(key, claim, world, wanted)
    except listeners.Exhausted as error:
        yield Report(claim.link_uid, claim.export, "NoListenerPort", str(error))
        return
    if observed is not None and mirror.changed_shape(observed, wanted):
        # In one go: a name that is gone, even for a moment, is one that callers' resolvers miss.
        yield Delete(observed)
        observed = None
    if observed is None:
        yield Create(wanted)
    elif (repaired := mirror.repaired(observed, wanted)) is not None:
        yield Update(repaired)
    yield from _slice_changes(world, key, claim, wanted_slices)


def _slice_changes(
    world: World, key: Key, claim: Claim, wanted: list[EndpointSlice]
) -> Iterator[Action]:
    ours = {one.metadata.name: one for one in slices.own(world, key)}
    others = {one.metadata.name for one in world.slices.get(key, ())} - ours.keys()
    for one in wanted:
        found = ours.pop(one.metadata.name, None)
        if one.metadata.name in others:
            message = f"EndpointSlice {one.metadata.key} exists and is not ours"
            yield Report(claim.link_uid, claim.export, "NameTaken", message)
        elif found is None:
            yield Create(one)
        elif found.address_type != one.address_type:
            yield Delete(found)
        elif (repaired := slices.repaired(found, one)) is not None:
            yield Update(repaired)
    yield from map(Delete, sorted(ours.values(), key=attrgetter("metadata.name")))


def _removal(world: World, key: Key) -> Iterator[Action]:
    """Remove what is under ``key`` if it is ours and its link is sure that it should go.

    Slices go if the Service is another's, whatever its link is sure of: they would send its callers
    to us. They go first, so that no Service is left whose endpoints lead nowhere.
    """
    namespace = world.namespaces.get(key.namespace)
    if namespace is None or namespace.metadata.deletion_timestamp is not None:
        # It takes everything with it. One that is missing while something is in it is a list's
        # mistake, and by that nothing is taken down.
        return
    observed = world.services.get(key)
    is_anothers = observed is not None and not mirror.owner(observed.metadata)
    for one in slices.own(world, key):
        if is_anothers or contest.may_delete(world, one):
            yield Delete(one)
    if observed is not None and contest.may_delete(world, observed):
        yield Delete(observed)
