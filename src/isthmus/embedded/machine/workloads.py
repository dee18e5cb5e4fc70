"""Which pods a StatefulSet or a Deployment wants next: pure, one small step at a time.

Whoever carries a plan out plans again when a pod has changed, so that no plan need wait: it
names what can be done now.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from isthmus.embedded.machine.objects import Pod, Workload
from isthmus.model.wire import Json, JsonObject

STATEFUL_REVISION = "controller-revision-hash"
DEPLOYED_REVISION = "pod-template-hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
SURGE = 1  # pods that a Deployment may have on top while it replaces the old ones


@dataclass(frozen=True, slots=True)
class Plan:
    creates: tuple[JsonObject, ...] = ()
    deletes: tuple[Pod, ...] = ()


def revision(workload: Workload) -> str:
    """A name for the template as it is now; pods of another one are old."""
    template = msgspec.json.encode(workload.spec.template, order="sorted")
    return sha256(template).hexdigest()[:10]


def stateful(workload: Workload, pods: Sequence[Pod]) -> Plan:
    """The next step of a StatefulSet: up in order, down in reverse, one pod at a time."""
    present = {pod.metadata.name: pod for pod in pods}
    names = [f"{workload.metadata.name}-{number}" for number in range(workload.spec.replicas)]
    surplus = sorted((pod for pod in pods if pod.metadata.name not in names), key=_ordinal)
    missing = [number for number, name in enumerate(names) if name not in present]
    if workload.spec.pod_management_policy == "Parallel":
        born = tuple(_numbered(workload, number) for number in missing)
        going = tuple(pod for pod in surplus if not pod.is_terminating)
        if born or going:
            return Plan(born, going)
    for number, name in enumerate(names):
        if name not in present:
            return Plan(creates=(_numbered(workload, number),))
        if not _is_up(present[name]):
            return Plan()
    old = [present[name] for name in names if not _is_current(workload, present[name])]
    doomed = surplus or old
    if not doomed or doomed[-1].is_terminating:
        return Plan()
    return Plan(deletes=(doomed[-1],))


def deployed(workload: Workload, pods: Sequence[Pod], suffix: Callable[[], str]) -> Plan:
    """The next step of a Deployment: old pods go as new ones become ready."""
    living = [pod for pod in pods if not pod.is_terminating]
    current = [pod for pod in living if _is_current(workload, pod)]
    old = [pod for pod in living if pod not in current]
    wanted = workload.spec.replicas
    room = wanted + (SURGE if old else 0) - len(living)
    lacking = max(0, min(wanted - len(current), room))
    creates = tuple(_suffixed(workload, suffix()) for _ in range(lacking))
    leaving = [*old, *sorted(current, key=_is_up)[: max(0, len(current) - wanted)]]
    # Those that serve nobody can go at once; the others only while enough are left to serve.
    spare = max(0, sum(map(_is_up, living)) - wanted)
    doomed = [pod for pod in leaving if not _is_up(pod)]
    doomed += [pod for pod in leaving if _is_up(pod)][:spare]
    return Plan(creates, tuple(doomed))


def status(workload: Workload, pods: Sequence[Pod]) -> JsonObject:
    """What a workload says about its pods, in the words that both kinds share."""
    ready = sum(_is_up(pod) for pod in pods)
    updated = sum(_is_current(workload, pod) for pod in pods)
    return {
        "observedGeneration": workload.metadata.generation,
        "replicas": len(pods),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "updatedReplicas": updated,
    }


def stateful_status(workload: Workload, pods: Sequence[Pod]) -> JsonObject:
    made = status(workload, pods)
    made["updateRevision"] = f"{workload.metadata.name}-{revision(workload)}"
    if made["updatedReplicas"] == made["replicas"]:
        made |= {"currentRevision": made["updateRevision"], "currentReplicas": made["replicas"]}
    return made


def deployed_status(workload: Workload, pods: Sequence[Pod]) -> JsonObject:
    made = status(workload, [pod for pod in pods if not pod.is_terminating])
    lacking = max(0, workload.spec.replicas - int(made["availableReplicas"]))
    available = {"type": "Available", "status": "False" if lacking else "True"}
    said = workload.status.get("conditions") or []
    same = [one for one in said if available.items() <= one.items()]
    return {**made, "unavailableReplicas": lacking, "conditions": same or [available]}


def _is_up(pod: Pod) -> bool:
    return pod.is_ready and not pod.is_terminating


def _is_current(workload: Workload, pod: Pod) -> bool:
    labels, now = pod.metadata.labels, revision(workload)
    return labels.get(DEPLOYED_REVISION, labels.get(STATEFUL_REVISION, "")).endswith(now)


def _ordinal(pod: Pod) -> int:
    number = pod.metadata.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1


def _numbered(workload: Workload, number: int) -> JsonObject:
    """A pod of a StatefulSet: the same name and host name whenever it is born again."""
    name = f"{workload.metadata.name}-{number}"
    labels = {
        STATEFUL_REVISION: f"{workload.metadata.name}-{revision(workload)}",
        POD_NAME: name,
        POD_INDEX: str(number),
    }
    spec: dict[str, Json] = {"hostname": name}
    if workload.spec.service_name:
        spec["subdomain"] = workload.spec.service_name
    return _made(workload, "StatefulSet", name, labels, spec)


def _suffixed(workload: Workload, suffix: str) -> JsonObject:
    name = f"{workload.metadata.name}-{revision(workload)}-{suffix}"
    return _made(workload, "Deployment", name, {DEPLOYED_REVISION: revision(workload)}, {})


def _made(
    workload: Workload, kind: str, name: str, labels: JsonObject, spec: JsonObject
) -> JsonObject:
    template, by = workload.spec.template, workload.metadata
    told = template.get("metadata") or {}
    owner = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": by.name,
        "uid": by.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": name,
        "namespace": by.namespace,
        "labels": {**(told.get("labels") or {}), **labels},
        "annotations": told.get("annotations") or {},
        "ownerReferences": [owner],
    }
    return {"metadata": metadata, "spec": {**template["spec"], **spec}}
