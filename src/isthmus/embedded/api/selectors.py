"""Label and field selectors: from the text of a query to a predicate on objects."""

import re
from collections.abc import Callable, Mapping

from isthmus.embedded.api.labels import requirements as labels_of
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.kinds.refusals import bad_request
from isthmus.model.wire import Json, JsonObject

Predicate = Callable[[JsonObject], bool]

_TERM = re.compile(r"(?P<path>.*?)(?P<operator>!=|==|=)(?P<value>.*)")

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
# Besides metadata.name and metadata.namespace, which every kind has.
_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    ("", "Secret"): ("type",),
    ("", "Namespace"): ("status.phase",),
    ("", "Node"): ("spec.unschedulable",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("", "Event"): (
        *(f"involvedObject.{field}" for field in _REFERENCE),
        *("reason", "reportingComponent", "source", "type"),
    ),
    ("events.k8s.io", "Event"): (
        *(f"regarding.{field}" for field in _REFERENCE),
        *("reason", "reportingController", "type"),
    ),
    ("apps", "ReplicaSet"): ("status.replicas",),
}
_FALSE_WHEN_ABSENT = {"spec.unschedulable", "spec.hostNetwork"}


def selection(kind: Kind, labels: str, fields: str) -> Predicate | None:
    """What both selectors let through; nothing if they let everything through."""
    chosen = [part for part in (_by_labels(labels), _by_fields(kind, fields)) if part is not None]
    if not chosen:
        return None
    if len(chosen) == 1:
        return chosen[0]
    first, second = chosen
    return lambda obj: first(obj) and second(obj)


def only_name(fields: str) -> str:
    """The one name that a field selector lets through; empty if it does not say."""
    for part in fields.split(","):
        found = _TERM.fullmatch(part)
        if found and found["path"] == "metadata.name" and found["operator"] != "!=":
            return found["value"]
    return ""


def _by_labels(text: str) -> Predicate | None:
    if not text.strip():
        return None
    demanded = labels_of(text)
    return lambda obj: all(
        requirement(obj["metadata"].get("labels") or {}) for requirement in demanded
    )


def _by_fields(kind: Kind, text: str) -> Predicate | None:
    if not text.strip():
        return None
    terms = [_term(kind, part, text) for part in text.split(",") if part]
    return lambda obj: all(
        (_text(obj, path) == value) is wanted_equal for path, value, wanted_equal in terms
    )


def _term(kind: Kind, part: str, text: str) -> tuple[str, str, bool]:
    found = _TERM.fullmatch(part)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    path, own = found["path"], _FIELDS.get((kind.group, kind.name))
    common = ("metadata.name", "metadata.namespace")
    if path not in ((*common[: 1 + kind.namespaced], *own) if own else common):
        known = '"metadata.name", "metadata.namespace"'
        raise bad_request(
            f"field label not supported: {path}"
            if own or not kind.strategic
            else f'"{path}" is not a known field selector: only {known}'
        )
    return _place(kind, path), found["value"], found["operator"] != "!="


def _place(kind: Kind, path: str) -> str:
    """Where the store keeps the field."""
    first, dot, rest = path.partition(".")
    return (kind.view.names.get(first, first) if kind.view else first) + dot + rest


def _text(obj: JsonObject, path: str) -> str:
    found: Json = obj
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    if path == "source" and isinstance(found, dict):  # of an Event
        return str(found.get("component") or obj["reportingComponent"])
    if found is None:
        return "false" if path in _FALSE_WHEN_ABSENT else ""
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found)
