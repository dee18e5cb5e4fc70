"""Pods, Deployments, StatefulSets, DaemonSets and ReplicaSets."""

from collections.abc import Iterator

from isthmus.embedded.kinds import podspecs
from isthmus.embedded.kinds.causes import forbidden, invalid, required, unequal, unsupported
from isthmus.embedded.kinds.metadata import labelled
from isthmus.embedded.status import Cause
from isthmus.model.wire import Json, JsonObject

_QUARTER = {"maxUnavailable": "25%", "maxSurge": "25%"}
_STATEFUL_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_STATEFUL_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
_POD_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
    "set to 1 if it was previously negative)"
)
_PATIENCE = 300  # seconds that a pod stays on a node that is not ready


def fill_pod(obj: JsonObject) -> None:
    spec = obj["spec"]
    podspecs.fill(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in (*(spec.get("initContainers") or []), *(spec["containers"] or [])):
        resources = container["resources"]
        for name, amount in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, amount)
        for port in container.get("ports") or []:
            if spec.get("hostNetwork"):
                port.setdefault("hostPort", port["containerPort"])


def prepare_pod(new: JsonObject, old: JsonObject | None) -> None:
    if old is not None:
        return
    spec = new["spec"]
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    if not spec.get("tolerations"):
        spec["tolerations"] = [
            {
                "key": f"node.kubernetes.io/{trouble}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": _PATIENCE,
            }
            for trouble in ("not-ready", "unreachable")
        ]
    new["status"] = {"phase": "Pending", "qosClass": _quality(spec)}


def _quality(spec: JsonObject) -> str:
    sets = [
        (one["resources"].get("requests") or {}, one["resources"].get("limits") or {})
        for one in spec["containers"] or []
    ]
    if not any(requests or limits for requests, limits in sets):
        return "BestEffort"
    sure = all(limits.keys() >= {"cpu", "memory"} and limits == asked for asked, limits in sets)
    return "Guaranteed" if sure else "Burstable"


def judge_pod(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    found = list(podspecs.judge("spec", new["spec"]))
    if old is not None and _fixed(new["spec"]) != _fixed(old["spec"]):
        found.append(forbidden("spec", _POD_FIXED))
    return found


def _fixed(spec: JsonObject) -> JsonObject:
    """The part of a pod's spec that nobody may change."""
    kept = {
        name: value
        for name, value in spec.items()
        if name not in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
    }
    # Binding a pod to a node is the one assignment that comes later.
    kept.pop("nodeName", None)
    for name in ("containers", "initContainers"):
        if kept.get(name):
            kept[name] = [{**one, "image": "", "imagePullPolicy": ""} for one in kept[name]]
    return kept


def fill_deployment(obj: JsonObject) -> None:
    spec = obj["spec"]
    podspecs.fill(spec["template"]["spec"])
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec["strategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy["rollingUpdate"] = {**_QUARTER, **(strategy.get("rollingUpdate") or {})}


def fill_stateful(obj: JsonObject) -> None:
    spec = obj["spec"]
    podspecs.fill(spec["template"]["spec"])
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    for claim in spec.get("volumeClaimTemplates") or []:
        claim |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        claim["spec"].setdefault("volumeMode", "Filesystem")
        claim["status"].setdefault("phase", "Pending")


def fill_daemon(obj: JsonObject) -> None:
    spec = obj["spec"]
    podspecs.fill(spec["template"]["spec"])
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = {"maxUnavailable": 1, "maxSurge": 0, **rolling}
    annotations = obj["metadata"].setdefault("annotations", {})
    annotations.setdefault("deprecated.daemonset.template.generation", "1")


def fill_replicas(obj: JsonObject) -> None:
    podspecs.fill(obj["spec"]["template"]["spec"])
    obj["spec"].setdefault("replicas", 1)


def judge_deployment(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    found = list(_judged("deployment", new["spec"]))
    strategy = new["spec"]["strategy"]
    if strategy["type"] == "Recreate" and "rollingUpdate" in strategy:
        text = "may not be specified when strategy `type` is 'Recreate'"
        found.append(forbidden("spec.strategy.rollingUpdate", text))
    elif strategy["type"] not in ("Recreate", "RollingUpdate"):
        value = _internal(strategy)
        found.append(unsupported("spec.strategy", value, ("Recreate", "RollingUpdate")))
    return found + _kept(new, old)


def judge_stateful(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    spec = new["spec"]
    found: list[Cause] = []
    if spec["podManagementPolicy"] not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        found.append(invalid("spec.podManagementPolicy", spec["podManagementPolicy"], text))
    if spec["updateStrategy"]["type"] not in ("RollingUpdate", "OnDelete"):
        value = _internal(spec["updateStrategy"])
        found.append(invalid("spec.updateStrategy", value, "must be 'RollingUpdate' or 'OnDelete'"))
    found += _judged("statefulset", spec)
    if old is not None:
        before, after = (
            {name: value for name, value in one.items() if name not in _STATEFUL_MUTABLE}
            for one in (old["spec"], spec)
        )
        if before != after:
            found.append(forbidden("spec", _STATEFUL_FIXED))
    return found


def judge_daemon(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    return [*_judged("daemonset", new["spec"]), *_kept(new, old)]


def judge_replicas(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    return [*_judged("replicaset", new["spec"]), *_kept(new, old)]


def _kept(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    if old is None:
        return []
    return unequal("spec.selector", new["spec"]["selector"], old["spec"]["selector"])


def _internal(strategy: JsonObject) -> JsonObject:
    """A strategy as the API server's internal type spells it."""
    return {"Type": strategy["type"], "RollingUpdate": strategy.get("rollingUpdate")}


def _judged(what: str, spec: JsonObject) -> Iterator[Cause]:
    if spec.get("replicas", 0) < 0:
        yield invalid("spec.replicas", spec["replicas"], "must be greater than or equal to 0")
    selector, template = spec["selector"], spec["template"]
    labels = template["metadata"].get("labels")
    if selector is None:
        yield required("spec.selector")
    elif not selector:
        yield invalid("spec.selector", {}, f"empty selector is invalid for {what}")
    else:
        yield from labelled("spec.selector.matchLabels", selector.get("matchLabels") or {})
    if selector is None or not _selects(selector, labels or {}):
        text = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, text)
    yield from labelled("spec.template.labels", labels or {})
    yield from podspecs.judge("spec.template.spec", template["spec"])
    policy = template["spec"]["restartPolicy"]
    if policy != "Always":
        yield unsupported("spec.template.spec.restartPolicy", policy, ("Always",))


def _selects(selector: JsonObject, labels: JsonObject) -> bool:
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _expressed(one, labels.get(one["key"])) for one in selector.get("matchExpressions") or []
    )


def _expressed(expression: JsonObject, value: Json) -> bool:
    match expression["operator"]:
        case "In":
            return value in (expression.get("values") or [])
        case "NotIn":
            return value not in (expression.get("values") or [])
        case "Exists":
            return value is not None
        case _:
            return value is None
