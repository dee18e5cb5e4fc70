from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.embedded.access.deciding import ADMIN, Access
from isthmus.embedded.access.principals import ANONYMOUS, Attributes, User
from isthmus.embedded.access.rbac import covers
from isthmus.embedded.access.reviews import (
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
    review,
)
from isthmus.embedded.access.tokens import TokenKey
from isthmus.embedded.status import Refusal
from isthmus.model.wire import JsonObject

RBAC = "rbac.authorization.k8s.io"
KEY = TokenKey()
BOB = User(name="system:serviceaccount:web:bob", groups=("system:authenticated",))


def acting_as(name: str, *groups: str) -> dict[str, str]:
    headers = {"Impersonate-User": name}
    return {**headers, "Impersonate-Group": ", ".join(groups)} if groups else headers


@dataclass
class World:
    """Stored objects and a clock, for an Access that knows nothing else."""

    objects: dict[tuple[str, str, str, str], JsonObject] = field(default_factory=dict)
    now: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def add(self, group: str, plural: str, name: str, **rest: object) -> JsonObject:
        namespace = str(rest.pop("namespace", ""))
        metadata = {"name": name, "uid": rest.pop("uid", f"uid-of-{name}")}
        if namespace:
            metadata["namespace"] = namespace
        obj = {"metadata": metadata, **rest}
        self.objects[group, plural, namespace, name] = obj
        return obj

    def find(self, group: str, plural: str, namespace: str, name: str) -> JsonObject | None:
        return self.objects.get((group, plural, namespace, name))

    def all(self, group: str, plural: str, namespace: str | None = None) -> Iterable[JsonObject]:
        for (of, kind, home, _), obj in self.objects.items():
            if (of, kind) == (group, plural) and namespace in (None, home):
                yield obj

    def access(self) -> Access:
        return Access(self, admin_token="admin-token", wall=lambda: self.now, key=KEY)


def with_bob() -> World:
    world = World()
    world.add("", "serviceaccounts", "bob", namespace="web")
    world.add("", "pods", "bob-0", namespace="web", spec={"serviceAccountName": "bob"})
    return world


def token_of(access: Access, **spec: object) -> str:
    return str(access.tokens.request("web", "bob", {"spec": spec})["status"]["token"])


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def bound_to_pod(uid: str = "") -> JsonObject:
    return {"kind": "Pod", "apiVersion": "v1", "name": "bob-0", "uid": uid}


def test_the_admin_token_is_known() -> None:
    assert World().access().authenticate(bearer("admin-token")) == ADMIN


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({"authorization": "Bearer wrong"}, id="unknown token"),
        pytest.param({"authorization": "Basic YWRtaW46YWRtaW4="}, id="basic"),
        pytest.param({"authorization": "Bearer"}, id="empty token"),
        pytest.param({"authorization": "Bearer ü.ü.ü"}, id="not ASCII"),
    ],
)
def test_other_credentials_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        World().access().authenticate(headers, "/api/v1/pods")
    assert (refused.value.code, refused.value.message) == (401, "Unauthorized")


def test_without_a_credential_only_health_and_version_are_served() -> None:
    access = World().access()
    user = access.authenticate({}, "/readyz")
    assert user == ANONYMOUS
    assert access.allowed(user, Attributes(verb="get", path="/readyz"))
    assert not access.allowed(user, Attributes(verb="get", path="/api"))


def test_a_service_account_is_known_by_its_token() -> None:
    access = with_bob().access()
    user = access.authenticate(bearer(token_of(access)))
    assert user.name == "system:serviceaccount:web:bob"
    assert user.uid == "uid-of-bob"
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:web",
        "system:authenticated",
    )


