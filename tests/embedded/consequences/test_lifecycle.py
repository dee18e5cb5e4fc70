"""Writes have their consequences at once: owners, finalizers, namespaces, CRDs, addresses."""

import pytest

from isthmus.model.wire import Json, JsonObject
from tests.support.embedded import (
    CONFIG_MAPS,
    NAMESPACED,
    SERVICES,
    Talk,
    cluster,
    config,
    service,
    talk,
)

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TOYS = "/apis/example.org/v1/namespaces/default/toys"


def owned(name: str, *owners: JsonObject, **reference: Json) -> JsonObject:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **reference,
        }
        for owner in owners
    ]
    return config(name, ownerReferences=references)


def toys() -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": "toys", "kind": "Toy", "singular": "toy"},
            "versions": [version],
        },
    }


def toy(name: str) -> JsonObject:
    return {"apiVersion": "example.org/v1", "kind": "Toy", "metadata": {"name": name}}


async def present(client: Talk, *names: str) -> list[str]:
    found = (await client.get(CONFIG_MAPS)).names
    return [name for name in names if name in found]


async def test_dependants_go_with_their_last_owner() -> None:
    client = talk(cluster())
    one = await client.create(CONFIG_MAPS, config("one"))
    two = await client.create(CONFIG_MAPS, config("two"))
    await client.create(CONFIG_MAPS, owned("child", one, two))
    child = await client.create(CONFIG_MAPS, owned("only", one))
    await client.create(CONFIG_MAPS, owned("grandchild", child))
    await client.delete(f"{CONFIG_MAPS}/one")
    assert await present(client, "child", "only", "grandchild") == ["child"]
    left = (await client.get(f"{CONFIG_MAPS}/child")).body["metadata"]["ownerReferences"]
    assert [reference["name"] for reference in left] == ["two"]
    await client.delete(f"{CONFIG_MAPS}/two")
    assert await present(client, "child") == []


async def test_who_is_born_without_a_living_owner_goes_at_once() -> None:
    client = talk(cluster())
    ghost = config("ghost", uid="00000000-0000-0000-0000-000000000000")
    await client.create(CONFIG_MAPS, owned("child", ghost))
    assert await present(client, "child") == []


async def test_an_owner_of_an_unknown_kind_is_left_alone() -> None:
    client = talk(cluster())
    ghost = config("ghost", uid="00000000-0000-0000-0000-000000000000")
    await client.create(CONFIG_MAPS, owned("child", ghost, kind="Ghost"))
    assert await present(client, "child") == ["child"]


async def test_orphans_stay_and_forget_their_owner() -> None:
    client = talk(cluster())
    owner = await client.create(CONFIG_MAPS, config("owner"))
    await client.create(CONFIG_MAPS, owned("child", owner))
    await client.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Orphan")
    assert await present(client, "owner", "child") == ["child"]
    child = (await client.get(f"{CONFIG_MAPS}/child")).body
    assert "ownerReferences" not in child["metadata"]


