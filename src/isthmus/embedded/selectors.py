"""Label and field selectors: from the text of a query to a predicate on objects."""

import re
from collections.abc import Callable, Mapping

from isthmus.embedded.kinds import Kind
from isthmus.embedded.refusals import bad_request
from isthmus.model.wire import Json, JsonObject

Predicate = Callable[[JsonObject], bool]
_Labels = Callable[[Mapping[str, str]], bool]

_KEY = r"(?:[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_ABSENT = re.compile(rf"!\s*(?P<key>{_KEY})")
_PRESENT = re.compile(rf"(?P<key>{_KEY})")
_EQUAL = re.compile(rf"(?P<key>{_KEY})\s*(?P<operator>==|=|!=|<|>)\s*(?P<value>[^\s,()=!<>]*)")
_SET = re.compile(rf"(?P<key>{_KEY})\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)")

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
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
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


def _by_labels(text: str) -> Predicate | None:
    if not text.strip():
        return None
    requirements = [_requirement(part.strip(), text) for part in _split(text)]

    def matches(obj: JsonObject) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(requirement(labels) for requirement in requirements)

    return matches


def _split(text: str) -> list[str]:
    """At the commas that are not inside parentheses."""
    return re.split(r",(?![^(]*\))", text)


def _requirement(part: str, text: str) -> _Labels:
    if found := _SET.fullmatch(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        _checked(values, text)
        if found["operator"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.fullmatch(part):
        key, value = found["key"], found["value"]
        match found["operator"]:
            case "=" | "==":
                _checked({value}, text)
                return lambda labels: labels.get(key) == value
            case "!=":
                _checked({value}, text)
                return lambda labels: labels.get(key) != value
            case operator:
                return _compared(key, operator, value, text)
    if found := _ABSENT.fullmatch(part):
        key = found["key"]
        return lambda labels: key not in labels
    if found := _PRESENT.fullmatch(part):
        key = found["key"]
        return lambda labels: key in labels
    raise bad_request(f"unable to parse requirement: found '{part}' in '{text}'")


def _compared(key: str, operator: str, value: str, text: str) -> _Labels:
    if not re.fullmatch(r"[+-]?\d+", value):
        raise bad_request(f"unable to parse requirement: found '{value}' in '{text}', expected int")
    limit = int(value)

    def matches(labels: Mapping[str, str]) -> bool:
        held = labels.get(key, "")
        if not re.fullmatch(r"[+-]?\d+", held):
            return False
        return int(held) > limit if operator == ">" else int(held) < limit

    return matches


def _checked(values: set[str], text: str) -> None:
    for value in values:
        if not _VALUE.fullmatch(value):
            raise bad_request(f"unable to parse requirement: invalid value '{value}' in '{text}'")


def _by_fields(kind: Kind, text: str) -> Predicate | None:
    if not text.strip():
        return None
    terms = [_term(kind, part, text) for part in text.split(",") if part]
    return lambda obj: all(
        (_text(obj, path) == value) is wanted_equal for path, value, wanted_equal in terms
    )


def _term(kind: Kind, part: str, text: str) -> tuple[str, str, bool]:
    for operator in ("!=", "==", "="):
        path, found, value = part.partition(operator)
        if found:
            break
    else:
        raise bad_request(
            f"invalid selector: '{text}'; can't understand '{part}'",
        )
    known = {"metadata.name", *_FIELDS.get((kind.group, kind.name), ())}
    if kind.namespaced:
        known.add("metadata.namespace")
    if path not in known:
        raise bad_request(f"field label not supported: {path}")
    return path, value, operator != "!="


def _text(obj: JsonObject, path: str) -> str:
    found: Json = obj
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    if found is None:
        return "false" if path in _FALSE_WHEN_ABSENT else ""
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found)
