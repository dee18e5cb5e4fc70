"""What the server says it can do, and the tables it draws for people."""

import pytest

from isthmus.kube.transport import Request
from isthmus.model.wire import Json, JsonObject
from tests.contract.gadgets import gadget, served
from tests.contract.objects import (
    config,
    deployment,
    lease,
    pod,
    secret,
    service,
    slice_of,
    stateful_set,
)
from tests.contract.server import Server
from tests.support.waiting import until

ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
STATUS_VERBS = ["get", "patch", "update"]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def accepting(server: Server, where: str, accept: str, **query: str) -> Json:
    reply = await server.send(
        Request(
            method="GET",
            path=server.path(where),
            query=tuple(query.items()),
            headers={"Accept": accept},
        )
    )
    return reply.ok


def contains(whole: Json, part: Json) -> bool:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and contains(whole[key], value) for key, value in part.items()
        )
    return bool(whole == part)


async def test_the_version_is_told(server: Server) -> None:
    found = (await server.get("/version")).ok
    assert (found["major"], found["minor"]) == ("1", "36")
    assert found["gitVersion"].startswith("v1.36.")


async def test_the_core_has_one_version(server: Server) -> None:
    found = (await server.get("/api")).ok
    assert (found["kind"], found["versions"]) == ("APIVersions", ["v1"])


async def test_groups_are_listed(server: Server) -> None:
    found = (await server.get("/apis")).ok
    assert (found["kind"], found["apiVersion"]) == ("APIGroupList", "v1")
    groups = {group["name"]: group for group in found["groups"]}
    for name in (
        "apps",
        "discovery.k8s.io",
        "coordination.k8s.io",
        "rbac.authorization.k8s.io",
        "apiextensions.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
    ):
        version = {"groupVersion": f"{name}/v1", "version": "v1"}
        assert groups[name] == {"name": name, "versions": [version], "preferredVersion": version}
    alone = (await server.get("/apis/apps")).ok
    assert alone == {"kind": "APIGroup", "apiVersion": "v1", **groups["apps"]}


@pytest.mark.parametrize(
    "path, expected",
    [
        pytest.param(
            "/api/v1",
            {
                "name": "services",
                "singularName": "service",
                "namespaced": True,
                "kind": "Service",
                "verbs": ALL_VERBS,
                "shortNames": ["svc"],
                "categories": ["all"],
            },
            id="Service",
        ),
        pytest.param(
            "/api/v1",
            {
                "name": "services/status",
                "singularName": "",
                "namespaced": True,
                "kind": "Service",
                "verbs": STATUS_VERBS,
            },
            id="status of a Service",
        ),
        pytest.param(
            "/api/v1",
            {
                "name": "namespaces",
                "singularName": "namespace",
                "namespaced": False,
                "kind": "Namespace",
                "verbs": [verb for verb in ALL_VERBS if verb != "deletecollection"],
                "shortNames": ["ns"],
            },
            id="Namespace",
        ),
        pytest.param(
            "/api/v1",
            {
                "name": "serviceaccounts/token",
                "singularName": "",
                "namespaced": True,
                "group": "authentication.k8s.io",
                "version": "v1",
                "kind": "TokenRequest",
                "verbs": ["create"],
            },
            id="TokenRequest",
        ),
        pytest.param(
            "/apis/apps/v1",
            {
                "name": "statefulsets/scale",
                "singularName": "",
                "namespaced": True,
                "group": "autoscaling",
                "version": "v1",
                "kind": "Scale",
                "verbs": STATUS_VERBS,
            },
            id="Scale",
        ),
        pytest.param(
            "/apis/discovery.k8s.io/v1",
            {
                "name": "endpointslices",
                "singularName": "endpointslice",
                "namespaced": True,
                "kind": "EndpointSlice",
                "verbs": ALL_VERBS,
            },
            id="EndpointSlice",
        ),
        pytest.param(
            "/apis/authentication.k8s.io/v1",
            {
                "name": "tokenreviews",
                "singularName": "tokenreview",
                "namespaced": False,
                "kind": "TokenReview",
                "verbs": ["create"],
            },
            id="TokenReview",
        ),
    ],
)
async def test_resources_are_listed(server: Server, path: str, expected: JsonObject) -> None:
    found = (await server.get(path)).ok
    assert found["kind"] == "APIResourceList"
    assert path.endswith(f"/{found['groupVersion']}")
    (resource,) = [r for r in found["resources"] if r["name"] == expected["name"]]
    resource.pop("storageVersionHash", None)
    assert resource == expected


async def test_custom_kinds_are_listed(server: Server) -> None:
    await served(server)
    found = await until(
        lambda: server.get("/apis/contract.example.org/v1"), lambda reply: reply.code == 200
    )
    gadgets = {r["name"]: r for r in found.ok["resources"]}
    assert contains(
        gadgets["gadgets"],
        {
            "singularName": "gadget",
            "namespaced": True,
            "kind": "Gadget",
            "shortNames": ["gd"],
            "verbs": [
                "delete",
                "deletecollection",
                "get",
                "list",
                "patch",
                "create",
                "update",
                "watch",
            ],
        },
    )
    assert gadgets["gadgets/status"]["verbs"] == STATUS_VERBS


