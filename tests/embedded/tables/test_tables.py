"""Tables as kubectl shows them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.embedded.kinds.kind import Column, Kind
from isthmus.embedded.tables.table import age, table, wanted
from isthmus.model.wire import JsonObject

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
CREATED = "2030-01-01T11:56:40Z"


def kind(name: str, group: str = "", columns: tuple[Column, ...] = ()) -> Kind:
    plural = f"{name.lower()}s"
    return Kind(
        group=group,
        version="v1",
        name=name,
        plural=plural,
        singular=name.lower(),
        columns=columns,
    )


def named(name: str, **rest: object) -> JsonObject:
    return {"metadata": {"name": name, "creationTimestamp": CREATED}, **rest}


TEMPLATE = {"spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}


@pytest.mark.parametrize(
    "of, obj, narrow, wide",
    [
        pytest.param(
            kind("Service"),
            named(
                "web",
                spec={
                    "type": "ClusterIP",
                    "clusterIPs": ["10.96.0.7"],
                    "ports": [{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
                    "selector": {"app": "web"},
                },
            ),
            ["web", "ClusterIP", "10.96.0.7", "<none>", "80/TCP,53/UDP", "3m20s"],
            ["app=web"],
            id="service",
        ),
        pytest.param(
            kind("Service"),
            named("lb", spec={"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]}),
            ["lb", "LoadBalancer", "<none>", "<pending>", "80:30080/TCP", "3m20s"],
            ["<none>"],
            id="service without a balancer",
        ),
        pytest.param(
            kind("StatefulSet", "apps"),
            named("set", spec={"replicas": 3, "template": TEMPLATE}, status={"readyReplicas": 2}),
            ["set", "2/3", "3m20s"],
            ["web", "nginx:1"],
            id="stateful set",
        ),
        pytest.param(
            kind("Deployment", "apps"),
            named(
                "app",
                spec={
                    "replicas": 2,
                    "template": TEMPLATE,
                    "selector": {
                        "matchLabels": {"app": "web"},
                        "matchExpressions": [
                            {"key": "tier", "operator": "In", "values": ["a", "b"]},
                            {"key": "old", "operator": "DoesNotExist"},
                        ],
                    },
                },
            ),
            ["app", "0/2", 0, 0, "3m20s"],
            ["web", "nginx:1", "app=web,tier in (a,b),!old"],
            id="deployment",
        ),
        pytest.param(
            kind("EndpointSlice", "discovery.k8s.io"),
            named(
                "web-x",
                addressType="IPv4",
                ports=[{"port": 80}, {"name": "all"}, {}],
                endpoints=[{"addresses": [f"10.0.0.{n}"]} for n in range(5)],
            ),
            ["web-x", "IPv4", "80,all,*", "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more...", "3m20s"],
            [],
            id="endpoint slice",
        ),
        pytest.param(
            kind("EndpointSlice", "discovery.k8s.io"),
            named("none", addressType="IPv4", endpoints=[]),
            ["none", "IPv4", "<unset>", "<unset>", "3m20s"],
            [],
            id="endpoint slice without endpoints",
        ),
        pytest.param(
            kind("Node"),
            named(
                "n1",
                status={
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                    "nodeInfo": {"kubeletVersion": "v1.36.3"},
                },
            ),
            ["n1", "Ready", "<none>", "3m20s", "v1.36.3"],
            ["10.0.0.1", "<none>", "<unknown>", "<unknown>", "<unknown>"],
            id="node",
        ),
        pytest.param(
            kind("Secret"),
            named("s", type="Opaque", data={"a": "", "b": ""}),
            ["s", "Opaque", 2, "3m20s"],
            [],
            id="secret",
        ),
        pytest.param(
            kind("ClusterRole", "rbac.authorization.k8s.io"),
            named("admin"),
            ["admin", CREATED],
            [],
            id="a role shows when it was made",
        ),
        pytest.param(
            kind("RoleBinding", "rbac.authorization.k8s.io"),
            named(
                "b",
                roleRef={"kind": "Role", "name": "r"},
                subjects=[
                    {"kind": "ServiceAccount", "name": "bob", "namespace": "web"},
                    {"kind": "Group", "name": "devs"},
                ],
            ),
            ["b", "Role/r", "3m20s"],
            ["", "devs", "web/bob"],
            id="role binding",
        ),
        pytest.param(
            kind("Event"),
            {
                **named("e"),
                "lastTimestamp": "2030-01-01T11:59:55Z",
                "type": "Normal",
                "reason": "Made",
                "message": "hello\n",
                "involvedObject": {"kind": "Pod", "name": "p"},
            },
            ["5s", "Normal", "Made", "pod/p", "hello"],
            ["", "", "<unknown>", 1, "e"],
            id="event",
        ),
        pytest.param(
            kind("Widget", "example.com"), named("w"), ["w", "3m20s"], [], id="custom, no columns"
        ),
        pytest.param(
            kind(
                "Widget",
                "example.com",
                (
                    Column(title="Size", cell=lambda obj: obj["spec"]["size"], type="integer"),
                    Column(title="Seen", cell=lambda obj: obj["spec"].get("seen"), type="date"),
                ),
            ),
            named("w", spec={"size": 3}),
            ["w", 3, "<unknown>"],
            [],
            id="custom, with columns",
        ),
    ],
)
def test_cells(of: Kind, obj: JsonObject, narrow: list[object], wide: list[object]) -> None:
    shown = table(of, [obj], {"resourceVersion": "7"}, now=NOW)
    cells, definitions = shown["rows"][0]["cells"], shown["columnDefinitions"]
    assert len(cells) == len(definitions)
    pairs = list(zip(cells, definitions, strict=True))
    assert [cell for cell, column in pairs if column["priority"] == 0] == narrow
    assert [cell for cell, column in pairs if column["priority"] == 1] == wide
    assert {column["type"] for column in definitions} <= {"string", "integer", "date"}


@pytest.mark.parametrize(
    "pod, ready, status",
    [
        pytest.param({"phase": "Pending"}, "0/1", "Pending", id="pending"),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [{"ready": True, "restartCount": 2, "state": {"running": {}}}],
            },
            "1/1",
            "Running",
            id="running",
        ),
        pytest.param(
            {
                "phase": "Running",
                "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
            },
            "0/1",
            "CrashLoopBackOff",
            id="crashing",
        ),
        pytest.param(
            {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]},
            "0/1",
            "ExitCode:3",
            id="failed",
        ),
        pytest.param(
            {"phase": "Pending", "initContainerStatuses": [{"state": {"running": {}}}]},
            "0/1",
            "Init:0/1",
            id="initializing",
        ),
    ],
)
def test_the_state_of_a_pod(pod: JsonObject, ready: str, status: str) -> None:
    spec = {"containers": [{"name": "web"}], "initContainers": [{"name": "init"}]}
    shown = table(kind("Pod"), [named("p", spec=spec, status=pod)], {}, now=NOW)
    assert shown["rows"][0]["cells"][1:3] == [ready, status]


def test_a_pod_that_is_being_deleted_says_so() -> None:
    pod = named("p", spec={"containers": []}, status={"phase": "Running"})
    pod["metadata"]["deletionTimestamp"] = CREATED
    assert table(kind("Pod"), [pod], {}, now=NOW)["rows"][0]["cells"][2] == "Terminating"


@pytest.mark.parametrize(
    "include, expected",
    [
        pytest.param("Metadata", "PartialObjectMetadata", id="metadata"),
        pytest.param("", "PartialObjectMetadata", id="not said"),
        pytest.param("Object", "ConfigMap", id="object"),
        pytest.param("None", None, id="none"),
    ],
)
def test_a_row_carries_its_object(include: str, expected: str | None) -> None:
    row = table(kind("ConfigMap"), [named("c", data={})], {}, now=NOW, include=include)["rows"][0]
    assert (row["object"] and row["object"]["kind"]) == expected


def test_an_empty_table_has_null_rows_like_the_real_one() -> None:
    assert table(kind("ConfigMap"), [], {"resourceVersion": "7"}, now=NOW)["rows"] is None


@pytest.mark.parametrize(
    "seconds, expected",
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (7 * 3600 + 1800, "7h30m"),
        (8 * 3600 + 1800, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (3 * 86400 + 7200, "3d2h"),
        (8 * 86400 + 7200, "8d"),
        (729 * 86400, "729d"),
        (731 * 86400, "2y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages(seconds: int, expected: str) -> None:
    assert age(timedelta(seconds=seconds)) == expected


@given(st.integers(0, 10**10))
def test_an_age_is_short(seconds: int) -> None:
    assert len(age(timedelta(seconds=seconds))) <= 6


@pytest.mark.parametrize(
    "accept, expected",
    [
        pytest.param("application/json", False, id="json"),
        pytest.param("", False, id="nothing said"),
        pytest.param("*/*", False, id="anything"),
        pytest.param(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", True, id="kubectl"
        ),
        pytest.param("application/json, application/json;as=Table;v=v1;g=meta.k8s.io", False),
        pytest.param("application/json;as=Table;v=v1beta1;g=meta.k8s.io", False, id="old version"),
    ],
)
def test_when_a_table_is_wanted(accept: str, expected: bool) -> None:
    assert wanted(accept) is expected
