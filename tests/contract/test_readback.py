"""What we apply is what is there: no write of ours may look like a difference afterwards.

A controller compares what it wants with what it reads. A default that the server fills in, or
a form that it changes, would make the two differ for ever, and the controller write for ever.
So for every kind that we write: applying twice writes once, everything applied is read back as
it was, and what the server adds is known.
"""

from collections.abc import Iterator

import pytest

from isthmus.model.wire import Json, JsonObject
from tests.contract.gadgets import definition, gadget, served
from tests.contract.objects import (
    account,
    config,
    deployment,
    lease,
    namespace,
    obj,
    rbac,
    secret,
    service,
    slice_of,
    stateful_set,
    without_server_fields,
)
from tests.contract.server import Server

LABELS = {"mirror.linkerd.io/mirrored-service": "true"}
ANNOTATIONS = {"isthmus.dev/link-uid": "11111111-2222-3333-4444-555555555555"}
NAMES: JsonObject = {"labels": LABELS, "annotations": ANNOTATIONS}
RULES = [{"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list", "watch"]}]
GROUP = "rbac.authorization.k8s.io"
SUBJECTS = [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}]
MICRO = "2026-01-01T00:00:00.123456Z"


def leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every scalar, and every empty list or object, with its path."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    else:
        yield path, value


# What the server adds, as paths and values; ... stands for any value.
ADDRESS = {
    "spec.clusterIP": ...,
    "spec.clusterIPs[0]": ...,
    "spec.ipFamilies[0]": "IPv4",
    "spec.ipFamilyPolicy": "SingleStack",
    "status.loadBalancer": {},
}
SMALLEST = {
    "spec.ports[0].protocol": "TCP",
    "spec.ports[0].targetPort": 80,
    "spec.type": "ClusterIP",
    "spec.sessionAffinity": "None",
    "spec.internalTrafficPolicy": "Cluster",
    "status.loadBalancer": {},
}
TEMPLATE = {
    "spec.replicas": 1,
    "spec.revisionHistoryLimit": 10,
    "spec.template.spec.containers[0].resources": {},
    "spec.template.spec.containers[0].terminationMessagePath": "/dev/termination-log",
    "spec.template.spec.containers[0].terminationMessagePolicy": "File",
    "spec.template.spec.containers[0].imagePullPolicy": "IfNotPresent",
    "spec.template.spec.restartPolicy": "Always",
    "spec.template.spec.terminationGracePeriodSeconds": 30,
    "spec.template.spec.dnsPolicy": "ClusterFirst",
    "spec.template.spec.securityContext": {},
    "spec.template.spec.schedulerName": "default-scheduler",
}
DEPLOYED = {
    **TEMPLATE,
    "spec.strategy.type": "RollingUpdate",
    "spec.strategy.rollingUpdate.maxUnavailable": "25%",
    "spec.strategy.rollingUpdate.maxSurge": "25%",
    "spec.progressDeadlineSeconds": 600,
    "status": {},
}
STATEFUL = {
    **TEMPLATE,
    "spec.podManagementPolicy": "OrderedReady",
    "spec.updateStrategy.type": "RollingUpdate",
    "spec.updateStrategy.rollingUpdate.partition": 0,
    "spec.persistentVolumeClaimRetentionPolicy.whenDeleted": "Retain",
    "spec.persistentVolumeClaimRetentionPolicy.whenScaled": "Retain",
    "status.replicas": 0,
    "status.availableReplicas": 0,
}
# Where, what, and what the server adds to it.
CASES = [
    pytest.param(
        "services",
        service(
            "web",
            {
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "ports": [
                    {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080},
                    {
                        "name": "grpc",
                        "port": 81,
                        "protocol": "TCP",
                        "targetPort": "grpc",
                        "appProtocol": "kubernetes.io/h2c",
                    },
                ],
            },
            **NAMES,
        ),
        ADDRESS,
        id="Service",
    ),
    pytest.param(
        "services",
        service("web", {"clusterIP": "None"}, **NAMES),
        {
            **SMALLEST,
            "spec.clusterIPs[0]": "None",
            "spec.ipFamilies[0]": "IPv4",
            "spec.ipFamilies[1]": "IPv6",
            "spec.ipFamilyPolicy": "RequireDualStack",
        },
        id="headless Service",
    ),
    pytest.param("services", service(), {**SMALLEST, **ADDRESS}, id="smallest Service"),
    pytest.param(
        "endpointslices",
        {
            **slice_of("web-1", **NAMES),
            "endpoints": [
                {
                    "addresses": ["10.1.2.3"],
                    "conditions": {"ready": True, "serving": True, "terminating": False},
                    "hostname": "pod-0",
                },
                {"addresses": ["10.1.2.4"], "conditions": {"ready": False}},
            ],
            "ports": [{"name": "http", "port": 20000, "protocol": "TCP"}],
        },
        {},
        id="EndpointSlice",
    ),
    pytest.param(
        "endpointslices",
        slice_of(),
        {"endpoints[0].conditions": {}, "ports[0].name": "", "ports[0].protocol": "TCP"},
        id="smallest EndpointSlice",
    ),
    pytest.param("configmaps", config(**NAMES), {}, id="ConfigMap"),
    pytest.param("secrets", {**secret(**NAMES), "type": "Opaque"}, {}, id="Secret"),
    pytest.param(
        "leases",
        {
            **lease(**NAMES),
            "spec": {
                "holderIdentity": "one",
                "leaseDurationSeconds": 15,
                "acquireTime": MICRO,
                "renewTime": MICRO,
                "leaseTransitions": 1,
            },
        },
        {},
        id="Lease",
    ),
    pytest.param("serviceaccounts", account(**NAMES), {}, id="ServiceAccount"),
    pytest.param("deployments", deployment(**NAMES), DEPLOYED, id="Deployment"),
    pytest.param("statefulsets", stateful_set(**NAMES), STATEFUL, id="StatefulSet"),
    pytest.param("roles", rbac("Role", "some", rules=RULES), {}, id="Role"),
    pytest.param(
        "rolebindings",
        rbac(
            "RoleBinding",
            "some",
            roleRef={"apiGroup": GROUP, "kind": "Role", "name": "some"},
            subjects=SUBJECTS,
        ),
        {},
        id="RoleBinding",
    ),
    pytest.param(
        "rolebindings",
        rbac(
            "RoleBinding",
            "some",
            roleRef={"apiGroup": GROUP, "kind": "Role", "name": "some"},
            subjects=[{"kind": "Group", "name": "all"}],
        ),
        {"subjects[0].apiGroup": GROUP},
        id="RoleBinding to a group",
    ),
    pytest.param(
        "gadgets", gadget("one", {"port": 80}, **NAMES), {"spec.mode": "safe"}, id="custom object"
    ),
]
WITHOUT_NAMESPACE = [
    pytest.param(
        "namespaces",
        namespace("x", **NAMES),
        {
            "metadata.labels.kubernetes.io/metadata.name": ...,
            "spec.finalizers[0]": "kubernetes",
            "status.phase": "Active",
        },
        id="Namespace",
    ),
    pytest.param("clusterroles", rbac("ClusterRole", "x", rules=RULES), {}, id="ClusterRole"),
    pytest.param(
        "clusterrolebindings",
        rbac(
            "ClusterRoleBinding",
            "x",
            roleRef={"apiGroup": GROUP, "kind": "ClusterRole", "name": "x"},
            subjects=SUBJECTS,
        ),
        {},
        id="ClusterRoleBinding",
    ),
]


