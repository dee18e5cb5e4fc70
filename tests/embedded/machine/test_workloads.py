"""Which pods workloads want next, step by step."""

from collections.abc import Sequence
from itertools import count

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.embedded.machine import workloads
from isthmus.embedded.machine.objects import Pod, PodStatus, Workload, WorkloadSpec
from isthmus.embedded.machine.workloads import Plan
from isthmus.model.objects import Condition, Metadata
from isthmus.model.wire import JsonObject

READY = PodStatus(phase="Running", conditions=(Condition(type="Ready", status="True"),))


def workload(replicas: int, policy: str = "OrderedReady", image: str = "nginx") -> Workload:
    template: JsonObject = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "kept"}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    return Workload(
        metadata=Metadata(name="web", namespace="shop", uid="u-1", generation=4),
        spec=WorkloadSpec(
            template=template, replicas=replicas, service_name="svc", pod_management_policy=policy
        ),
    )


def born(plan: Plan) -> list[Pod]:
    return [msgspec.convert(one, Pod) for one in plan.creates]


def numbered(of: Workload, *numbers: int, status: PodStatus = READY) -> list[Pod]:
    """The pods of a StatefulSet with these numbers."""
    highest = msgspec.structs.replace(of.spec, replicas=100, pod_management_policy="Parallel")
    all_of_them = born(workloads.stateful(msgspec.structs.replace(of, spec=highest), []))
    return [msgspec.structs.replace(all_of_them[number], status=status) for number in numbers]


def terminating(pod: Pod) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-02T03:04:05Z")
    return msgspec.structs.replace(pod, metadata=metadata)


def names(pods: Sequence[Pod]) -> list[str]:
    return [pod.metadata.name for pod in pods]


SET = workload(3)
PENDING = PodStatus(phase="Pending")


@pytest.mark.parametrize(
    "wanted, pods, creates, deletes",
    [
        pytest.param(SET, [], ["web-0"], [], id="the first is born first"),
        pytest.param(SET, numbered(SET, 0, status=PENDING), [], [], id="one at a time"),
        pytest.param(SET, numbered(SET, 0), ["web-1"], [], id="the next when one is ready"),
        pytest.param(SET, numbered(SET, 0, 1, 2), [], [], id="settled"),
        pytest.param(SET, numbered(SET, 0, 2), ["web-1"], [], id="a gap is filled"),
        pytest.param(
            SET,
            [*map(terminating, numbered(SET, 0)), *numbered(SET, 1, 2)],
            [],
            [],
            id="a name is free only when its pod is gone",
        ),
        pytest.param(SET, numbered(SET, 0, 1, 2, 3, 4), [], ["web-4"], id="the last goes first"),
        pytest.param(
            SET,
            [*numbered(SET, 0, 1, 2, 3), *map(terminating, numbered(SET, 4))],
            [],
            [],
            id="and the one before it when that is gone",
        ),
        pytest.param(SET, numbered(SET, 0, 1, 2, 9, 10), [], ["web-10"], id="numbers are no words"),
        pytest.param(
            workload(3, "Parallel"),
            numbered(SET, 1, 5),
            ["web-0", "web-2"],
            ["web-5"],
            id="all at once, if that is wished",
        ),
        pytest.param(
            workload(3, image="new"),
            numbered(SET, 0, 1, 2),
            [],
            ["web-2"],
            id="of an old template, the last is replaced first",
        ),
        pytest.param(workload(0), numbered(SET, 0), [], ["web-0"], id="down to none"),
    ],
)
def test_a_stateful_set_goes_in_order(
    wanted: Workload, pods: list[Pod], creates: list[str], deletes: list[str]
) -> None:
    plan = workloads.stateful(wanted, pods)
    assert (names(born(plan)), names(plan.deletes)) == (creates, deletes)


