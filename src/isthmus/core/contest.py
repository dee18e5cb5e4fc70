"""Who gets a local name when several want it, and why the others do not.

All who claim a name are in view at once, so that a clash is decided here and the same way every
time: by whoever has the name, then by age.
"""

from isthmus.core import mirror, slices
from isthmus.core.world import Claim, World
from isthmus.model import syntax
from isthmus.model.objects import EndpointSlice, Key, Service

PROTECTED = frozenset({"kube-system", "kube-public", "kube-node-lease"})
API_SERVER = Key("default", "kubernetes")  # the API server makes it again if it is missing


def in_order(world: World, key: Key) -> list[Claim]:
    """Return the claimants: the one that has the name already, then the oldest link's."""
    observed = world.services.get(key)
    # A mirror that somebody has deleted is still in its slices, and comes back to its owner.
    marked = slices.own(world, key) if observed is None else [observed]

    def rank(claim: Claim) -> tuple[bool, str, str, Key, str]:
        link = world.links[claim.link_uid].link
        holds = any(mirror.stands_for(one.metadata, claim, link) for one in marked)
        created = link.metadata.creation_timestamp or ""
        return (not holds, created, claim.link_uid, claim.export, claim.hostname)

    return sorted(world.claims.get(key, ()), key=rank)


def refusal(world: World, key: Key, claim: Claim) -> tuple[str, str] | None:
    """Tell why ``claim`` cannot have the name ``key``, rivals apart: a reason and a sentence."""
    link = world.links[claim.link_uid].link
    if not syntax.is_service_name(link.cluster):
        return "InvalidLink", f"link {link.cluster}: its name is not one DNS label"
    protected = key.namespace in PROTECTED or key.namespace == world.own_namespace
    if protected and key.namespace not in link.spec.allowed_namespaces:
        return "NamespaceProtected", f"mirrors are not made in namespace {key.namespace}"
    if key == API_SERVER:
        return "NameProtected", f"{key} is this cluster's own API server"
    if not syntax.is_service_name(key.name):
        return "InvalidName", f"{key.name!r} cannot be the name of a Service"
    observed = world.services.get(key)
    if observed is not None and not _is_available(world, observed, claim):
        return "NameTaken", f"{key} exists and is not the mirror of this export"
    return _namespace_refusal(world, key, claim)


def may_delete(world: World, found: Service | EndpointSlice) -> bool:
    """Absence is not a delete: the owner must be known, complete, and not held by the guard."""
    view = world.links.get(mirror.owner(found.metadata))
    return view is not None and view.synced and not view.deletions_held


def _is_available(world: World, observed: Service, claim: Claim) -> bool:
    """Tell whether a Service may become the mirror that ``claim`` wants.

    The mirror of another export may be taken over only when its link could delete it: until the
    target has been read, and the guard agrees, nobody knows whether it still needs the name.
    """
    link = world.links[claim.link_uid].link
    return mirror.stands_for(observed.metadata, claim, link) or may_delete(world, observed)


def _namespace_refusal(world: World, key: Key, claim: Claim) -> tuple[str, str] | None:
    namespace = world.namespaces.get(key.namespace)
    if namespace is None:
        if world.links[claim.link_uid].link.spec.create_namespaces:
            return None
        return "NamespaceMissing", f"namespace {key.namespace} does not exist here"
    if namespace.metadata.deletion_timestamp is not None:
        return "NamespaceTerminating", f"namespace {key.namespace} is being deleted"
    return None
