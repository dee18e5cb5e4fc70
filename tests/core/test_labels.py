"""Which labels and annotations of an export its mirror keeps."""

import pytest

from isthmus.core import naming
from isthmus.model import names
from isthmus.model.objects import Key
from tests.support.builders import EXPORT_LABEL, export, headless, link, view
from tests.support.model import Source

NOT_COPIED = [
    pytest.param("mirror.linkerd.io/exported", id="that it is exported: mirrors are not"),
    pytest.param("mirror.linkerd.io/cluster-name", id="a forged cluster"),
    pytest.param("isthmus.dev/link-uid", id="a forged owner"),
    pytest.param("isthmus.dev/anything", id="anything under our prefix"),
    pytest.param("kubernetes.io/service-name", id="Kubernetes' own"),
    pytest.param("service.kubernetes.io/topology-mode", id="topology mode"),
    pytest.param("service.kubernetes.io/topology-aware-hints", id="topology hints"),
    pytest.param("service.kubernetes.io/headless", id="a mark of the endpoint controllers"),
    pytest.param("service.kubernetes.io/service-proxy-name", id="another proxy than kube-proxy"),
    pytest.param("service.beta.kubernetes.io/aws-load-balancer-type", id="a cloud's balancer"),
    pytest.param("external-dns.alpha.kubernetes.io/hostname", id="a public name"),
    pytest.param("endpointslice.kubernetes.io/managed-by", id="who manages slices"),
    pytest.param("kubectl.kubernetes.io/last-applied-configuration", id="what kubectl applied"),
    pytest.param("applyset.kubernetes.io/part-of", id="kubectl's sets, which it prunes"),
    pytest.param("config.k8s.io/owning-inventory", id="an inventory, which is pruned"),
    pytest.param("argocd.argoproj.io/instance", id="Argo CD, by its own label"),
    pytest.param("argocd.argoproj.io/tracking-id", id="Argo CD, by annotation"),
    pytest.param("app.kubernetes.io/instance", id="Argo CD, by the label it uses by default"),
    pytest.param("kustomize.toolkit.fluxcd.io/name", id="Flux, kustomizations"),
    pytest.param("helm.toolkit.fluxcd.io/name", id="Flux, Helm releases"),
    pytest.param("app.kubernetes.io/managed-by", id="Helm, by label"),
    pytest.param("meta.helm.sh/release-name", id="Helm, by annotation"),
    pytest.param("helm.sh/chart", id="Helm, the chart"),
    pytest.param("cloud.google.com/neg", id="a cloud's endpoint groups"),
]
COPIED = [
    pytest.param("team", id="no prefix"),
    pytest.param("example.org/team", id="somebody's prefix"),
    pytest.param("app.kubernetes.io/name", id="a recommended label"),
    pytest.param("notkubernetes.io/x", id="a prefix that only ends alike"),
    pytest.param("example.org/kubernetes.io", id="the words in the name"),
    pytest.param("isthmus.dev", id="our prefix without a slash is just a name"),
]


@pytest.mark.parametrize("key", NOT_COPIED)
def test_keys_that_mean_something_elsewhere_are_not_copied(key: str) -> None:
    made = export(labels={key: "x"}, annotations={key: "x"})
    assert naming.copied_labels(made, link()) == {}
    assert naming.copied_annotations(made, link()) == {}


@pytest.mark.parametrize("key", COPIED)
def test_other_keys_are_copied(key: str) -> None:
    made = export(labels={key: "x"}, annotations={key: "x"})
    assert naming.copied_labels(made, link()) == {key: "x"}
    assert naming.copied_annotations(made, link()) == {key: "x"}


@pytest.mark.parametrize(
    "pattern, key, excluded",
    [
        pytest.param("team", "team", True, id="the exact key"),
        pytest.param("team", "teams", False, id="exact is exact"),
        pytest.param("example.org/team", "example.org/team", True, id="exact, with a prefix"),
        pytest.param("example.org/*", "example.org/team", True, id="under the prefix"),
        pytest.param("example.org/*", "a.example.org/team", False, id="not under its subdomains"),
        pytest.param("example.org/*", "example.orgs/team", False, id="the prefix is exact"),
        pytest.param("example.org/*", "example.org", False, id="no slash, no prefix"),
        pytest.param("*", "team", False, id="a star alone matches nothing"),
        pytest.param("example.org/te*", "example.org/team", False, id="a star after letters"),
    ],
)
def test_a_link_excludes_keys(pattern: str, key: str, excluded: bool) -> None:
    made = export(labels={key: "x"}, annotations={key: "x"})
    by_label = naming.copied_labels(made, link(excluded_labels=(pattern,)))
    by_annotation = naming.copied_annotations(made, link(excluded_annotations=(pattern,)))
    assert (by_label == {}) is (by_annotation == {}) is excluded


