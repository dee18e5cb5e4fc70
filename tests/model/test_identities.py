from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.model.identities import (
    MESH_DOMAIN,
    Identity,
    NotAnIdentity,
    check_mesh_domain,
    parse,
    trust_domain,
)
from isthmus.model.syntax import DNS_LABEL, SUBDOMAIN

LABELS = st.from_regex(DNS_LABEL, fullmatch=True)
EAST = "spiffe://east.isthmus/ns/default/sa/curl"


def test_how_an_identity_is_written() -> None:
    identity = Identity("east", MESH_DOMAIN, "default", "curl")
    assert str(identity) == EAST
    assert identity.trust_domain == "east.isthmus"


@given(
    cluster=LABELS,
    mesh_domain=st.from_regex(SUBDOMAIN, fullmatch=True).filter(lambda text: len(text) < 190),
    namespace=LABELS,
    account=st.from_regex(SUBDOMAIN, fullmatch=True).filter(lambda text: len(text) < 254),
)
def test_what_is_written_is_read(
    cluster: str, mesh_domain: str, namespace: str, account: str
) -> None:
    identity = Identity(cluster, mesh_domain, namespace, account)
    assert parse(str(identity), mesh_domain) == identity
    assert trust_domain(cluster, mesh_domain) == identity.trust_domain


@given(st.one_of(st.text(), st.text().map(lambda text: f"spiffe://east.isthmus/ns/{text}")))
def test_there_is_one_way_to_write_an_identity(text: str) -> None:
    with suppress(NotAnIdentity):
        assert str(parse(text, MESH_DOMAIN)) == text


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "spiffe://",
        EAST.upper(),
        EAST.replace("east", "East"),
        EAST.replace("curl", "Curl"),
        EAST.replace("spiffe", "SPIFFE"),
        EAST.replace("spiffe", "https"),
        EAST + "/",
        EAST + "?x",
        EAST + "#x",
        EAST + "\n",
        " " + EAST,
        EAST + "%00",
        EAST.replace("curl", ""),
        EAST.replace("curl", ".."),
        EAST.replace("curl", "c%75rl"),
        EAST.replace("/ns", "//ns"),
        EAST.replace("/ns/", "/ns/../ns/"),
        EAST.replace("/sa/", "/pod/"),
        EAST.replace("default", "a.b"),
        EAST.replace("isthmus", "isthmus."),
        EAST.replace("isthmus", "isthmus:443"),
        EAST.replace("east.isthmus", "isthmus"),
        EAST.replace("east.isthmus", ".isthmus"),
        EAST.replace("east", "a.east"),
        EAST.replace("east", "me@east"),
        EAST.replace("isthmus", "other"),
        EAST.replace("curl", "c" * 254),
    ],
    ids=repr,
)
def test_anything_else_is_refused(uri: str) -> None:
    with pytest.raises(NotAnIdentity, match="is not an identity of this mesh; expected "):
        parse(uri, MESH_DOMAIN)


@pytest.mark.parametrize("name", ["", "a.b", "West", "-west", "w" * 64])
def test_the_name_of_a_cluster_is_one_label(name: str) -> None:
    with pytest.raises(NotAnIdentity, match="is not the name of a cluster"):
        trust_domain(name, MESH_DOMAIN)


@pytest.mark.parametrize("domain", ["", ".isthmus", "Isthmus", "a..b", "a." * 100 + "a"])
def test_a_mesh_domain_is_a_dns_name_with_room_for_a_cluster(domain: str) -> None:
    with pytest.raises(NotAnIdentity, match="is not a mesh domain"):
        check_mesh_domain(domain)