async def test_in_the_foreground_an_owner_waits_for_the_dependants_that_block_it() -> None:
    client = talk(cluster())
    owner = await client.create(CONFIG_MAPS, config("owner"))
    held = owned("child", owner, blockOwnerDeletion=True)
    held["metadata"]["finalizers"] = ["example.org/hold"]
    await client.create(CONFIG_MAPS, held)
    reply = await client.delete(f"{CONFIG_MAPS}/owner", propagationPolicy="Foreground")
    assert reply.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert await present(client, "owner", "child") == ["owner", "child"]
    await client.merge(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": None}})
    assert await present(client, "owner", "child") == []


async def test_a_namespace_is_emptied_before_it_goes() -> None:
    client = talk(cluster())
    await client.create("/api/v1/namespaces", config("shop"))
    inside = "/api/v1/namespaces/shop/configmaps"
    assert (await client.get(inside)).names == ["kube-root-ca.crt"]
    await client.create(inside, config("held", finalizers=["example.org/hold"]))
    await client.create(inside, config("free"))
    await client.delete("/api/v1/namespaces/shop")
    assert (await client.get(inside)).names == ["held"]
    refused = await client.ask("POST", inside, config("late"))
    assert refused.status == 403
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    await client.merge(f"{inside}/held", {"metadata": {"finalizers": None}})
    assert (await client.get("/api/v1/namespaces/shop")).status == 404


async def test_the_default_account_comes_back() -> None:
    client = talk(cluster())
    before = (await client.get(f"{NAMESPACED}/serviceaccounts/default")).body["metadata"]["uid"]
    await client.delete(f"{NAMESPACED}/serviceaccounts/default")
    after = (await client.get(f"{NAMESPACED}/serviceaccounts/default")).body["metadata"]["uid"]
    assert after != before


async def test_a_definition_is_served_at_once_and_takes_its_objects_along() -> None:
    client = talk(cluster())
    assert (await client.get(TOYS)).status == 404
    await client.create(CRDS, toys())
    await client.create(TOYS, toy("ball"))
    held = toy("held")
    held["metadata"]["finalizers"] = ["example.org/hold"]
    await client.create(TOYS, held)
    await client.delete(f"{CRDS}/toys.example.org")
    assert (await client.get(TOYS)).names == ["held"]
    patched = await client.merge(f"{TOYS}/held", {"metadata": {"finalizers": None}})
    assert patched.status == 200
    assert (await client.get(f"{CRDS}/toys.example.org")).status == 404
    assert (await client.get(TOYS)).status == 404


async def test_a_restored_cluster_serves_the_kinds_it_had() -> None:
    west = cluster()
    client = talk(west)
    before = west.faults.snapshot()
    await client.create(CRDS, toys())
    with_toys = west.faults.snapshot()
    west.faults.restore(before)
    assert (await client.get(TOYS)).status == 404
    west.faults.restore(with_toys)
    assert (await client.get(TOYS)).status == 200


async def test_addresses_are_given_once_and_come_back() -> None:
    client = talk(cluster(service_range="10.96.0.0/29"))  # six addresses, one of them taken
    given = [
        (await client.create(SERVICES, service(f"s{number}")))["spec"]["clusterIP"]
        for number in range(5)
    ]
    assert len({*given}) == 5
    assert (await client.ask("POST", SERVICES, service("more"))).status == 500
    await client.delete(f"{SERVICES}/s3")
    freed = await client.create(SERVICES, service("more"))
    assert freed["spec"]["clusterIP"] == given[3]


@pytest.mark.parametrize(
    "spec, field",
    [
        pytest.param({"clusterIP": "10.96.0.1"}, "spec.clusterIPs", id="taken"),
        pytest.param({"clusterIP": "10.97.0.1"}, "spec.clusterIPs", id="elsewhere"),
        pytest.param(
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
            "spec.ports[0].nodePort",
            id="port out of range",
        ),
    ],
)
async def test_what_cannot_be_given_is_refused(spec: JsonObject, field: str) -> None:
    reply = await talk(cluster()).ask("POST", SERVICES, service("web", **spec))
    assert reply.status == 422
    assert [cause["field"] for cause in reply.body["details"]["causes"]] == [field]


async def test_node_ports_are_kept_and_released_with_the_type() -> None:
    client = talk(cluster())
    made = await client.create(SERVICES, service("web", type="NodePort"))
    port = made["spec"]["ports"][0]["nodePort"]
    kept = await client.ask("PUT", f"{SERVICES}/web", service("web", type="LoadBalancer"))
    assert kept.body["spec"]["ports"][0]["nodePort"] == port
    taken = service("other", type="NodePort", ports=[{"port": 80, "nodePort": port}])
    assert (await client.ask("POST", SERVICES, taken)).status == 422
    plain = await client.merge(f"{SERVICES}/web", {"spec": {"type": "ClusterIP"}})
    assert "nodePort" not in plain.body["spec"]["ports"][0]
    assert (await client.ask("POST", SERVICES, taken)).status == 201
