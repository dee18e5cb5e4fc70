"""All that a cluster holds, but for what changes by itself: to see that nothing was left behind."""

import json

from isthmus.model.wire import Json
from lab.stage import Stage

# Events and leases come and go; the others are views of objects that are listed anyway.
BREATHING = ("events", "leases.", "componentstatuses", "endpoints", "ipaddresses.", "pods.metrics")


def everything(stage: Stage, context: str) -> dict[str, str]:
    """Every object by kind, namespace and name, with what somebody wants of it."""
    listed = stage.kubectl(context, "api-resources", "--verbs=list", "-o", "name").split()
    kinds = [kind for kind in listed if not kind.startswith(BREATHING)]
    found = stage.read(context, ",".join(kinds), "--all-namespaces")["items"]
    return {_name(one): json.dumps(_wanted(one), sort_keys=True) for one in found}


def _name(one: Json) -> str:
    metadata = one["metadata"]
    return f"{one['apiVersion']} {one['kind']} {metadata.get('namespace', '-')}/{metadata['name']}"


def _wanted(one: Json) -> Json:
    metadata = {
        key: value
        for key, value in one["metadata"].items()
        if key in ("labels", "annotations", "finalizers", "uid")
    }
    rest = {key: value for key, value in one.items() if key not in ("metadata", "status")}
    return {"metadata": metadata, **rest}
