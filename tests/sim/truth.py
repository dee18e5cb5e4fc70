"""What is so, and since when: which names the links want, whatever anybody believes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from isthmus.model.wire import JsonObject
from tests.sim import contract
from tests.sim.contract import Claim, Name
from tests.sim.places import GRANTS, LINKS, NAMESPACES, SERVICES, SLICES, Site


@dataclass(slots=True)
class Known:
    """One link: what it wants now, and for how long each of it."""

    spec: JsonObject
    name: str
    uids: dict[str, set[str]]  # by full name, all that its target ever exported
    another_since: float = -1000.0  # when it came to want mirrors of another kind
    wanted: dict[Name, tuple[Claim, ...]] = field(default_factory=dict)
    since: dict[tuple[Name, str], float] = field(default_factory=dict)
    lit: dict[tuple[Name, str], float] = field(default_factory=dict)


@dataclass(slots=True)
class Truth:
    """Looked at anew whenever a store changes."""

    now: Callable[[], float]
    links: dict[str, Known] = field(default_factory=dict)  # by UID, also those that are gone
    ever: dict[str, dict[str, set[str]]] = field(default_factory=dict)  # by target, see Known
    living: set[str] = field(default_factory=set)  # UIDs of links that are there and not ending
    gateways: Callable[[str], float | None] = lambda _: 0.0  # since when one has been up

    def refresh(self, sites: Mapping[str, Site], where: str = "", resource: str = "") -> None:
        if where == "east" and resource in (SERVICES, SLICES, GRANTS):
            return
        links = sites["east"].objects(LINKS) if "east" in sites else []
        self.living = set()
        for link in links:
            metadata = link["metadata"]
            if "deletionTimestamp" not in metadata:
                self.living.add(metadata["uid"])
            ever = self.ever.setdefault(metadata["name"], {})
            known = self.links.setdefault(
                metadata["uid"], Known(link["spec"], metadata["name"], ever)
            )
            # A Link that is new while its Secret leads elsewhere has that cluster for its target.
            pinned = (link.get("status") or {}).get("clusterUID", "")
            met = [one for one in sites.values() if one.uid == pinned]
            target = next(iter(met), None) if pinned else sites.get(metadata["name"])
            if target is not None:
                self._look(known, link, target)
            elif _kind(known.spec) != _kind(link["spec"]):
                known.since = dict.fromkeys(known.since, self.now())
            if _kind(known.spec) != _kind(link["spec"]):
                known.another_since = self.now()
            known.spec = link["spec"]

    def _look(self, known: Known, link: JsonObject, target: Site) -> None:
        grants = target.objects(GRANTS) if link["spec"]["via"] == "gateway" else None
        services, slices = target.objects(SERVICES), target.objects(SLICES)
        found = contract.wanted(link, services, slices, grants)
        for claims in contract.wanted(link, services, slices, None).values():
            for one in claims:  # what is not granted any more may have been, a moment ago
                known.uids.setdefault(one.stands_for, set()).add(one.uid)
        since: dict[tuple[Name, str], float] = {}
        lit: dict[tuple[Name, str], float] = {}
        before = {
            (name, one.stands_for): (one.shape, len(claims))
            for name, claims in known.wanted.items()
            for one in claims
        }
        same = _kind(known.spec) == _kind(link["spec"])
        for name, claims in found.items():
            for one in claims:
                key = name, one.stands_for
                kept = same and before.get(key) == (one.shape, len(claims))
                since[key] = known.since.get(key, self.now()) if kept else self.now()
                if one.ready and all(ready for _, ready in one.named):
                    lit[key] = known.lit.get(key, self.now())
        known.wanted, known.since, known.lit = found, since, lit

    def wanted_since(self, mirror: JsonObject, name: Name) -> float | None:
        """Since when what the mirror stands for has been wanted like this; None if it is not."""
        uid = contract.annotation(mirror, contract.LINK_UID)
        known = self.links.get(uid)
        if known is None or uid not in self.living:
            return None
        stands_for = contract.annotation(mirror, contract.REMOTE_NAME)
        if mirror["kind"] == "Service" and any(
            one.stands_for == stands_for and not contract.has_right_shape(mirror, one, known.spec)
            for one in known.wanted.get(name, ())
        ):
            return None  # it can only be made anew
        return known.since.get((name, stands_for))

    def lit_since(self, mirror: JsonObject, name: Name) -> float | None:
        """Since when it could be called, and the gateway on the way to it as well."""
        known = self.links[contract.annotation(mirror, contract.LINK_UID)]
        here = known.lit.get((name, contract.annotation(mirror, contract.REMOTE_NAME)))
        way = self.gateways(known.name)
        return None if here is None or way is None else max(here, way)

    def is_envoy(self, one: JsonObject) -> bool:
        """Whether it has to lead to the egress: the link says so, and has for a while."""
        known = self.links.get(contract.annotation(one, contract.LINK_UID))
        if known is None or self.now() - known.another_since < 60:
            return False
        return bool(known.spec.get("dataPlane", "envoy") == "envoy")

    def origin_problem(self, mirror: JsonObject) -> str:
        """What is wrong with whom a mirror says it stands for; nothing, if it is right."""
        known = self.links.get(contract.annotation(mirror, contract.LINK_UID))
        if known is None:
            return "for a link that never was"
        stands_for = contract.annotation(mirror, contract.REMOTE_NAME)
        # A pod's mirror has the UID of its Service. That may be news which has yet to come, and so
        # may be that the Service has become one without named pods before this pod came.
        found = (known.uids.get(one, set()) for one in (stands_for, stands_for.partition(".")[2]))
        uids = set[str]().union(*found)
        if not uids:
            return f"for {stands_for}, which {known.name} never exported"
        if contract.annotation(mirror, contract.REMOTE_UID) not in uids:
            return f"for a {stands_for} of another cluster"
        own = mirror["metadata"]["namespace"], mirror["metadata"]["name"]
        claimed = any(own == name for name, who in known.since if who == stands_for)
        if stands_for in {who for _, who in known.since} and not claimed:
            return f"for {stands_for}, which has another name here"
        return ""


def _kind(spec: JsonObject) -> tuple[bool, str]:
    """What all mirrors of a link have in common."""
    return spec.get("enableHeadlessServices", False), spec.get("dataPlane", "envoy")


def terminating(site: Site) -> set[str]:
    """The namespaces of a cluster in which nothing can be made."""
    return {
        one["metadata"]["name"]
        for one in site.objects(NAMESPACES)
        if "deletionTimestamp" in one["metadata"]
    }
