"""What must stand in a source, said once more: from the words of the contract, not from the plan.

Values of its own, no code of ours. A name has one owner; whoever has it keeps it; among others the
oldest link comes first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

EGRESS = ("10.1.0.7", "10.1.0.8")
COPIED = frozenset({"team"})  # labels that mean something elsewhere; what exports does not


class Name(NamedTuple):
    namespace: str
    name: str


class Pod(NamedTuple):
    """An address of a headless Service; without a hostname if it has none."""

    hostname: str
    ready: bool = True


@dataclass(frozen=True, slots=True)
class Export:
    """A Service of a target."""

    ports: tuple[int, ...]
    labels: frozenset[str]
    headless: bool = False
    pods: tuple[Pod, ...] = ()

    @property
    def hostnames(self) -> tuple[str, ...]:
        return tuple(sorted(one.hostname for one in self.pods if one.hostname))

    @property
    def ready(self) -> bool:
        return any(one.ready for one in self.pods)


@dataclass(frozen=True, slots=True)
class Link:
    """What a user wants imported; ``age`` orders links, and tells a new one of the same name."""

    cluster: str
    age: tuple[str, str]
    selector: str
    headless: bool
    naming: str
    known: Mapping[Name, Export] = field(default_factory=dict)

    def called(self, service: str) -> str:
        return self.naming.replace("{service}", service)


class Owner(NamedTuple):
    """What a mirror stands for: an export of a link, or one of its pods."""

    age: tuple[str, str]
    cluster: str
    export: Name
    hostname: str = ""


class Reached(NamedTuple):
    """An endpoint of a mirror: an address, or the name of the mirror that has it."""

    hostname: str
    address: str
    ready: bool


@dataclass(frozen=True, slots=True)
class Mirror:
    owner: Owner
    ports: tuple[int, ...]
    labels: frozenset[str]
    headless: bool
    reached: frozenset[Reached]
    is_alone: bool = True  # it has slices, and no selector that would lead to local pods


Mirrors = Mapping[Name, Mirror]
Refusals = frozenset[tuple[str, Name, str]]  # link, export, reason


@dataclass(frozen=True, slots=True)
class Source:
    """What users have made of the source."""

    namespaces: frozenset[str]
    taken: frozenset[Name]  # by Services that are not ours
    links: tuple[Link, ...]


def expected(source: Source, before: Mirrors) -> tuple[Mirrors, Refusals]:
    """Return the mirrors that must stand, and why others cannot; ``before`` says who had names."""
    claims: dict[Name, list[Owner]] = {}
    links = {link.cluster: link for link in source.links}
    for link in source.links:
        for owner, name in _claims(link):
            claims.setdefault(name, []).append(owner)
    refused: set[tuple[str, Name, str]] = set()
    owners: dict[Name, Owner] = {}
    for name, rivals in claims.items():
        held = before[name].owner if name in before else None
        rivals.sort(key=lambda one: (one != held, one))
        why = _obstacle(source, name)
        if why is None:
            owners[name] = rivals.pop(0)
            why = "NameTaken"
        refused |= {(one.cluster, one.export, why) for one in rivals}
    mirrors = {name: _mirror(name, owner, links, before) for name, owner in owners.items()}
    return {name: _pointed(one, links, owners) for name, one in mirrors.items()}, frozenset(refused)


def _claims(link: Link) -> Iterator[tuple[Owner, Name]]:
    for key, export in link.known.items():
        if link.selector not in export.labels:
            continue
        yield Owner(link.age, link.cluster, key), Name(key.namespace, link.called(key.name))
        if link.headless and export.headless:
            for hostname in export.hostnames:
                name = Name(key.namespace, f"{hostname}-{link.cluster}")
                yield Owner(link.age, link.cluster, key, hostname), name


def _obstacle(source: Source, name: Name) -> str | None:
    if name in source.taken:
        return "NameTaken"
    return None if name.namespace in source.namespaces else "NamespaceMissing"


def _mirror(name: Name, owner: Owner, links: Mapping[str, Link], before: Mirrors) -> Mirror:
    link = links[owner.cluster]
    export = link.known[owner.export]
    headless = False
    if link.headless and export.headless and not owner.hostname:
        # Scaled to nothing, it stays what it was: its names come back with its pods.
        stays = not export.pods and name in before and before[name].headless
        headless = bool(export.hostnames) or stays
    ready = export.ready
    if owner.hostname:
        ready = any(one.ready for one in export.pods if one.hostname == owner.hostname)
    reached = frozenset(Reached("", address, ready) for address in EGRESS)
    labels = frozenset() if owner.hostname else export.labels & COPIED
    return Mirror(owner, export.ports, labels, headless, reached)


def _pointed(mirror: Mirror, links: Mapping[str, Link], owners: Mapping[Name, Owner]) -> Mirror:
    """Let a headless mirror name its pods, each at the mirror of its own, if that could be had."""
    if not mirror.headless:
        return mirror
    link, key = links[mirror.owner.cluster], mirror.owner.export
    pods = {one.hostname: one.ready for one in link.known[key].pods if one.hostname}
    found = set()
    for hostname, ready in pods.items():
        name = Name(key.namespace, f"{hostname}-{link.cluster}")
        if owners.get(name) == mirror.owner._replace(hostname=hostname):
            found.add(Reached(hostname, f"{name.namespace}/{name.name}", ready))
    return replace(mirror, reached=frozenset(found))
