"""What ``isthmus uninstall`` removes, what it leaves alone, and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.cli.installation import holders
from isthmus.install.parts import is_ours
from isthmus.kube.plain import KINDS
from isthmus.model.errors import Permanent
from isthmus.model.names import CONTROLLER, TRUST_ROTATION, TRUST_SEEN
from isthmus.model.wire import JsonObject

DEFINITION, NAMESPACE = "CustomResourceDefinition", "Namespace"
LAST = {DEFINITION: 1, NAMESPACE: 2}  # what goes after everything else
SHARED = {kind for kind, one in KINDS.items() if not one.namespaced} - {NAMESPACE}
MOST_NAMED = 5
# What controllers, and whoever replaces anchors, make by these names and without a label.
MADE = frozenset(
    {
        ("ConfigMap", TRUST_SEEN),
        ("ConfigMap", TRUST_ROTATION),
        ("Lease", CONTROLLER),
        ("Lease", TRUST_ROTATION),
    }
)
# What Kubernetes itself puts into every namespace, and what comes and goes with other objects.
FURNITURE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
FOLLOWERS = frozenset({"Event", "Endpoints", "EndpointSlice", "PodMetrics"})


class LinksExist(Permanent):
    """Links are left, whose mirrors only a controller removes. Names them, and the way out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a cluster has of us: ``objects`` in the order in which they were installed, and what
    ``others`` have in our namespace."""

    namespace: str = "isthmus"
    homes: tuple[str, ...] = ()  # the namespaces in which controllers are installed
    links: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    objects: tuple[JsonObject, ...] = ()
    others: tuple[JsonObject, ...] | None = ()  # None: we may not see all of it


@dataclass(frozen=True, slots=True)
class Farewell:
    """What goes, in that order, and a sentence for each thing that stays."""

    goes: tuple[JsonObject, ...]
    stays: tuple[str, ...]


def decide(seen: Seen, *, force: bool) -> Farewell:
    """Say what goes: what runs first, what it needs later, the kinds and the namespace last."""
    if seen.links and not force and not _elsewhere(seen):
        raise LinksExist(
            f"Links exist: {_listed(seen.links)}. Without a controller nobody would remove their "
            "mirrors: end each by `isthmus unlink`; or --force, which leaves Links and mirrors"
        )
    reasons = [(one, _reason(one, seen)) for one in reversed(seen.objects)]
    goes = sorted((one for one, reason in reasons if not reason), key=_rank)
    stays = (f"{_named(one)} stays: {reason}" for one, reason in reasons if reason)
    return Farewell(tuple(goes), tuple(stays))


def _rank(obj: JsonObject) -> int:
    return LAST.get(obj["kind"], 0)


def is_foreign(obj: JsonObject) -> bool:
    """Tell whether something in our namespace is somebody else's."""
    name = obj["kind"], obj["metadata"]["name"]
    return not (is_ours(obj) or name in MADE or name in FURNITURE or obj["kind"] in FOLLOWERS)


def _reason(obj: JsonObject, seen: Seen) -> str:
    """Say why an object stays; nothing if it goes."""
    name = obj["kind"], obj["metadata"]["name"]
    if not is_ours(obj) and name not in MADE:
        return "it does not carry the label of an installation"
    if others := _elsewhere(seen) if obj["kind"] in SHARED else ():
        return f"it belongs to Isthmus in {_listed(others)}"
    if obj["kind"] == DEFINITION and (seen.links or seen.grants):
        users = _listed(
            [f"link {one}" for one in seen.links] + [f"grant {one}" for one in seen.grants]
        )
        return f"with it would go {users}"
    if obj["kind"] != NAMESPACE:
        return ""
    if seen.others is None:
        return "with it would go everything in it, and you may not see all of that"
    foreign = [_named(one) for one in seen.others if is_foreign(one)]
    return f"with it would go {_listed(foreign)}" if foreign else ""


def _elsewhere(seen: Seen) -> set[str]:
    """Return the other namespaces that have an installation, which what is shared belongs to."""
    bound = [holders(one) for one in seen.objects if one["kind"] == "ClusterRoleBinding"]
    return {*seen.homes, *(name for names in bound for name in names)} - {seen.namespace}


def _named(obj: JsonObject) -> str:
    return f"{obj['kind'].lower()}/{obj['metadata']['name']}"


def _listed(found: Iterable[str]) -> str:
    names: Sequence[str] = sorted(found)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