def test_a_token_says_when_it_ends_and_where_it_counts() -> None:
    answer = with_bob().access().tokens.request("web", "bob", {})
    assert answer["spec"] == {
        "audiences": ["https://kubernetes.default.svc.cluster.local"],
        "expirationSeconds": 3600,
        "boundObjectRef": None,
    }
    assert answer["status"]["expirationTimestamp"] == "2030-01-01T01:00:00Z"
    claims = KEY.claims(answer["status"]["token"])
    assert claims is not None
    assert claims["kubernetes.io"] == {
        "namespace": "web",
        "serviceaccount": {"name": "bob", "uid": "uid-of-bob"},
    }


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda w: setattr(w, "now", w.now + timedelta(hours=2)), id="expired"),
        pytest.param(lambda w: setattr(w, "now", w.now - timedelta(hours=2)), id="not yet valid"),
        pytest.param(lambda w: w.objects.clear(), id="everything is gone"),
        pytest.param(
            lambda w: w.add("", "serviceaccounts", "bob", namespace="web", uid="new"),
            id="the service account was made anew",
        ),
        pytest.param(lambda w: w.objects.pop(("", "pods", "web", "bob-0")), id="the pod is gone"),
        pytest.param(
            lambda w: w.add("", "pods", "bob-0", namespace="web", uid="new"),
            id="the pod was made anew",
        ),
    ],
)
def test_a_token_ends_with_what_it_is_bound_to(change: object) -> None:
    world = with_bob()
    access = world.access()
    token = token_of(access, boundObjectRef=bound_to_pod())
    user = access.authenticate(bearer(token))
    assert user.extra["authentication.kubernetes.io/pod-name"] == ("bob-0",)
    assert callable(change)
    change(world)
    with pytest.raises(Refusal, match="Unauthorized"):
        access.authenticate(bearer(token))


def test_a_token_for_another_audience_is_no_credential() -> None:
    access = with_bob().access()
    with pytest.raises(Refusal, match="Unauthorized"):
        access.authenticate(bearer(token_of(access, audiences=["isthmus"])))


def test_a_token_of_another_cluster_is_no_credential() -> None:
    world = with_bob()
    other = Access(world, admin_token="other", wall=lambda: world.now)
    with pytest.raises(Refusal, match="Unauthorized"):
        world.access().authenticate(bearer(token_of(other)))


@pytest.mark.parametrize(
    "headers, groups",
    [
        pytest.param(acting_as("joe"), ("system:authenticated",), id="a user"),
        pytest.param(acting_as("joe", "a", "b"), ("a", "b", "system:authenticated"), id="groups"),
        pytest.param(
            acting_as("system:serviceaccount:web:bob"),
            ("system:serviceaccounts", "system:serviceaccounts:web", "system:authenticated"),
            id="a service account",
        ),
    ],
)
def test_an_administrator_can_act_as_somebody_else(
    headers: dict[str, str], groups: tuple[str, ...]
) -> None:
    user = World().access().authenticate({**bearer("admin-token"), **headers})
    assert (user.name, user.groups) == (headers["Impersonate-User"], groups)


def test_nobody_else_can_act_as_an_administrator() -> None:
    access = with_bob().access()
    headers = {**bearer(token_of(access)), **acting_as("joe", "system:masters")}
    with pytest.raises(Refusal, match='cannot impersonate resource "users"'):
        access.authenticate(headers)


@given(where=st.integers(0, 2000), what=st.characters(codec="utf-8"))
def test_a_changed_token_is_no_credential(where: int, what: str) -> None:
    token = KEY.sign({"sub": "x"})
    where %= len(token)
    changed = token[:where] + what + token[where + 1 :]
    # The last character of the signature carries two bits that mean nothing.
    assert changed == token or where == len(token) - 1 or KEY.claims(changed) is None


@pytest.mark.parametrize(
    "spec, code, message",
    [
        pytest.param(
            {"expirationSeconds": 599},
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: '
            "Invalid value: 599: may not specify a duration less than 10 minutes",
            id="too short",
        ),
        pytest.param({"expirationSeconds": 1 << 33}, 422, "2^32 seconds", id="too long"),
        pytest.param(
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "gone"}},
            404,
            'pods "gone" not found',
            id="bound to a missing pod",
        ),
        pytest.param(
            {"boundObjectRef": bound_to_pod("other")}, 409, "does not match the UID", id="other uid"
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "Service", "apiVersion": "v1", "name": "x"}},
            400,
            "cannot bind token to object of type",
            id="bound to what nothing can be bound to",
        ),
    ],
)
def test_token_requests_that_are_refused(spec: JsonObject, code: int, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        with_bob().access().tokens.request("web", "bob", {"spec": spec})
    assert refused.value.code == code
    assert message in refused.value.message


def pods(verb: str, name: str = "", subresource: str = "", namespace: str = "web") -> Attributes:
    return Attributes(
        verb=verb, resource="pods", name=name, subresource=subresource, namespace=namespace
    )


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


READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}


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


