"""The objects that Linkerd's proxies read, on a real API server: names, annotations, addresses."""

import json
from collections.abc import Iterator

import pytest

from isthmus.model.wire import Json
from lab import objects
from lab.clusters import WEST
from lab.stage import Stage, until

pytestmark = pytest.mark.e2e

IDENTITY = "linkerd-gateway.linkerd-multicluster.serviceaccount.identity.linkerd.cluster.local"
READ = "list", "watch"


def reader() -> list[Json]:
    """Who may read west's exports, as docs/links.md says."""
    name = {"name": "link-east"}
    rules = [
        {"apiGroups": [""], "resources": ["services"], "verbs": READ},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": READ},
        {
            "apiGroups": [""],
            "resources": ["namespaces"],
            "resourceNames": ["kube-system"],
            "verbs": ["get"],
        },
    ]
    rbac = "rbac.authorization.k8s.io"
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": name | {"namespace": "default"},
        },
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": name, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": name,
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "link-east"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "default", **name}],
        },
    ]


def credentials(stage: Stage) -> Json:
    token = stage.kubectl("west", "create", "token", "link-east", "--duration=1h").strip()
    config = json.loads(
        stage.kubectl("west", "config", "view", "--minify", "--raw", "--flatten", "-o", "json")
    )
    config["users"][0]["user"] = {"token": token}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "cluster-credentials-west", "namespace": "isthmus"},
        "stringData": {"kubeconfig": json.dumps(config)},
    }


@pytest.fixture(scope="module")
def meshed(joined: Stage) -> Iterator[Stage]:
    """A Link to west whose calls Linkerd's proxies would carry, in place of ours."""
    joined.isthmus("east", "unlink", "west", "--apply")
    joined.apply("west", *reader())
    joined.apply(
        "west",
        objects.service("books"),
        objects.deployment("books"),
        objects.service("shelf", headless=True),
        objects.stateful_set("shelf", 2, governs="shelf"),
    )
    joined.kubectl("west", "rollout", "status", "deployment/books", "--timeout=120s")
    joined.kubectl("west", "rollout", "status", "statefulset/shelf", "--timeout=120s")
    spec = {
        "via": "api",
        "dataPlane": "linkerd",
        "credentialsSecret": "cluster-credentials-west",
        "clusterDomain": "west.cluster.local",
        "enableHeadlessServices": True,
        "gateway": {"addresses": [WEST.address], "identity": IDENTITY},
    }
    link = {"apiVersion": "isthmus.dev/v1alpha1", "kind": "Link", "metadata": {"name": "west"}}
    joined.apply("east", credentials(joined), link | {"spec": spec})
    yield joined
    joined.isthmus("east", "unlink", "west", "--apply")
    joined.kubectl("east", "delete", "secret/cluster-credentials-west", "--namespace", "isthmus")
    workloads = ("deployment/books", "service/books", "statefulset/shelf", "service/shelf")
    joined.kubectl("west", "delete", *workloads, "serviceaccount/link-east")
    joined.kubectl("west", "delete", "clusterrole/link-east", "clusterrolebinding/link-east")


def slices(stage: Stage, service: str) -> list[Json]:
    found = stage.read("east", "endpointslices", "-l", f"kubernetes.io/service-name={service}")
    items: list[Json] = found["items"]
    return items


def test_a_mirror_leads_to_the_gateway_and_says_who_must_be_there(meshed: Stage) -> None:
    until(lambda: meshed.names("east", "services"), lambda found: "books-west" in found)
    service = meshed.read("east", "service", "books-west")
    labels, annotations = (service["metadata"][key] for key in ("labels", "annotations"))
    assert labels["mirror.linkerd.io/mirrored-service"] == "true"
    assert labels["mirror.linkerd.io/cluster-name"] == "west"
    name = annotations["mirror.linkerd.io/remote-svc-fq-name"]
    assert name == "books.default.svc.west.cluster.local"
    assert "selector" not in service["spec"]
    (one,) = until(lambda: slices(meshed, "books-west"), bool)
    assert [endpoint["addresses"] for endpoint in one["endpoints"]] == [[WEST.address]]
    assert one["metadata"]["annotations"]["mirror.linkerd.io/remote-gateway-identity"] == IDENTITY
    assert one["ports"][0]["port"] == 4143


def test_a_headless_mirror_has_a_service_for_each_pod(meshed: Stage) -> None:
    wanted = {"shelf-west", "shelf-0-west", "shelf-1-west"}
    until(lambda: set(meshed.names("east", "services")), wanted.issubset)
    assert meshed.read("east", "service", "shelf-west")["spec"]["clusterIP"] == "None"
    (one,) = until(lambda: slices(meshed, "shelf-west"), bool)
    addresses = {each["hostname"]: each["addresses"][0] for each in one["endpoints"]}
    for pod in ("shelf-0", "shelf-1"):
        mirror = meshed.read("east", "service", f"{pod}-west")
        assert mirror["spec"]["clusterIP"] == addresses[pod]
        assert mirror["metadata"]["labels"]["mirror.linkerd.io/headless-mirror-svc-name"] == (
            "shelf-west"
        )
        name = mirror["metadata"]["annotations"]["mirror.linkerd.io/remote-svc-fq-name"]
        assert name == f"{pod}.shelf.default.svc.west.cluster.local"