async def check(server: Server, where: str, wanted: JsonObject, added: JsonObject) -> None:
    first = await server.apply(where, wanted)
    assert first.code == 201, first.body
    again = await server.apply(where, wanted)
    assert (again.code, again.ok) == (200, first.ok)
    found = (await server.get(where)).ok
    assert found == first.ok
    asked, there = dict(leaves(wanted)), dict(leaves(without_server_fields(found)))
    assert {path: there.get(path, "nothing") for path in asked} == asked
    more = {path: value for path, value in there.items() if path not in asked}
    expected = {path: more.get(path) if value is ... else value for path, value in added.items()}
    assert more == expected


@pytest.mark.parametrize("where, wanted, added", CASES)
async def test_what_is_applied_is_read_back(
    server: Server, where: str, wanted: JsonObject, added: JsonObject
) -> None:
    if where == "gadgets":
        await served(server)
    name = wanted["metadata"]["name"]
    await check(
        server, f"{where}/{name}", wanted, {"metadata.namespace": server.namespace, **added}
    )


@pytest.mark.parametrize("where, wanted, added", WITHOUT_NAMESPACE)
async def test_what_is_applied_outside_namespaces_is_read_back(
    server: Server, where: str, wanted: JsonObject, added: JsonObject
) -> None:
    name = server.unique("some")
    wanted = {**wanted, "metadata": {**wanted["metadata"], "name": name}}
    await check(server, f"{where}/{name}", wanted, added)


async def test_an_event_is_read_back(server: Server) -> None:
    wanted = {
        **obj("v1", "Event", "web.1"),
        "involvedObject": {"kind": "Service", "namespace": server.namespace, "name": "web"},
        "reason": "Refused",
        "message": "name taken",
        "type": "Warning",
        "source": {"component": "isthmus"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }
    added = {
        "metadata.namespace": server.namespace,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }
    await check(server, "events/web.1", wanted, added)


async def test_empty_lists_of_a_slice_come_back_as_null(server: Server) -> None:
    wanted = {**slice_of(), "endpoints": [], "ports": []}
    first = await server.apply("endpointslices/web-1", wanted)
    assert (first.ok["endpoints"], first.ok["ports"]) == (None, None)
    assert (await server.apply("endpointslices/web-1", wanted)).ok == first.ok


async def test_a_definition_is_read_back(server: Server) -> None:
    group = f"{server.namespace}.example.org"
    where = f"customresourcedefinitions/gadgets.{group}"
    await served(server, group)
    first = await server.apply(where, definition(group), force="true")
    again = await server.apply(where, definition(group))
    assert again.version == first.version
    asked, there = dict(leaves(definition(group)["spec"])), dict(leaves(again.ok["spec"]))
    assert {path: there.get(path, "nothing") for path in asked} == asked
    assert {path: value for path, value in there.items() if path not in asked} == {
        "conversion.strategy": "None",
        "names.singular": "gadget",
        "names.listKind": "GadgetList",
    }


async def test_a_status_is_read_back(server: Server) -> None:
    await served(server)
    await server.apply("gadgets/one", gadget())
    told = {**obj("contract.example.org/v1", "Gadget", "one"), "status": {"ready": True}}
    first = await server.apply("gadgets/one/status", told)
    again = await server.apply("gadgets/one/status", told)
    assert again.ok == first.ok
    assert first.ok["status"] == {"ready": True}
    assert (await server.apply("gadgets/one", gadget())).ok == first.ok
