"""Who a request comes from, and the words for what is not allowed."""

import pytest

from isthmus.embedded.access.deciding import ADMIN
from isthmus.embedded.access.principals import ANONYMOUS, Attributes
from isthmus.embedded.status import Refusal
from tests.embedded.access.world import BOB, World, bearer, pods, token_of, with_bob


def acting_as(name: str, *groups: str) -> dict[str, str]:
    headers = {"Impersonate-User": name}
    return {**headers, "Impersonate-Group": ", ".join(groups)} if groups else headers


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
        pytest.param({"authorization": "Bearer \udcff\udcfe"}, id="not text"),
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
