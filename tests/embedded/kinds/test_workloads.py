"""Defaults and judgements of pods and what makes them, as kube-apiserver 1.36 pronounces them."""

import pytest

from tests.embedded.kinds.sent import (
    CONTAINER,
    SELECTOR,
    admitted,
    complaints,
    made,
    workload,
)


def test_deployments_are_completed() -> None:
    assert admitted(workload("Deployment"))["spec"] == {
        "replicas": 1,
        "selector": SELECTOR,
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [CONTAINER],
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "dnsPolicy": "ClusterFirst",
                "securityContext": {},
                "schedulerName": "default-scheduler",
            },
        },
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }


def test_stateful_sets_are_completed() -> None:
    spec = admitted(workload("StatefulSet", serviceName="s"))["spec"]
    del spec["template"], spec["selector"]
    assert spec == {
        "replicas": 1,
        "serviceName": "s",
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    }


@pytest.mark.parametrize(
    "image, policy",
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry:5000/nginx", "Always"),
        ("registry:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
    ],
)
def test_only_images_that_move_are_pulled_every_time(image: str, policy: str) -> None:
    pod = admitted(made("Pod", spec={"containers": [{"name": "c", "image": image}]}))
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_probes_volumes_and_quantities_are_completed() -> None:
    container = {
        "name": "c",
        "image": "i",
        "readinessProbe": {"httpGet": {"port": 80}},
        "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
    }
    volumes = [{"name": "s", "secret": {"secretName": "s"}}, {"name": "e"}]
    spec = admitted(made("Pod", spec={"containers": [container], "volumes": volumes}))["spec"]
    (done,) = spec["containers"]
    assert done["readinessProbe"] == {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    limits = {"cpu": "500m", "memory": "1Gi"}
    assert done["resources"] == {"limits": limits, "requests": limits}
    assert spec["volumes"] == [
        {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}},
        {"name": "e", "emptyDir": {}},
    ]


def test_a_stateful_set_keeps_most_of_its_spec() -> None:
    old = admitted(workload("StatefulSet", serviceName="a"))
    ((field, message),) = complaints(workload("StatefulSet", serviceName="b"), old)
    assert field == "spec"
    assert message.startswith("Forbidden: updates to statefulset spec for fields other than")
