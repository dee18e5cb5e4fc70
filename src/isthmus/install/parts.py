"""What the objects of an installation have in common: how they are called, labelled and found."""

from isthmus.install.values import Values
from isthmus.model.wire import JsonObject

# Labels that Kubernetes recommends; by the first, all that was installed is found again.
PART_OF, ISTHMUS = "app.kubernetes.io/part-of", "isthmus"
NAME = "app.kubernetes.io/name"
VERSION = "app.kubernetes.io/version"
RESTRICTED = "restricted"  # the strictest of Kubernetes' pod security profiles
# The ports that our processes have unless they are told otherwise.
SIGN, ADS, ADMIN, METRICS = 8443, 8444, 9990, 9991


def labels(name: str) -> dict[str, str]:
    return {NAME: name, PART_OF: ISTHMUS}


def is_ours(obj: JsonObject) -> bool:
    """Tell whether an installation has made an object, by its label."""
    return (obj["metadata"].get("labels") or {}).get(PART_OF) == ISTHMUS


def selector(*names: str) -> JsonObject:
    """What finds the pods of these workloads."""
    if len(names) == 1:
        return {"matchLabels": {NAME: names[0]}}
    return {"matchExpressions": [{"key": NAME, "operator": "In", "values": list(names)}]}


def everywhere(name: str) -> JsonObject:
    """The metadata of an object that no namespace has."""
    return {"name": name, "labels": labels(name)}


def inside(values: Values, name: str, of: str = "") -> JsonObject:
    """The metadata of an object in our namespace; ``of`` is the workload that it is part of."""
    return {"name": name, "namespace": values.namespace, "labels": labels(of or name)}


def unclaimed(obj: JsonObject) -> JsonObject:
    """The namespace without the label by which it would go with us: somebody else has made it."""
    kept = {key: value for key, value in obj["metadata"]["labels"].items() if key != PART_OF}
    return {**obj, "metadata": {**obj["metadata"], "labels": kept}}


def namespace(values: Values) -> JsonObject:
    """The namespace, in which no pod can run that asks for more than the restricted profile."""
    profile = {
        f"pod-security.kubernetes.io/{mode}": RESTRICTED for mode in ("enforce", "audit", "warn")
    }
    metadata = {"name": values.namespace, "labels": {PART_OF: ISTHMUS, **profile}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
