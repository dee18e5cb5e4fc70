"""What is sent for each thing we ask."""

import json

import pytest

from isthmus.kube import requests
from isthmus.kube.errors import Rejected
from isthmus.kube.requests import Call, Preconditions, Selection
from isthmus.kube.resources import (
    ENDPOINT_SLICES,
    NAMESPACES,
    SELF_ACCESS_REVIEWS,
    SERVICES,
    Resource,
    untyped,
)
from isthmus.model.objects import Key, Metadata, Service, ServicePort, ServiceSpec
from isthmus.model.reviews import (
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    TokenRequest,
    TokenRequestSpec,
)
from isthmus.model.wire import Json

WEB = Key("shop", "web")
SERVICE = Service(
    metadata=Metadata(name="web", namespace="shop", resource_version="7"),
    spec=ServiceSpec(cluster_ip="None", ports=(ServicePort(port=80, target_port="http"),)),
)
BODY = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"},
    "spec": {"clusterIP": "None", "ports": [{"port": 80, "targetPort": "http"}]},
}
SELECTED = Selection(namespace="shop", labels="a=b", fields="metadata.name=x")
ASKED = SelfSubjectAccessReview(
    spec=SelfSubjectAccessReviewSpec(
        resource_attributes=ResourceAttributes(verb="list", resource="services")
    )
)


def shown(call: "Call[Json]") -> tuple[str, str]:
    request = call.request
    query = "&".join(f"{name}={value}" for name, value in request.query)
    kind = request.headers.get("Content-Type", "")
    return str(call), f"{request.method} {request.path}?{query} {kind}".rstrip(" ?")


@pytest.mark.parametrize(
    "call, what, sent, body",
    [
        pytest.param(
            requests.get(SERVICES, WEB), "get services shop/web",
            "GET /api/v1/namespaces/shop/services/web", None, id="get",
        ),
        pytest.param(
            requests.get(NAMESPACES, Key("", "shop")), "get namespaces shop",
            "GET /api/v1/namespaces/shop", None, id="get, cluster-scoped",
        ),
        pytest.param(
            requests.list_page(ENDPOINT_SLICES), "list endpointslices",
            "GET /apis/discovery.k8s.io/v1/endpointslices", None, id="list",
        ),
        pytest.param(
            requests.list_page(SERVICES, SELECTED, limit=500, token="t"), "list services shop",
            "GET /api/v1/namespaces/shop/services?labelSelector=a=b"
            "&fieldSelector=metadata.name=x&limit=500&continue=t", None, id="a page",
        ),
        pytest.param(
            requests.watch(SERVICES, Selection(labels="a=b"), "7", 240), "watch services",
            "GET /api/v1/services?watch=true&allowWatchBookmarks=true&timeoutSeconds=240"
            "&resourceVersion=7&labelSelector=a=b", None, id="watch",
        ),
        pytest.param(
            requests.watch_list(SERVICES, Selection(), 240), "watch services",
            "GET /api/v1/services?watch=true&allowWatchBookmarks=true&timeoutSeconds=240"
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", None, id="stream",
        ),
        pytest.param(
            requests.create(SERVICES, SERVICE, manager="me"), "create services shop/web",
            "POST /api/v1/namespaces/shop/services?fieldManager=me application/json", BODY,
            id="create",
        ),
        pytest.param(
            requests.replace(SERVICES, SERVICE, manager="me", subresource="status"),
            "update services shop/web",
            "PUT /api/v1/namespaces/shop/services/web/status?fieldManager=me application/json",
            BODY, id="replace the status",
        ),
        pytest.param(
            requests.apply(SERVICES, SERVICE, manager="me", force=True), "apply services shop/web",
            "PATCH /api/v1/namespaces/shop/services/web?fieldManager=me&force=true"
            " application/apply-patch+yaml", BODY, id="apply",
        ),
        pytest.param(
            requests.merge_patch(SERVICES, WEB, {"spec": None}, manager="me"),
            "patch services shop/web",
            "PATCH /api/v1/namespaces/shop/services/web?fieldManager=me"
            " application/merge-patch+json", {"spec": None}, id="merge patch",
        ),
        pytest.param(
            requests.delete(SERVICES, WEB, Preconditions(uid="u", resource_version="7")),
            "delete services shop/web",
            "DELETE /api/v1/namespaces/shop/services/web? application/json",
            {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
             "preconditions": {"uid": "u", "resourceVersion": "7"}}, id="delete this very one",
        ),
        pytest.param(
            requests.delete(SERVICES, WEB, grace=0), "delete services shop/web",
            "DELETE /api/v1/namespaces/shop/services/web? application/json",
            {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
             "gracePeriodSeconds": 0}, id="delete at once",
        ),
        pytest.param(
            requests.delete(SERVICES, WEB, propagation="Orphan"), "delete services shop/web",
            "DELETE /api/v1/namespaces/shop/services/web? application/json",
            {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"},
            id="delete",
        ),
        pytest.param(
            requests.review(SELF_ACCESS_REVIEWS, ASKED), "create selfsubjectaccessreviews",
            "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews? application/json",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
             "spec": {"resourceAttributes": {"verb": "list", "resource": "services"}}},
            id="may we?",
        ),
        pytest.param(
            requests.request_token(
                Key("shop", "web"),
                TokenRequest(spec=TokenRequestSpec(audiences=("x",), expiration_seconds=600)),
            ),
            "create serviceaccounts shop/web token",
            "POST /api/v1/namespaces/shop/serviceaccounts/web/token? application/json",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"audiences": ["x"], "expirationSeconds": 600}}, id="a token",
        ),
        pytest.param(
            requests.create(
                untyped("isthmus.dev/v1alpha1", "Link", "links", namespaced=False),
                {"metadata": {"name": "west"}, "spec": {"a": 1}}, manager="me",
            ),
            "create links west",
            "POST /apis/isthmus.dev/v1alpha1/links?fieldManager=me application/json",
            {"apiVersion": "isthmus.dev/v1alpha1", "kind": "Link", "metadata": {"name": "west"},
             "spec": {"a": 1}}, id="plain JSON",
        ),
    ],
)  # fmt: skip
def test_request(call: "Call[Json]", what: str, sent: str, body: Json) -> None:
    assert shown(call) == (what, sent)
    assert (json.loads(call.request.body) if call.request.body else None) == body


@pytest.mark.parametrize(
    "resource, key",
    [
        pytest.param(SERVICES, Key("shop", ""), id="no name would mean all of them"),
        pytest.param(SERVICES, Key("", "web"), id="no namespace"),
        pytest.param(SERVICES, Key("shop", ".."), id="dots climb"),
        pytest.param(SERVICES, Key("..", "web"), id="dots climb in namespaces, too"),
        pytest.param(SERVICES, Key("shop", "a/b"), id="a slash"),
        pytest.param(SERVICES, Key("shop", "a%2fb"), id="a slash in disguise"),
        pytest.param(NAMESPACES, Key("", ""), id="no name, cluster-scoped"),
    ],
)
def test_a_name_that_would_reach_something_else_is_never_sent(
    resource: "Resource[Json]", key: Key
) -> None:
    with pytest.raises(Rejected):
        requests.delete(resource, key)