async def test_everything_can_be_discovered_at_once(server: Server) -> None:
    found = await accepting(server, "/apis", AGGREGATED)
    assert (found["kind"], found["apiVersion"]) == (
        "APIGroupDiscoveryList",
        "apidiscovery.k8s.io/v2",
    )
    (slices,) = [g for g in found["items"] if g["metadata"]["name"] == "discovery.k8s.io"]
    (version,) = slices["versions"]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    (resource,) = version["resources"]
    assert contains(
        resource,
        {
            "resource": "endpointslices",
            "responseKind": {"kind": "EndpointSlice"},
            "scope": "Namespaced",
            "singularResource": "endpointslice",
            "verbs": ALL_VERBS,
        },
    )
    core = await accepting(server, "/api", AGGREGATED)
    assert [group["metadata"].get("name", "") for group in core["items"]] == [""]


async def test_schemas_are_published_by_group(server: Server) -> None:
    paths = (await server.get("/openapi/v3")).ok["paths"]
    for path in ("api/v1", "apis/apps/v1", "apis/discovery.k8s.io/v1"):
        assert paths[path]["serverRelativeURL"].startswith(f"/openapi/v3/{path}")


@pytest.mark.parametrize(
    "where, made, columns, cells",
    [
        pytest.param(
            "services",
            service("web", {"clusterIP": "None", "selector": {"app": "web"}}),
            "Name Type Cluster-IP External-IP Port(s) Age Selector",
            ["web", "ClusterIP", "None", "<none>", "80/TCP", ..., "app=web"],
            id="Service",
        ),
        pytest.param(
            "endpointslices",
            slice_of("web-1", "10.1.2.3", "10.1.2.4"),
            "Name AddressType Ports Endpoints Age",
            ["web-1", "IPv4", "80", "10.1.2.3,10.1.2.4", ...],
            id="EndpointSlice",
        ),
        pytest.param("configmaps", config(), "Name Data Age", ["settings", 1, ...], id="ConfigMap"),
        pytest.param(
            "secrets", secret(), "Name Type Data Age", ["keys", "Opaque", 1, ...], id="Secret"
        ),
        pytest.param("leases", lease(), "Name Holder Age", ["leader", "one", ...], id="Lease"),
        pytest.param(
            "deployments",
            deployment(),
            "Name Ready Up-to-date Available Age Containers Images Selector",
            ["front", "0/1", 0, 0, ..., "main", "example.org/main:1", "app=front"],
            id="Deployment",
        ),
        pytest.param(
            "statefulsets",
            stateful_set(),
            "Name Ready Age Containers Images",
            ["store", "0/1", ..., "main", "example.org/main:1"],
            id="StatefulSet",
        ),
        pytest.param(
            "gadgets",
            gadget(),
            "Name Port Ready Mode Age",
            ["one", 80, None, "safe", ...],
            id="custom kind",
        ),
    ],
)
async def test_tables(
    server: Server, where: str, made: JsonObject, columns: str, cells: list[Json]
) -> None:
    if where == "gadgets":
        await served(server)
    created = (await server.create(where, made)).ok
    name = made["metadata"]["name"]
    found = await accepting(server, where, TABLE, fieldSelector=f"metadata.name={name}")
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert " ".join(c["name"] for c in found["columnDefinitions"]) == columns
    (row,) = found["rows"]
    assert [... if cells[i] is ... else cell for i, cell in enumerate(row["cells"])] == cells
    assert row["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": created["metadata"],
    }


async def test_a_pod_is_shown_with_its_state(server: Server) -> None:
    await until(lambda: server.get("serviceaccounts/default"), lambda reply: reply.code == 200)
    await server.create("pods", pod())
    found = await accepting(server, "pods/shell", TABLE)
    (row,) = found["rows"]
    assert row["cells"][:4] == ["shell", "0/1", "Pending", "0"]
    hidden = [c["name"] for c in found["columnDefinitions"] if c["priority"]]
    assert hidden == ["IP", "Node", "Nominated Node", "Readiness Gates"]


async def test_a_table_may_do_without_objects(server: Server) -> None:
    await server.create("services", service())
    found = await accepting(server, "services", TABLE, includeObject="None")
    assert [row.keys() for row in found["rows"]] == [{"cells", "object"}]
    assert found["rows"][0]["object"] is None


async def test_metadata_may_come_alone(server: Server) -> None:
    made = (await server.create("services", service())).ok
    one = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    found = await accepting(server, "services/web", one)
    alone = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }
    assert found == alone
    many = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    found = await accepting(server, "services", many)
    assert found["kind"] == "PartialObjectMetadataList"
    assert found["items"] == [alone]