def test_exclusions_of_labels_say_nothing_about_annotations() -> None:
    made = export(labels={"team": "x"}, annotations={"team": "x"})
    assert naming.copied_annotations(made, link(excluded_labels=("team",))) == {"team": "x"}
    assert naming.copied_labels(made, link(excluded_annotations=("team",))) == {"team": "x"}


@pytest.mark.parametrize(
    "key, value",
    [
        pytest.param("team", "x" * 64, id="a value of 64 characters"),
        pytest.param("team", "x" * 300_000, id="a value of 300 KB"),
        pytest.param("team", "two words", id="a space"),
        pytest.param("team", "-x", id="a leading dash"),
        pytest.param("te am", "x", id="a space in the key"),
        pytest.param("a/b/c", "x", id="two slashes in the key"),
        pytest.param("k" * 64, "x", id="a key of 64 characters"),
    ],
)
def test_a_label_that_no_api_server_takes_is_left_out(key: str, value: str) -> None:
    made = export(labels={key: value, "good": "1"})
    assert naming.copied_labels(made, link()) == {"good": "1"}


@pytest.mark.parametrize(
    "key, value, kept",
    [
        pytest.param("note", "any text: \u00fc {}\n", True, id="any text"),
        pytest.param("note", "x" * 4096, True, id="4 KB"),
        pytest.param("note", "x" * 4097, False, id="more than 4 KB"),
        pytest.param("note", "\u00fc" * 2049, False, id="more than 4 KB of bytes"),
        pytest.param("note", "x" * 300_000, False, id="300 KB"),
        pytest.param("no te", "x", False, id="a space in the key"),
    ],
)
def test_annotations_are_copied_within_reason(key: str, value: str, kept: bool) -> None:
    copied = naming.copied_annotations(export(annotations={key: value}), link())
    assert (key in copied) is kept


def test_many_annotations_are_cut_below_what_the_api_server_takes() -> None:
    many = {f"note-{number:03d}": "x" * 4000 for number in range(200)}
    copied = naming.copied_annotations(export(annotations=many), link())
    assert sum(len(key) + len(value) for key, value in copied.items()) <= naming.ROOM
    assert copied == {key: many[key] for key in sorted(many)[: len(copied)]}


def test_our_own_keys_are_always_computed() -> None:
    forged = {
        names.MIRRORED: "false",
        names.CLUSTER: "mars",
        names.REMOTE_NAME: "evil.shop.svc.west.cluster.local",
        names.LINK_UID: "another-link",
        names.REMOTE_UID: "another-uid",
    }
    local = Source()
    made = export(labels={**EXPORT_LABEL, **forged, "team": "a"}, annotations=forged)
    local.settle(view(link("west"), made))
    (mirror,) = local.services.values()
    assert mirror.metadata.labels == {names.MIRRORED: "true", names.CLUSTER: "west", "team": "a"}
    assert mirror.metadata.annotations == {
        names.REMOTE_NAME: "web.shop.svc.west.cluster.local",
        names.LINK_UID: "link-west",
        names.REMOTE_UID: "uid-of-web",
        names.REMOTE_VERSION: "7",
    }


def test_every_object_says_whose_it_is() -> None:
    local = Source()
    made = headless("nginx-svc", "nginx-set-0", annotations={"note": "x"})
    local.settle(view(link("west"), made))
    own = local.services[Key("shop", "nginx-set-0-west")].metadata
    assert own.labels == {
        names.MIRRORED: "true",
        names.CLUSTER: "west",
        names.HEADLESS_MIRROR: "nginx-svc-west",
    }
    remote = "nginx-set-0.nginx-svc.shop.svc.west.cluster.local"
    assert own.annotations[names.REMOTE_NAME] == remote
    services = [one.metadata for one in local.services.values()]
    slices = [one.metadata for one in local.slices.values()]
    for metadata in (*services, *slices):
        assert metadata.labels[names.MIRRORED] == "true"
        assert metadata.labels[names.CLUSTER] == "west"
        assert metadata.annotations[names.LINK_UID] == "link-west"
        assert metadata.annotations[names.REMOTE_UID] == "uid-of-nginx-svc"
    assert {one.labels[names.MANAGED_BY] for one in slices} == {"isthmus.dev"}
