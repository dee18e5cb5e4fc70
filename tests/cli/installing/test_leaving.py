"""What goes when Isthmus goes, and what stays because somebody else needs it."""

import pytest

from isthmus.cli.installing.leaving import LinksExist, Seen, decide
from isthmus.install import possible
from isthmus.install.parts import ISTHMUS, PART_OF
from isthmus.model.wire import JsonObject

NAMESPACE, DEFINITION = "Namespace", "CustomResourceDefinition"


def there(kind: str, name: str, *, ours: bool = True) -> JsonObject:
    labels = {PART_OF: ISTHMUS} if ours else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels}}


def installed() -> tuple[JsonObject, ...]:
    """Everything that an installation can have made."""
    found = possible("isthmus")
    for one in found:
        one["metadata"]["labels"] = {PART_OF: ISTHMUS}
    return tuple(found)


def test_everything_goes_the_other_way_round() -> None:
    seen = Seen(objects=installed())
    found = decide(seen, force=False)
    assert found.stays == ()
    assert len(found.goes) == len(seen.objects)
    kinds = [one["kind"] for one in found.goes]
    assert kinds[:3] == ["Deployment"] * 3
    assert kinds[-3:] == [DEFINITION, DEFINITION, NAMESPACE]
    assert kinds.index("ClusterRoleBinding") < kinds.index("ClusterRole")


@pytest.mark.parametrize("links", [("west",), ("a", "b", "c", "d", "e", "f", "g")])
def test_links_are_in_the_way_and_named(links: tuple[str, ...]) -> None:
    with pytest.raises(LinksExist) as refused:
        decide(Seen(links=links, objects=installed()), force=False)
    text = str(refused.value)
    assert ", ".join(links[:5]) in text
    assert ("and 2 more" in text) == (len(links) > 5)
    assert "`isthmus unlink`" in text
    assert "--force" in text


@pytest.mark.parametrize(
    "seen, stays",
    [
        pytest.param(
            Seen(links=("west",)),
            f"{DEFINITION.lower()}/links.isthmus.dev stays: with it would go link west",
            id="by force, Links and their kind stay",
        ),
        pytest.param(
            Seen(grants=("east",)),
            f"{DEFINITION.lower()}/grants.isthmus.dev stays: with it would go grant east",
            id="Grants keep their kind",
        ),
        pytest.param(
            Seen(others=(there("Secret", "mine", ours=False),)),
            "namespace/isthmus stays: with it would go secret/mine",
            id="somebody's Secret keeps the namespace",
        ),
        pytest.param(
            Seen(others=None),
            "namespace/isthmus stays: with it would go everything in it, and you may not see all",
            id="what cannot be seen may be somebody's",
        ),
    ],
)
def test_what_others_need_stays(seen: Seen, stays: str) -> None:
    whole = Seen(links=seen.links, grants=seen.grants, others=seen.others, objects=installed())
    found = decide(whole, force=True)
    assert any(line.startswith(stays) for line in found.stays), found.stays
    named = {f"{one['kind'].lower()}/{one['metadata']['name']}" for one in found.goes}
    assert stays.partition(" ")[0] not in named


@pytest.mark.parametrize(
    "other",
    [
        there("Pod", "isthmus-egress-1"),
        there("ConfigMap", "kube-root-ca.crt", ours=False),
        there("ServiceAccount", "default", ours=False),
        there("ConfigMap", "isthmus-trust-seen", ours=False),
        there("Lease", "isthmus-controller", ours=False),
        there("Event", "any", ours=False),
        there("EndpointSlice", "isthmus-egress-abc", ours=False),
    ],
    ids=lambda one: one["metadata"]["name"],
)
def test_what_comes_with_a_namespace_or_with_us_keeps_nothing(other: JsonObject) -> None:
    assert decide(Seen(objects=installed(), others=(other,)), force=False).stays == ()


def test_what_has_our_name_and_not_our_label_is_somebody_elses() -> None:
    seen = Seen(objects=(there("Secret", "isthmus-issuer", ours=False),))
    found = decide(seen, force=False)
    assert found.goes == ()
    assert found.stays == (
        "secret/isthmus-issuer stays: it does not carry the label of an installation",
    )


@pytest.mark.parametrize(
    "homes, subject", [(("isthmus", "mesh"), "isthmus"), ((), "mesh"), (("mesh",), "mesh")]
)
def test_what_is_shared_stays_while_another_namespace_has_an_installation(
    homes: tuple[str, ...], subject: str
) -> None:
    objects = installed()
    for one in objects:
        if one["kind"] == "ClusterRoleBinding":
            one["subjects"] = [{"kind": "ServiceAccount", "name": "any", "namespace": subject}]
    found = decide(Seen(homes=homes, links=("west",), objects=objects), force=False)
    shared = {"ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy", DEFINITION}
    assert not shared & {one["kind"] for one in found.goes}
    assert {"Deployment", NAMESPACE} <= {one["kind"] for one in found.goes}
    line = "clusterrole/isthmus-controller stays: it belongs to Isthmus in mesh"
    assert line in found.stays


def test_what_a_controller_has_made_goes_without_a_label() -> None:
    seen = Seen(objects=(there("Lease", "isthmus-controller", ours=False),))
    assert decide(seen, force=False).goes == seen.objects
