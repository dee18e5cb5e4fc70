"""What a cluster says it serves."""

from dataclasses import replace

import msgspec
import pytest

from isthmus.embedded.access.reviews import REVIEWS
from isthmus.embedded.api.discovery import AGGREGATED, answer, precedence
from isthmus.embedded.kinds.kind import Kind
from isthmus.model.wire import JsonObject


def kind(group: str, version: str, name: str) -> Kind:
    plural = f"{name.lower()}s"
    return Kind(group=group, version=version, name=name, plural=plural, singular=name.lower())


KINDS = (
    replace(kind("", "v1", "Namespace"), namespaced=False, has_status=True),
    kind("", "v1", "ServiceAccount"),
    replace(kind("apps", "v1", "StatefulSet"), has_status=True, has_scale=True),
    replace(kind("isthmus.dev", "v1alpha1", "Link"), namespaced=False),
    replace(kind("isthmus.dev", "v1beta2", "Link"), namespaced=False),
    *REVIEWS,
)


def get(path: str, accept: str = "application/json") -> JsonObject:
    page = answer(path, accept, KINDS)
    assert page is not None
    document: JsonObject = msgspec.json.decode(page.body)
    return document


def test_the_core_group_lists_its_resources_with_their_parts() -> None:
    found = {entry["name"]: entry for entry in get("/api/v1")["resources"]}
    assert list(found) == [
        *("namespaces", "namespaces/finalize", "namespaces/status"),
        *("serviceaccounts", "serviceaccounts/token"),
    ]
    assert "deletecollection" not in found["namespaces"]["verbs"]
    assert found["serviceaccounts/token"]["kind"] == "TokenRequest"
    assert found["serviceaccounts/token"]["group"] == "authentication.k8s.io"


def test_a_group_prefers_its_most_stable_version() -> None:
    group = get("/apis/isthmus.dev")
    assert group["kind"] == "APIGroup"
    assert group["preferredVersion"]["version"] == "v1beta2"
    assert group in [{"kind": "APIGroup", "apiVersion": "v1", **g} for g in get("/apis")["groups"]]


def test_versions_are_ordered_as_kubernetes_does_it() -> None:
    versions = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "foo1"]
    assert sorted(versions, key=precedence, reverse=True) == versions


def test_reviews_can_only_be_created() -> None:
    for entry in get("/apis/authorization.k8s.io/v1")["resources"]:
        assert entry["verbs"] == ["create"]


def test_one_answer_can_hold_everything() -> None:
    accept = f"{AGGREGATED},application/json"
    page = answer("/apis", accept, KINDS)
    assert page is not None
    assert page.content_type == AGGREGATED
    groups = {item["metadata"]["name"]: item for item in get("/apis", accept)["items"]}
    assert list(groups) == ["apps", "isthmus.dev", "authentication.k8s.io", "authorization.k8s.io"]
    resource = groups["apps"]["versions"][0]["resources"][0]
    assert resource["scope"] == "Namespaced"
    assert [part["subresource"] for part in resource["subresources"]] == ["scale", "status"]
    assert [v["version"] for v in groups["isthmus.dev"]["versions"]] == ["v1beta2", "v1alpha1"]
    assert get("/api", accept)["items"][0]["metadata"] == {}


def test_openapi_tells_kubectl_that_the_server_validates_fields() -> None:
    index = get("/openapi/v3")["paths"]
    assert set(index) > {"api/v1", "apis/apps/v1", "apis/isthmus.dev/v1alpha1"}
    address = index["apis/apps/v1"]["serverRelativeURL"].partition("?")[0]
    paths = get(address)["paths"]
    patch = paths["/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "StatefulSet"


def test_the_address_of_a_document_changes_with_its_content() -> None:
    def address(kinds: tuple[Kind, ...]) -> str:
        page = answer("/openapi/v3", "", kinds)
        assert page is not None
        index: JsonObject = msgspec.json.decode(page.body)
        return str(index["paths"]["api/v1"]["serverRelativeURL"])

    assert address(KINDS) == address(KINDS)
    assert address(KINDS) != address((*KINDS, kind("", "v1", "Pod")))


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
def test_health(path: str) -> None:
    page = answer(path, "", ())
    assert page is not None
    assert page.body == b"ok"


def test_the_version_is_of_a_kubernetes_we_know() -> None:
    assert get("/version")["major"] == "1"


@pytest.mark.parametrize(
    "path", ["/", "/api/v2", "/apis/none", "/apis/apps/v2", "/openapi/v3/apis/none/v1", "/api/v1/x"]
)
def test_other_paths_are_not_discovery(path: str) -> None:
    assert answer(path, "application/json", KINDS) is None