def test_a_pod_of_a_stateful_set_has_a_name_that_stays() -> None:
    (made,) = workloads.stateful(SET, []).creates
    (pod,) = born(workloads.stateful(SET, []))
    assert made["spec"]["containers"] == [{"name": "main", "image": "nginx"}]
    assert made["metadata"]["annotations"] == {"note": "kept"}
    assert (pod.spec.hostname, pod.spec.subdomain) == ("web-0", "svc")
    assert pod.metadata.labels == {
        "app": "web",
        "controller-revision-hash": f"web-{workloads.revision(SET)}",
        "statefulset.kubernetes.io/pod-name": "web-0",
        "apps.kubernetes.io/pod-index": "0",
    }
    (owner,) = pod.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == (
        "StatefulSet",
        "web",
        "u-1",
        True,
    )


replicas = st.integers(0, 4)


@given(before=replicas, after=replicas, changed=st.booleans(), data=st.data())
def test_a_deployment_settles_and_serves_meanwhile(
    before: int, after: int, changed: bool, data: st.DataObject
) -> None:
    """Whichever pods come up or go first, enough of them serve, and in the end the right ones."""
    number = count()

    def step(of: Workload, pods: list[Pod]) -> list[Pod]:
        plan = workloads.deployed(of, pods, lambda: str(next(number)))
        doomed = [terminating(pod) for pod in plan.deletes]
        left = [pod for pod in pods if pod not in plan.deletes]
        return [*left, *doomed, *born(plan)]

    def up(pods: list[Pod]) -> int:
        return sum(pod.is_ready and not pod.is_terminating for pod in pods)

    def happened(pods: list[Pod]) -> list[Pod]:
        """Something that the kubelet does: one pod becomes ready, or is gone."""
        open_ones = [pod for pod in pods if pod.is_terminating or not pod.is_ready]
        if not open_ones:
            return pods
        chosen = data.draw(st.sampled_from(open_ones))
        rest = [pod for pod in pods if pod is not chosen]
        if chosen.is_terminating:
            return rest
        return [*rest, msgspec.structs.replace(chosen, status=READY)]

    old, new = workload(before), workload(after, image="new" if changed else "nginx")
    pods: list[Pod] = []
    for _ in range(before):
        pods = happened(step(old, pods))
    while len(pods) != before or up(pods) != before:
        pods = happened(step(old, pods))
    for _ in range(4 * (before + after)):
        pods = happened(step(new, pods))
        assert up(pods) >= min(before, after)
        assert sum(not pod.is_terminating for pod in pods) <= max(before, after) + workloads.SURGE
    assert workloads.deployed(new, pods, str) == Plan()
    hashes = {pod.metadata.labels["pod-template-hash"] for pod in pods}
    assert len(pods) == up(pods) == after
    assert hashes <= {workloads.revision(new)}


def test_status_counts_what_is_ready_and_what_is_new() -> None:
    pods = [*numbered(SET, 0, 1), *numbered(workload(3, image="new"), 2, status=PENDING)]
    said = workloads.stateful_status(SET, pods)
    assert said["updateRevision"] == f"web-{workloads.revision(SET)}"
    assert "currentRevision" not in said
    del said["updateRevision"]
    assert said == {
        "observedGeneration": 4,
        "replicas": 3,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "updatedReplicas": 2,
    }
    settled = workloads.stateful_status(SET, numbered(SET, 0, 1, 2))
    assert settled["currentRevision"] == settled["updateRevision"]


def test_a_deployment_says_whether_it_is_available() -> None:
    pods = numbered(SET, 0, 1, 2)
    said = workloads.deployed_status(SET, [*pods[:2], terminating(pods[2])])
    assert (said["replicas"], said["unavailableReplicas"]) == (2, 1)
    assert said["conditions"] == [{"type": "Available", "status": "False"}]
    known = {"type": "Available", "status": "True", "lastUpdateTime": None}
    settled = msgspec.structs.replace(SET, status={"conditions": [known]})
    assert workloads.deployed_status(settled, pods)["conditions"] == [known]
