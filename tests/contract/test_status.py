"""Two writers for one object: ``spec`` and ``status`` keep out of each other's way."""

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import config, deployment, service, stateful_set
from tests.contract.server import Server

INGRESS = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7", "ipMode": "VIP"}]}}
BALANCED = service("web", {"type": "LoadBalancer"})


async def test_creating_ignores_a_status(server: Server) -> None:
    made = (await server.create("services", {**BALANCED, "status": INGRESS})).ok
    assert made["status"] == {"loadBalancer": {}}


async def test_the_main_path_keeps_the_status(server: Server) -> None:
    await server.create("services", BALANCED)
    await server.merge("services/web/status", {"status": INGRESS})
    found = (await server.get("services/web")).ok
    assert found["status"] == INGRESS
    reply = await server.replace("services/web", {**found, "status": {"loadBalancer": {}}})
    assert reply.ok["status"] == INGRESS


async def test_the_status_path_keeps_the_rest(server: Server) -> None:
    made = (await server.create("services", BALANCED)).ok
    changed = {**made, "status": INGRESS, "spec": {**made["spec"], "sessionAffinity": "ClientIP"}}
    reply = await server.replace("services/web/status", changed)
    assert reply.ok["status"] == INGRESS
    assert reply.ok["spec"] == made["spec"]


async def test_the_status_can_be_read_alone(server: Server) -> None:
    made = (await server.create("services", BALANCED)).ok
    assert (await server.get("services/web/status")).ok == made


@pytest.mark.parametrize(
    "where, made, patch, grows",
    [
        pytest.param("deployments/front", deployment(), {"spec": {"replicas": 2}}, True, id="spec"),
        pytest.param(
            "deployments/front",
            deployment(),
            {"metadata": {"labels": {"a": "b"}}},
            False,
            id="label",
        ),
        pytest.param(
            "deployments/front/status",
            deployment(),
            {"status": {"replicas": 2}},
            False,
            id="status",
        ),
        pytest.param(
            "statefulsets/store", stateful_set(), {"spec": {"replicas": 2}}, True, id="StatefulSet"
        ),
    ],
)
async def test_a_generation_counts_changes_of_the_spec(
    server: Server, where: str, made: JsonObject, patch: JsonObject, grows: bool
) -> None:
    before = (await server.create(where.split("/")[0], made)).ok
    assert before["metadata"]["generation"] == 1
    after = (await server.merge(where, patch)).ok
    assert after["metadata"]["generation"] == (2 if grows else 1)
    assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]


async def test_kinds_without_spec_have_no_generation(server: Server) -> None:
    assert "generation" not in (await server.create("configmaps", config())).ok["metadata"]
    assert "generation" not in (await server.create("services", service())).ok["metadata"]


async def test_replicas_can_be_read_and_set_through_scale(server: Server) -> None:
    await server.create("statefulsets", stateful_set())
    scale = (await server.get("statefulsets/store/scale")).ok
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 1}
    assert scale["status"] == {"replicas": 0, "selector": "app=store"}
    reply = await server.merge("statefulsets/store/scale", {"spec": {"replicas": 3}})
    assert reply.ok["spec"] == {"replicas": 3}
    assert (await server.get("statefulsets/store")).ok["spec"]["replicas"] == 3