@pytest.mark.parametrize(
    "wanted, message",
    [
        pytest.param(
            pods("get", "x"),
            'pods "x" is forbidden: User "system:serviceaccount:web:bob" cannot get resource '
            '"pods" in API group "" in the namespace "web"',
            id="an object",
        ),
        pytest.param(
            Attributes(
                verb="list", group="apps", resource="deployments", subresource="scale", name="d"
            ),
            'deployments.apps "d" is forbidden: User "system:serviceaccount:web:bob" cannot list '
            'resource "deployments/scale" in API group "apps" at the cluster scope',
            id="a subresource at the cluster scope",
        ),
        pytest.param(
            Attributes(verb="get", path="/metrics"),
            'forbidden: User "system:serviceaccount:web:bob" cannot get path "/metrics"',
            id="a path",
        ),
    ],
)
def test_a_refusal_reads_like_the_real_one(wanted: Attributes, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        World().access().authorize(BOB, wanted)
    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    assert refused.value.message == message


def test_a_token_review_tells_whose_token_it_is() -> None:
    access = with_bob().access()
    token = token_of(access, audiences=["isthmus", "other"])
    body = {"spec": {"token": token, "audiences": ["isthmus"]}}
    status = review(access, ADMIN, TOKEN_REVIEW, body)["status"]
    assert status["authenticated"] is True
    assert status["audiences"] == ["isthmus"]
    assert status["user"]["username"] == "system:serviceaccount:web:bob"


@pytest.mark.parametrize(
    "token, error",
    [
        pytest.param("nonsense", "invalid bearer token", id="nonsense"),
        pytest.param(
            token_of(with_bob().access(), audiences=["a", "b"]),
            '[invalid bearer token, token audiences ["a" "b"] is invalid for the target '
            'audiences ["isthmus"]]',
            id="another audience",
        ),
    ],
)
def test_a_token_review_tells_what_is_wrong(token: str, error: str) -> None:
    body = {"spec": {"token": token, "audiences": ["isthmus"]}}
    status = review(with_bob().access(), ADMIN, TOKEN_REVIEW, body)["status"]
    assert status == {"user": {}, "error": error}


def test_a_user_can_ask_who_they_are_and_what_they_may_do() -> None:
    access = World().access()
    me = review(access, BOB, SELF_SUBJECT_REVIEW, {})
    assert me["status"]["userInfo"]["username"] == BOB.name
    question = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    asked = review(access, BOB, SELF_SUBJECT_ACCESS_REVIEW, question)
    assert asked["status"] == {"allowed": False}
    assert review(access, ADMIN, SELF_SUBJECT_ACCESS_REVIEW, question)["status"]["allowed"]
    of_bob = {"spec": {**question["spec"], "user": BOB.name}}
    assert review(access, ADMIN, SUBJECT_ACCESS_REVIEW, of_bob)["status"] == {"allowed": False}


def test_a_user_can_ask_for_all_they_may_do() -> None:
    world = with_bob()
    world.add(RBAC, "clusterroles", "reader", rules=[READ_PODS])
    world.add(
        RBAC,
        "rolebindings",
        "bob-reads",
        namespace="web",
        roleRef={"kind": "ClusterRole", "name": "reader"},
        subjects=[{"kind": "User", "name": BOB.name}],
    )

    def rules(user: User, namespace: str) -> list[JsonObject]:
        asked = {"spec": {"namespace": namespace}}
        answer = review(world.access(), user, SELF_SUBJECT_RULES_REVIEW, asked)
        return list(answer["status"]["resourceRules"])

    assert READ_PODS in rules(BOB, "web")
    assert READ_PODS not in rules(BOB, "other")
    assert rules(ADMIN, "web") == [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


@pytest.mark.parametrize(
    "body, message",
    [
        pytest.param({"spec": {}}, "exactly one of", id="nothing asked"),
        pytest.param(
            {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/"}}},
            "at least one of user or group must be specified",
            id="nobody asked about",
        ),
    ],
)
def test_access_reviews_that_are_refused(body: JsonObject, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        review(World().access(), ADMIN, SUBJECT_ACCESS_REVIEW, body)
    assert refused.value.code == 422
    assert message in refused.value.message


def test_a_local_review_stays_in_its_namespace() -> None:
    attributes = {"verb": "get", "resource": "pods", "namespace": "other"}
    spec = {"user": "joe", "resourceAttributes": attributes}
    body = {"metadata": {"namespace": "web"}, "spec": spec}
    with pytest.raises(Refusal, match=r"must match metadata\.namespace"):
        review(World().access(), ADMIN, LOCAL_SUBJECT_ACCESS_REVIEW, body)
