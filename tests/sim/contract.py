"""What a link promises, said once more and in other words: from raw objects, by no code of ours.

Whatever decides in ``isthmus.core`` is not asked: this is the ruler that it is measured by. Names
of labels are spelled out for the same reason.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from isthmus.model.wire import JsonObject

EXPORTED = "mirror.linkerd.io/exported"
MIRRORED = "mirror.linkerd.io/mirrored-service"
REMOTE_NAME = "mirror.linkerd.io/remote-svc-fq-name"
REMOTE_UID = "isthmus.dev/remote-uid"
LINK_UID = "isthmus.dev/link-uid"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME = "kubernetes.io/service-name"
FORBIDDEN_HERE = frozenset({"kube-system", "kube-public", "kube-node-lease", "isthmus"})

Name = tuple[str, str]  # namespace and name of a Service


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody who wants a local name: a Service of a target, or one pod of it."""

    link: str
    service: Name
    uid: str
    stands_for: str  # the full name there
    ports: tuple[tuple[str, int], ...]
    named: tuple[tuple[str, bool], ...]  # pods by name, with their readiness
    headless: bool  # as far as the target is concerned
    nameless: bool  # whether it has endpoints without a name
    ready: bool
    hostname: str = ""

    @property
    def shape(self) -> tuple[str, str, bool, bool, bool]:
        """What a mirror can only become by being made anew."""
        return self.stands_for, self.uid, self.headless, bool(self.named), self.nameless


Wanted = Mapping[Name, tuple[Claim, ...]]


def name_of(obj: JsonObject) -> Name:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def is_ours(obj: JsonObject) -> bool:
    """Label and annotation say so, the name never does."""
    metadata = obj["metadata"]
    marked = (metadata.get("labels") or {}).get(MIRRORED) == "true"
    return marked and bool((metadata.get("annotations") or {}).get(LINK_UID))


def annotation(obj: JsonObject, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def is_headless(mirror: JsonObject) -> bool:
    return bool(mirror["spec"].get("clusterIP") == "None")


def has_right_shape(mirror: JsonObject, claim: Claim, link: JsonObject) -> bool:
    """Whether it is headless exactly if it should be; once it is, it may stay without pods."""
    enabled = link.get("enableHeadlessServices", False)
    if claim.headless and not claim.named and not claim.nameless and enabled:
        return True
    return is_headless(mirror) == (claim.headless and enabled and bool(claim.named))


def is_seen(service: JsonObject, grants: Iterable[JsonObject] | None) -> bool:
    """Tell whether a source may see an export: by its API always, else if a Grant says so."""
    if grants is None:
        return True
    for grant in grants:
        spaces = (grant["spec"].get("to") or {}).get("namespaces")
        if grant["spec"]["cluster"] == "east" and (
            spaces is None or service["metadata"]["namespace"] in spaces
        ):
            return True
    return False


def wanted(
    link: JsonObject,
    services: Iterable[JsonObject],
    slices: Iterable[JsonObject],
    grants: Iterable[JsonObject] | None,
) -> dict[Name, tuple[Claim, ...]]:
    """Return the local names that a link needs, each with whom it is for."""
    found: dict[Name, tuple[Claim, ...]] = {}
    behind: dict[Name, list[JsonObject]] = {}
    for one in slices:
        owner = (one["metadata"].get("labels") or {}).get(SERVICE_NAME, "")
        behind.setdefault((one["metadata"]["namespace"], owner), []).extend(
            one.get("endpoints") or ()
        )
    given = None if grants is None else list(grants)
    for service in services:
        labels = service["metadata"].get("labels") or {}
        if labels.get(EXPORTED) != "true" or labels.get(MIRRORED) == "true":
            continue
        if is_seen(service, given):
            for name, claim in _claims(link, service, behind.get(name_of(service), [])):
                found[name] = (*found.get(name, ()), claim)
    return found


def _claims(
    link: JsonObject, service: JsonObject, endpoints: list[JsonObject]
) -> Iterator[tuple[Name, Claim]]:
    space, name = name_of(service)
    cluster = link["metadata"]["name"]
    headless = service["spec"].get("clusterIP") == "None"
    pods: dict[str, bool] = {}
    for one in endpoints:
        if headless and one.get("hostname"):
            pods[one["hostname"]] = pods.get(one["hostname"], False) or _is_ready(one)
    whole = f"{name}.{space}.svc.{cluster}.cluster.local"
    own = Claim(
        link=cluster,
        service=(space, name),
        uid=service["metadata"]["uid"],
        stands_for=whole,
        ports=tuple((port.get("name", ""), port["port"]) for port in service["spec"]["ports"]),
        named=tuple(sorted(pods.items())),
        headless=headless,
        nameless=headless and any(not one.get("hostname") for one in endpoints),
        ready=any(map(_is_ready, endpoints)),
    )
    yield (space, f"{name}-{cluster}"), own
    if headless and link["spec"].get("enableHeadlessServices"):
        for hostname, ready in sorted(pods.items()):
            yield (
                (space, f"{hostname}-{cluster}"),
                Claim(
                    link=cluster,
                    service=(space, name),
                    uid=own.uid,
                    stands_for=f"{hostname}.{whole}",
                    ports=own.ports,
                    named=(),
                    headless=False,
                    nameless=False,
                    ready=ready,
                    hostname=hostname,
                ),
            )


def _is_ready(endpoint: JsonObject) -> bool:
    return (endpoint.get("conditions") or {}).get("ready") is not False
