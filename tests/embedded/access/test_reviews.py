"""Questions about tokens and permissions."""

import pytest

from isthmus.embedded.access.deciding import ADMIN
from isthmus.embedded.access.principals import User
from isthmus.embedded.access.reviews import (
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
    review,
)
from isthmus.embedded.status import Refusal
from isthmus.model.wire import JsonObject
from tests.embedded.access.world import BOB, RBAC, READ_PODS, World, token_of, with_bob


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
