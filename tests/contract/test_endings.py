"""How objects end: finalizers hold them, owners take them along, namespaces empty themselves."""

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import config, deployment, namespace, owned_by, service
from tests.contract.server import Reply, Server
from tests.support.waiting import until

HOLD = "example.org/hold"


def is_gone(reply: Reply) -> bool:
    return reply.code == 404


async def ended(server: Server, where: str) -> None:
    """On the real server, controllers do the work in their own time."""
    await until(lambda: server.get(where), is_gone, within=30)


async def test_a_finalizer_holds_an_object_that_is_deleted(server: Server) -> None:
    await server.create("configmaps", config(finalizers=[HOLD]))
    deleted = await server.delete("configmaps/settings")
    assert deleted.code == 200
    held = (await server.get("configmaps/settings")).ok
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert deleted.ok == held
    reply = await server.merge("configmaps/settings", {"metadata": {"finalizers": None}})
    assert reply.code == 200
    assert (await server.get("configmaps/settings")).code == 404


async def test_deleting_twice_changes_nothing_more(server: Server) -> None:
    await server.create("configmaps", config(finalizers=[HOLD]))
    first = (await server.delete("configmaps/settings")).ok
    again = await server.delete("configmaps/settings")
    assert again.ok["metadata"]["deletionTimestamp"] == first["metadata"]["deletionTimestamp"]
    assert (await server.get("configmaps/settings")).version == first["metadata"]["resourceVersion"]


async def test_a_dying_object_takes_changes_but_no_new_finalizers(server: Server) -> None:
    await server.create("configmaps", config(finalizers=[HOLD]))
    await server.delete("configmaps/settings")
    changed = await server.merge("configmaps/settings", {"data": {"colour": "blue"}})
    assert changed.ok["data"] == {"colour": "blue"}
    patch = {"metadata": {"finalizers": [HOLD, "example.org/more"]}}
    reply = await server.merge("configmaps/settings", patch)
    assert reply.refusal == (
        422,
        "Invalid",
        'ConfigMap "settings" is invalid: metadata.finalizers: Forbidden: no new finalizers can '
        "be added if the object is being deleted, found new finalizers "
        '[]string{"example.org/more"}',
    )


async def test_a_watch_sees_a_dying_object_change_before_it_goes(server: Server) -> None:
    made = await server.create("configmaps", config(finalizers=[HOLD]))
    async with server.watch(
        "configmaps", resourceVersion=made.version, fieldSelector="metadata.name=settings"
    ) as events:
        await server.delete("configmaps/settings")
        await server.merge("configmaps/settings", {"metadata": {"finalizers": None}})
        dying, gone = await events.next(), await events.next()
    assert dying["type"] == "MODIFIED"
    assert dying["object"]["metadata"]["deletionTimestamp"]
    assert gone["type"] == "DELETED"
    assert gone["object"]["metadata"]["finalizers"] == [HOLD]


async def test_finalizers_need_qualified_names(server: Server) -> None:
    reply = await server.create("configmaps", config(finalizers=["hold"]))
    assert reply.code == 422
    assert "metadata.finalizers" in reply.causes[0][1]


async def test_what_is_owned_goes_with_its_owner(server: Server) -> None:
    owner = (await server.create("configmaps", config("owner"))).ok
    await server.create("configmaps", config("owned", ownerReferences=owned_by(owner)))
    await server.create("configmaps", config("other"))
    await server.delete("configmaps/owner")
    await ended(server, "configmaps/owned")
    assert (await server.get("configmaps/other")).code == 200


async def test_ownership_reaches_across_generations(server: Server) -> None:
    owner = (await server.create("configmaps", config("owner"))).ok
    child = config("child", ownerReferences=owned_by(owner))
    made = (await server.create("configmaps", child)).ok
    await server.create("secrets", {**SECRET, **_meta("leaf", made)})
    await server.delete("configmaps/owner")
    await ended(server, "secrets/leaf")
    assert (await server.get("configmaps/child")).code == 404


SECRET = {"apiVersion": "v1", "kind": "Secret"}


def _meta(name: str, owner: JsonObject) -> JsonObject:
    return {"metadata": {"name": name, "ownerReferences": owned_by(owner)}}


async def test_orphans_stay(server: Server) -> None:
    owner = (await server.create("configmaps", config("owner"))).ok
    await server.create("configmaps", config("owned", ownerReferences=owned_by(owner)))
    await server.delete("configmaps/owner", {"propagationPolicy": "Orphan"})
    await ended(server, "configmaps/owner")
    orphan = (await server.get("configmaps/owned")).ok
    assert "ownerReferences" not in orphan["metadata"]


