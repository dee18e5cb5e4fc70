"""What roles and bindings allow."""

import pytest

from isthmus.embedded.access.principals import Attributes, User
from isthmus.embedded.access.rbac import covers
from isthmus.model.wire import JsonObject
from tests.embedded.access.world import BOB, RBAC, READ_PODS, World, pods, with_bob
from tests.support.embedded import NAMESPACED, Talk, cluster, talk


@pytest.mark.parametrize(
    "rule, wanted, expected",
    [
        pytest.param({"verbs": ["get"], "resources": ["pods"]}, pods("get", "x"), True, id="exact"),
        pytest.param({"verbs": ["get"], "resources": ["pods"]}, pods("list"), False, id="verb"),
        pytest.param({"verbs": ["*"], "resources": ["*"]}, pods("watch"), True, id="everything"),
        pytest.param(
            {"verbs": ["get"], "resources": ["pods"]},
            pods("get", "x", "status"),
            False,
            id="a subresource is not included",
        ),
        pytest.param(
            {"verbs": ["get"], "resources": ["pods/status"]},
            pods("get", "x", "status"),
            True,
            id="a subresource by name",
        ),
        pytest.param(
            {"verbs": ["get"], "resources": ["*/status"]},
            pods("get", "x", "status"),
            True,
            id="a subresource of any kind",
        ),
        pytest.param(
            {"verbs": ["*"], "resources": ["pods"], "resourceNames": ["x"]},
            pods("get", "x"),
            True,
            id="one object",
        ),
        pytest.param(
            {"verbs": ["*"], "resources": ["pods"], "resourceNames": ["x"]},
            pods("list"),
            False,
            id="one object is not a list",
        ),
        pytest.param(
            {"verbs": ["get"], "resources": ["pods"], "apiGroups": ["apps"]},
            pods("get"),
            False,
            id="another group",
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/logs/*"]},
            Attributes(verb="get", path="/logs/a"),
            True,
            id="a path below",
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/logs"]},
            Attributes(verb="get", path="/logs/a"),
            False,
            id="only this path",
        ),
    ],
)
def test_what_a_rule_covers(rule: JsonObject, wanted: Attributes, expected: bool) -> None:
    assert covers({"apiGroups": [""], **rule}, wanted) is expected


def test_a_role_counts_in_its_namespace_only() -> None:
    world = with_bob()
    world.add(RBAC, "roles", "reader", namespace="web", rules=[READ_PODS])
    world.add(
        RBAC,
        "rolebindings",
        "bob-reads",
        namespace="web",
        roleRef={"kind": "Role", "name": "reader"},
        subjects=[{"kind": "ServiceAccount", "name": "bob", "namespace": "web"}],
    )
    access = world.access()
    assert access.allowed(BOB, pods("get", "x"))
    assert not access.allowed(BOB, pods("get", "x", namespace="other"))
    assert not access.allowed(BOB, pods("list", namespace=""))
    assert access.reason(BOB, pods("get")) == (
        'RBAC: allowed by RoleBinding "bob-reads/web" of Role "reader" to ServiceAccount "bob/web"'
    )


@pytest.mark.parametrize(
    "subject, expected",
    [
        pytest.param({"kind": "User", "name": "joe"}, True, id="user"),
        pytest.param({"kind": "Group", "name": "devs"}, True, id="group"),
        pytest.param({"kind": "User", "name": "devs"}, False, id="a group is no user"),
        pytest.param({"kind": "ServiceAccount", "name": "joe", "namespace": "x"}, False, id="sa"),
    ],
)
def test_a_cluster_role_counts_everywhere(subject: JsonObject, expected: bool) -> None:
    world = World()
    world.add(RBAC, "clusterroles", "reader", rules=[READ_PODS])
    role = {"kind": "ClusterRole", "name": "reader"}
    world.add(RBAC, "clusterrolebindings", "b", roleRef=role, subjects=[subject])
    joe = User(name="joe", groups=("devs",))
    assert world.access().allowed(joe, pods("list", namespace="")) is expected


def test_a_binding_to_a_missing_role_allows_nothing() -> None:
    world = World()
    role = {"kind": "ClusterRole", "name": "gone"}
    subject = {"kind": "User", "name": "joe"}
    world.add(RBAC, "clusterrolebindings", "b", roleRef=role, subjects=[subject])
    assert not world.access().allowed(User(name="joe"), pods("get"))


async def test_what_everybody_may_do_is_bound_like_anything_else() -> None:
    west = cluster()
    admin = talk(west)
    asked = await admin.create(f"{NAMESPACED}/serviceaccounts/default/token", {})
    somebody = Talk(west.transport(asked["status"]["token"]))
    assert (await somebody.get("/api")).status == 200
    await admin.delete(f"/apis/{RBAC}/v1/clusterrolebindings/system:discovery")
    assert (await somebody.get("/api")).status == 403
