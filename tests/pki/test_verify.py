"""Whom a chain proves: our verifier and OpenSSL, on one table of good and hostile certificates."""

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from isthmus.model.identities import Identity
from isthmus.pki import bundle
from isthmus.pki.anchor import mesh_domain_of
from isthmus.pki.describe import describe
from isthmus.pki.verify import Untrusted, identify, pod_of, read_leaf, verify
from tests.pki.handshakes import handshake
from tests.support.pki import (
    HOSTILE,
    NOW,
    UNREADABLE,
    anchor,
    authority,
    credentials,
    hostile,
    identity,
    issuer,
    permits,
    unreadable,
)

ANCHORS = bundle.of([anchor().certificate])


@pytest.mark.parametrize("who", [identity("east"), identity("west", "gateway", "isthmus")], ids=str)
def test_what_an_issuer_signs_for_its_own_cluster_is_trusted(who: Identity) -> None:
    shown = credentials(who)
    assert verify(shown.chain, ANCHORS, NOW) == who
    assert identify(shown.chain[0], who.mesh_domain) == who
    assert handshake(shown, credentials(identity("west", "gateway")), ANCHORS) == ""
    assert handshake(credentials(identity()), shown, ANCHORS) == ""


@pytest.mark.parametrize(
    "pod", ["", "gateway-6c3ff8eb53-d9xj7", "gateway.example.org", "a" * 63 + ".b" * 95]
)
def test_a_certificate_says_which_pod_got_it_and_is_good_all_the_same(pod: str) -> None:
    who = identity("west", "gateway", "isthmus")
    shown = credentials(who, pod)
    assert verify(shown.chain, ANCHORS, NOW) == who
    assert pod_of(shown.chain[0]) == pod
    assert handshake(shown, shown, ANCHORS) == ""


@pytest.mark.parametrize("name", HOSTILE)
def test_our_verifier_refuses_every_hostile_certificate(name: str) -> None:
    with pytest.raises(Untrusted) as refusal:
        verify(hostile(name).chain, ANCHORS, NOW)
    assert HOSTILE[name].reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", HOSTILE)
def test_openssl_refuses_those_that_it_can(name: str) -> None:
    refused = handshake(hostile(name), credentials(identity("west", "gateway")), ANCHORS)
    assert bool(refused) is ("openssl" in HOSTILE[name].handshake), refused


def test_openssl_says_that_east_cannot_speak_for_west() -> None:
    gateway = credentials(identity("west", "gateway"))
    stolen = hostile("west from east's issuer")
    assert handshake(stolen, gateway, ANCHORS) == "permitted subtree violation"
    assert handshake(credentials(identity()), stolen, ANCHORS) == "permitted subtree violation"


@pytest.mark.parametrize(
    "later, reason",
    [
        pytest.param(timedelta(hours=25), "the leaf expired at", id="leaf"),
        pytest.param(timedelta(days=366), "the issuer expired at", id="issuer"),
        pytest.param(timedelta(days=3651), "the trust anchor expired at", id="anchor"),
        pytest.param(-timedelta(days=1), "the trust anchor holds only from", id="early"),
    ],
)
def test_every_certificate_of_the_chain_has_its_time(later: timedelta, reason: str) -> None:
    with pytest.raises(Untrusted, match=reason):
        verify(credentials(identity()).chain, ANCHORS, NOW + later)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, case in HOSTILE.items()
        # Whoever has the anchor's key may name anybody.
        if "openssl" not in case.handshake and "anchor" not in name and "issuer" not in name
    ],
)
def test_a_leaf_that_openssl_let_pass_is_still_judged(name: str) -> None:
    with pytest.raises(Untrusted):
        identify(hostile(name).chain[0], "isthmus")


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_certificate_that_nobody_can_read_proves_nothing(what: str) -> None:
    with pytest.raises(Untrusted, match=r"cannot be read: its extensions are|is not signed by"):
        verify((unreadable(what), issuer().certificate), ANCHORS, NOW)
    with pytest.raises(bundle.BadBundle, match="cannot be read: its extensions are"):
        bundle.of((unreadable(what),))


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_certificate_that_nobody_can_read_is_described_as_such(what: str) -> None:
    found = describe(unreadable(what), NOW)
    assert (found.role, found.names) == ("leaf", ())
    assert "it cannot be read: its extensions are" in "".join(found.problems)


@pytest.mark.parametrize("form", [Encoding.PEM, Encoding.DER])
def test_a_leaf_is_read_in_whatever_form_a_tls_library_shows_it(form: Encoding) -> None:
    leaf = credentials(identity()).chain[0]
    assert read_leaf(leaf.public_bytes(form)) == leaf


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\n", id="the beginning of PEM"),
        pytest.param(
            b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", id="PEM of nothing"
        ),
        pytest.param(b"\x30\x00", id="DER of nothing"),
        pytest.param(credentials(identity()).chain[0].public_bytes(Encoding.DER)[:-1], id="cut"),
    ],
)
def test_a_leaf_that_cannot_be_read_proves_nobody(shown: bytes) -> None:
    with pytest.raises(Untrusted, match="the leaf cannot be read"):
        read_leaf(shown)


def test_only_an_anchor_of_ours_says_of_which_mesh_it_is() -> None:
    assert mesh_domain_of(anchor().certificate) == "isthmus"
    for other in (authority(None, None), authority(None, permits("east.isthmus"))):
        assert mesh_domain_of(other.certificate) is None