async def test_foreground_deletion_waits_for_what_is_owned(server: Server) -> None:
    owner = (await server.create("configmaps", config("owner"))).ok
    references = owned_by(owner, blockOwnerDeletion=True)
    await server.create(
        "configmaps", config("owned", ownerReferences=references, finalizers=[HOLD])
    )
    reply = await server.delete("configmaps/owner", {"propagationPolicy": "Foreground"})
    assert reply.ok["metadata"]["finalizers"] == ["foregroundDeletion"]
    await until(
        lambda: server.get("configmaps/owned"),
        lambda found: "deletionTimestamp" in found.ok["metadata"],
        within=30,
    )
    assert (await server.get("configmaps/owner")).code == 200
    await server.merge("configmaps/owned", {"metadata": {"finalizers": None}})
    await ended(server, "configmaps/owner")


async def test_an_owner_that_never_was_takes_its_dependants_along(server: Server) -> None:
    ghost = {**config("ghost"), "metadata": {"name": "ghost", "uid": "no-such-uid"}}
    reply = await server.create("configmaps", config("owned", ownerReferences=owned_by(ghost)))
    assert reply.code == 201
    await ended(server, "configmaps/owned")


async def test_an_owner_reference_must_be_complete(server: Server) -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    reply = await server.create("configmaps", config(ownerReferences=[reference]))
    assert reply.causes == [
        (
            "FieldValueInvalid",
            "metadata.ownerReferences.uid",
            'Invalid value: "": must not be empty',
        )
    ]


async def test_an_object_has_one_controller(server: Server) -> None:
    made = [(await server.create("configmaps", config(name))).ok for name in ("a", "b")]
    references = [owned_by(owner, controller=True)[0] for owner in made]
    reply = await server.create("configmaps", config("c", ownerReferences=references))
    assert reply.code == 422
    assert "Only one reference can have Controller set to true" in reply.body["message"]


async def test_a_deployment_takes_its_replica_sets_along(server: Server) -> None:
    owner = (await server.create("deployments", deployment())).ok
    replicas = {
        **deployment("front-1", ownerReferences=owned_by(owner, controller=True)),
        "kind": "ReplicaSet",
    }
    assert (await server.create("replicasets", replicas)).code == 201
    await server.delete("deployments/front", {"propagationPolicy": "Background"})
    await ended(server, "replicasets/front-1")


async def test_a_dying_namespace_takes_nothing_new_and_everything_along(server: Server) -> None:
    name = server.unique("dying")
    await server.create("namespaces", namespace(name))
    inside = f"/api/v1/namespaces/{name}/configmaps"
    web = f"/api/v1/namespaces/{name}/services"
    await server.create(web, service())
    await server.create(inside, config("held", finalizers=[HOLD]))
    deleted = await server.delete(f"namespaces/{name}")
    assert deleted.ok["status"]["phase"] == "Terminating"
    reply = await server.create(inside, config("new"))
    assert reply.refusal == (
        403,
        "Forbidden",
        f'configmaps "new" is forbidden: unable to create new content in namespace {name} because '
        "it is being terminated",
    )
    assert reply.causes == [
        ("NamespaceTerminating", "metadata.namespace", f"namespace {name} is being terminated")
    ]
    await until(
        lambda: server.get(f"{inside}/held"),
        lambda found: "deletionTimestamp" in found.ok["metadata"],
        within=30,
    )
    assert (await server.get(f"namespaces/{name}")).ok["status"]["phase"] == "Terminating"
    await server.merge(f"{inside}/held", {"metadata": {"finalizers": None}})
    await ended(server, f"namespaces/{name}")
    assert (await server.get(inside)).ok["items"] == []
    assert (await server.get(f"{web}/web")).code == 404


@pytest.mark.parametrize("name", ["default", "kube-system"])
async def test_some_namespaces_stay_for_ever(server: Server, name: str) -> None:
    reply = await server.delete(f"namespaces/{name}")
    assert reply.refusal == (
        403,
        "Forbidden",
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
    )


async def test_every_namespace_gets_an_account_and_the_root_certificate(server: Server) -> None:
    account = await until(
        lambda: server.get("serviceaccounts/default"), lambda reply: reply.code == 200, within=30
    )
    assert account.ok["metadata"]["namespace"] == server.namespace
    roots = await until(
        lambda: server.get("configmaps/kube-root-ca.crt"),
        lambda reply: reply.code == 200,
        within=30,
    )
    assert "-----BEGIN CERTIFICATE-----" in roots.ok["data"]["ca.crt"]
