"""Which object, list or subresource a path means."""

from dataclasses import dataclass, replace
from urllib.parse import unquote

from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.kinds.refusals import not_found
from isthmus.embedded.state.registry import Registry
from isthmus.embedded.state.store import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A path, understood. No ``name``: the collection."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    beneath: str = ""  # percent-encoded: what of the path is for a pod to understand

    @property
    def resource(self) -> str:
        return self.kind.resource

    @property
    def key(self) -> Key:
        return Key(self.resource, self.namespace, self.name)


def route(path: str, registry: Registry) -> Route | None:
    """What ``path`` means, or nothing where the real server has no such path either."""
    steps, beneath = _steps(path)
    found = None
    match [unquote(step) for step in steps]:
        case ["api", "v1", *rest]:
            found = _within("", "v1", rest, registry)
        case ["apis", group, version, *rest]:
            found = _within(group, version, rest, registry)
    return replace(found, beneath=beneath) if found and beneath else found


def _steps(path: str) -> tuple[list[str], str]:
    """The steps that are ours to understand, and what is left for a pod to understand."""
    match path.lstrip("/").split("/"):
        case ["api", "v1", "namespaces", _, "pods", _, "proxy", *beneath] as steps:
            return steps[: -len(beneath)] if beneath else steps, "/".join(beneath)
    return path.strip("/").split("/"), ""


def _within(group: str, version: str, rest: list[str], registry: Registry) -> Route | None:
    namespace = ""
    match rest:
        # A namespace's own subresources look like lists of kinds called status and finalize.
        case ["namespaces", _, plural, *_] if plural not in ("status", "finalize"):
            namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3 or not all(rest):
        return None
    kind = registry.kind(group, version, rest[0])
    if kind is None or (namespace and not kind.namespaced):
        return None
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if name and kind.namespaced and not namespace:
        return None
    if subresource and not serves(kind, subresource):
        if not kind.strategic and subresource in ("status", "scale"):
            raise not_found(kind, name)  # The server of custom objects knows these two names.
        return None
    return Route(kind=kind, namespace=namespace, name=name, subresource=subresource)


def serves(kind: Kind, subresource: str) -> bool:
    if subresource == "status":
        return kind.has_status
    if subresource == "scale":
        return kind.has_scale
    return (kind.group, kind.plural, subresource) in (
        ("", "serviceaccounts", "token"),
        ("", "namespaces", "finalize"),
        ("", "pods", "proxy"),
        ("", "pods", "exec"),
    )
