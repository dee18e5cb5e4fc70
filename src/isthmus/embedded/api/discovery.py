"""Tells clients what a cluster serves: health, version, groups, resources and OpenAPI."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from isthmus.embedded.access.reviews import REVIEWS
from isthmus.embedded.api import openapi
from isthmus.embedded.kinds.kind import Kind
from isthmus.model.wire import JsonObject

JSON = "application/json"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
VERSION: JsonObject = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3+isthmus",  # the Kubernetes whose behaviour is embedded here
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}

_WRITES = ("get", "patch", "update")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
# The real server lists the verbs of custom kinds in this order, and those of its own in that.
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_ASKED_ONLY = frozenset((kind.group, kind.name) for kind in REVIEWS)
_VERSION_NAME = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


@dataclass(frozen=True, slots=True)
class Page:
    """An answer of discovery; clients look at its content type, so that is part of it."""

    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class _Subresource:
    """A part of an object with a path, and maybe a kind, of its own."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""  # of its kind, where that is of another group
    version: str = ""


def answer(path: str, accept: str, kinds: Iterable[Kind]) -> Page | None:
    """Serve ``GET path``: health, version, groups, resources, OpenAPI; nothing for the rest.

    ``kinds`` are all kinds served now, custom ones and ``reviews.REVIEWS`` included.
    """
    served = list(kinds)
    document: JsonObject | None = None
    match path.strip("/").split("/"):
        case ["healthz" | "livez" | "readyz", *_]:
            return Page("text/plain; charset=utf-8", b"ok")
        case ["version"]:
            document = VERSION
        case ["api"] if _aggregated(accept):
            return _page(_aggregate(k for k in served if not k.group), AGGREGATED)
        case ["apis"] if _aggregated(accept):
            return _page(_aggregate(k for k in served if k.group), AGGREGATED)
        case ["api"]:
            document = {"kind": "APIVersions", "versions": ["v1"]}
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in _groups(served) if name]
            document = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group]:
            found = (_group(name, of) for name, of in _groups(served) if name == group)
            document = next(({"kind": "APIGroup", "apiVersion": "v1", **it} for it in found), None)
        case ["api", version]:
            document = _resources([k for k in served if (k.group, k.version) == ("", version)])
        case ["apis", group, version]:
            document = _resources([k for k in served if (k.group, k.version) == (group, version)])
        case ["openapi", "v2"]:
            return Page(openapi.SWAGGER_TYPE, openapi.SWAGGER)
        case ["openapi", "v3", *rest]:
            document = openapi.document("/".join(rest), served)
    return None if document is None else _page(document)


def _page(document: JsonObject, content_type: str = JSON) -> Page:
    return Page(content_type, msgspec.json.encode(document))


def _aggregated(accept: str) -> bool:
    """Whether the client prefers all resources in one answer."""
    wanted = {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}
    return any(
        wanted.issubset(part.strip() for part in media.split(";")) for media in accept.split(",")
    )


def _groups(kinds: Iterable[Kind]) -> Iterator[tuple[str, list[str]]]:
    """Each group with its versions, the preferred one first."""
    groups: dict[str, set[str]] = {}
    for kind in kinds:
        groups.setdefault(kind.group, set()).add(kind.version)
    for name, versions in groups.items():
        yield name, sorted(versions, key=precedence, reverse=True)


def precedence(version: str) -> tuple[int, int, int, str]:
    """The order in which Kubernetes prefers versions: stable, beta, alpha; then the number."""
    found = _VERSION_NAME.fullmatch(version)
    if found is None:
        return (-1, 0, 0, version)
    return (_STABILITY[found[2]], int(found[1]), int(found[3] or 0), version)


def _group(name: str, versions: list[str]) -> JsonObject:
    shown = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": shown, "preferredVersion": shown[0]}


def _verbs(kind: Kind) -> list[str]:
    if (kind.group, kind.name) in _ASKED_ONLY:
        return ["create"]
    if kind.name == "Namespace":
        return [verb for verb in _VERBS if verb != "deletecollection"]
    return list(_VERBS if kind.strategic else _CUSTOM_VERBS)


def _subresources(kind: Kind) -> Iterator[_Subresource]:
    if (kind.group, kind.name) == ("", "Namespace"):
        yield _Subresource("finalize", kind.name, ("update",))
    if (kind.group, kind.name) == ("", "Pod"):
        yield _Subresource("exec", "PodExecOptions", ("get",))  # the only method of ours
        yield _Subresource("proxy", "PodProxyOptions", ("get",))  # likewise
    if kind.has_scale:
        yield _Subresource("scale", "Scale", _WRITES, "autoscaling", "v1")
    if kind.has_status:
        yield _Subresource("status", kind.name, _WRITES)
    if (kind.group, kind.name) == ("", "ServiceAccount"):
        yield _Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1")


def _named(kind: Kind) -> JsonObject:
    """What both forms of discovery say alike: the names a user may type."""
    shown: JsonObject = {}
    if kind.short_names:
        shown["shortNames"] = list(kind.short_names)
    if kind.categories:
        shown["categories"] = list(kind.categories)
    return shown


def _resources(kinds: list[Kind]) -> JsonObject | None:
    """The ``APIResourceList`` of one group and version."""
    if not kinds:
        return None
    resources: list[JsonObject] = []
    for kind in sorted(kinds, key=lambda kind: kind.plural):
        resources.append(
            {
                "name": kind.plural,
                "singularName": kind.singular,
                "namespaced": kind.namespaced,
                "kind": kind.name,
                "verbs": _verbs(kind),
                **_named(kind),
            }
        )
        for part in _subresources(kind):
            elsewhere = {"group": part.group, "version": part.version} if part.group else {}
            resources.append(
                {
                    "name": f"{kind.plural}/{part.name}",
                    "singularName": "",
                    "namespaced": kind.namespaced,
                    **elsewhere,
                    "kind": part.kind,
                    "verbs": list(part.verbs),
                }
            )
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": kinds[0].api_version,
        "resources": resources,
    }


def _aggregate(kinds: Iterable[Kind]) -> JsonObject:
    """The ``APIGroupDiscoveryList``: everything in one answer."""
    served = list(kinds)
    items = []
    for name, versions in _groups(served):
        shown = []
        for version in versions:
            members = [k for k in served if (k.group, k.version) == (name, version)]
            resources = [_entry(k) for k in sorted(members, key=lambda kind: kind.plural)]
            shown.append({"version": version, "resources": resources, "freshness": "Current"})
        items.append({"metadata": {"name": name} if name else {}, "versions": shown})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _entry(kind: Kind) -> JsonObject:
    entry: JsonObject = {
        "resource": kind.plural,
        "responseKind": {"group": "", "version": "", "kind": kind.name},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
        **_named(kind),
    }
    parts = [
        {
            "subresource": part.name,
            "responseKind": {"group": part.group, "version": part.version, "kind": part.kind},
            "verbs": list(part.verbs),
        }
        for part in _subresources(kind)
    ]
    if parts:
        entry["subresources"] = parts
    return entry
