"""The scale subresource: one number of an object, seen as an ``autoscaling/v1`` Scale."""

from isthmus.embedded.kinds.kind import Kind
from isthmus.model.wire import JsonObject

SCALE = Kind(
    group="autoscaling",
    version="v1",
    name="Scale",
    plural="scales",
    singular="scale",
    shape="autoscaling.Scale",
)
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: JsonObject) -> JsonObject:
    """What ``GET …/scale`` shows of ``obj``."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metadata = {key: obj["metadata"][key] for key in _KEPT if key in obj["metadata"]}
    shown: JsonObject = {"replicas": status.get("replicas", 0)}
    if selector := _selector(spec.get("selector") or {}):
        shown["selector"] = selector
    replicas = spec.get("replicas", 0)
    return {
        "kind": SCALE.name,
        "apiVersion": SCALE.api_version,
        "metadata": metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": shown,
    }


def scaled(obj: JsonObject, scale: JsonObject) -> JsonObject:
    """``obj`` with the number of replicas, and the precondition, that ``scale`` asks for."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    version = scale["metadata"].get("resourceVersion") or obj["metadata"]["resourceVersion"]
    return {
        **obj,
        "metadata": {**obj["metadata"], "resourceVersion": version},
        "spec": {**obj["spec"], "replicas": replicas},
    }


def _selector(selector: JsonObject) -> str:
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for term in selector.get("matchExpressions") or []:
        values = ",".join(sorted(term.get("values") or []))
        match term["operator"]:
            case "In" | "NotIn":
                terms.append(f"{term['key']} {term['operator'].lower()} ({values})")
            case "Exists":
                terms.append(term["key"])
            case _:
                terms.append(f"!{term['key']}")
    return ",".join(terms)
