"""Tokens of service accounts, and what ends them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.embedded.access.deciding import Access
from isthmus.embedded.status import Refusal
from isthmus.model.wire import JsonObject
from tests.embedded.access.world import KEY, bearer, bound_to_pod, token_of, with_bob


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
