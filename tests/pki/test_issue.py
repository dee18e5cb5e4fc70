"""What anchors, issuers and leaves say, and what is not signed."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from isthmus.model.identities import Identity, NotAnIdentity
from isthmus.pki import pem
from isthmus.pki.anchor import create_anchor
from isthmus.pki.facts import facts
from isthmus.pki.issue import BadCsr, issue, key_of
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair, csr, key_pem, new_key
from isthmus.pki.shape import LEEWAY, CannotIssue
from tests.support.pki import HOUR, NOW, anchor, authority, identity, issuer, permits

DAY = timedelta(days=1)


def test_an_anchor_signs_issuers_of_its_mesh_and_nothing_below_them() -> None:
    found = facts(anchor().certificate)
    assert (found.is_authority, found.path_length, found.signs_certificates) == (True, 1, True)
    assert found.permitted == (".isthmus",)
    assert anchor().certificate.not_valid_before_utc == NOW - LEEWAY
    assert anchor().certificate.not_valid_after_utc == NOW + timedelta(days=3650)


def test_an_issuer_signs_leaves_of_its_cluster() -> None:
    certificate = issuer("west").certificate
    found = facts(certificate)
    assert (found.is_authority, found.path_length, found.signs_certificates) == (True, 0, True)
    assert found.permitted == ("west.isthmus",)
    for kind in (x509.BasicConstraints, x509.KeyUsage, x509.NameConstraints):
        assert certificate.extensions.get_extension_for_class(kind).critical


def test_two_anchors_never_share_a_name() -> None:
    assert create_anchor("isthmus", NOW).certificate.subject != anchor().certificate.subject


def test_a_leaf_names_one_account_and_nothing_else() -> None:
    leaf = issue(issuer(), identity(), new_key().public_key(), NOW)
    found = facts(leaf)
    assert found.uris == ("spiffe://east.isthmus/ns/default/sa/curl",)
    assert found.other_names == ()
    assert found.purposes == {"client", "server"}
    assert (found.is_authority, found.signs_certificates, found.signs) == (False, False, True)
    assert len(leaf.subject) == 0
    assert leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).critical
    assert leaf.extensions.get_extension_for_class(x509.BasicConstraints).critical
    leaf.verify_directly_issued_by(issuer().certificate)


@pytest.mark.parametrize(
    "after, begin, end",
    [
        pytest.param(3 * DAY, 2 * DAY, 4 * DAY, id="for a day, and for the day before"),
        pytest.param(0 * DAY, -LEEWAY, DAY, id="never before the issuer"),
        pytest.param(-LEEWAY, -LEEWAY, DAY - LEEWAY, id="at the issuer's first moment"),
        pytest.param(364.5 * DAY, 363.5 * DAY, 365 * DAY, id="never beyond the issuer"),
    ],
)
def test_when_a_leaf_holds(after: timedelta, begin: timedelta, end: timedelta) -> None:
    leaf = issue(issuer(), identity(), new_key().public_key(), NOW + after)
    assert leaf.not_valid_before_utc == NOW + begin
    assert leaf.not_valid_after_utc == NOW + end


def test_an_issuer_ends_with_its_anchor() -> None:
    late = NOW + 3600 * DAY
    certificate = create_issuer(anchor(), "west", "isthmus", late).certificate
    assert certificate.not_valid_before_utc == late - LEEWAY
    assert certificate.not_valid_after_utc == anchor().certificate.not_valid_after_utc


def _leaf(above: Pair, who: Identity, later: timedelta = timedelta()) -> x509.Certificate:
    return issue(above, who, new_key().public_key(), NOW + later)


@pytest.mark.parametrize(
    "attempt, reason",
    [
        pytest.param(
            lambda: _leaf(issuer("east"), identity("west")),
            "the issuer may vouch for east.isthmus, not for west.isthmus",
            id="for another cluster",
        ),
        pytest.param(
            lambda: _leaf(authority(anchor(), None), identity()),
            "the issuer is not constrained to one cluster",
            id="by an issuer without constraint",
        ),
        pytest.param(
            lambda: _leaf(
                authority(anchor(), permits("east.isthmus"), is_authority=False), identity()
            ),
            "the issuer of east.isthmus is not an authority",
            id="by no authority",
        ),
        pytest.param(
            lambda: _leaf(issuer(), identity(), 366 * DAY),
            "make another with `isthmus trust issue --cluster east`",
            id="by an expired issuer",
        ),
        pytest.param(
            lambda: _leaf(issuer(), identity(), -DAY),
            "the issuer of east.isthmus holds from",
            id="by an issuer of the future",
        ),
        pytest.param(
            lambda: create_issuer(anchor(), "west", "isthmus", NOW, -HOUR),
            "must hold for longer than no time",
            id="an issuer for no time",
        ),
        pytest.param(
            lambda: create_issuer(issuer(), "west", "isthmus", NOW),
            "must not sign issuers",
            id="an issuer by an issuer",
        ),
        pytest.param(
            lambda: create_issuer(anchor(), "west", "other", NOW),
            "the anchor vouches for .isthmus only, not for west.other",
            id="an issuer of another mesh",
        ),
        pytest.param(
            lambda: create_issuer(anchor(), "west", "isthmus", NOW + 3651 * DAY),
            "create another with `isthmus trust create`",
            id="an issuer by an expired anchor",
        ),
        pytest.param(
            lambda: create_issuer(anchor(), "west", "isthmus", NOW - DAY),
            "the anchor holds from",
            id="an issuer by an anchor of the future",
        ),
    ],
)
def test_what_is_not_signed(attempt: Callable[[], object], reason: str) -> None:
    with pytest.raises(CannotIssue) as refusal:
        attempt()
    assert reason in str(refusal.value)


def test_names_that_are_none_are_not_signed() -> None:
    with pytest.raises(NotAnIdentity):
        _leaf(issuer(), Identity("east", "isthmus", "default", "curl/../root"))
    with pytest.raises(NotAnIdentity):
        create_issuer(anchor(), "west.isthmus", "isthmus", NOW)


def test_a_request_gives_its_key_and_nothing_else() -> None:
    key = new_key()
    greedy = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "root")]))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.UniformResourceIdentifier(str(identity("west")))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    assert key_of(greedy) == key_of(csr(key)) == key.public_key()
    leaf = issue(issuer(), identity(), key_of(greedy), NOW)
    assert facts(leaf).uris == (str(identity()),)
    assert not facts(leaf).is_authority


def test_keys_that_are_certified() -> None:
    p384 = ec.generate_private_key(ec.SECP384R1())
    assert key_of(csr(p384)) == p384.public_key()


def _request(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey,
) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.PEM)


def _der() -> bytes:
    return pem.blocks(csr(new_key()), "it", 10_000)[0].der


def _sent(der: bytes) -> bytes:
    return pem.Block(pem.REQUEST, 1, der).pem()


def _with_point(point: bytes) -> bytes:
    """A request in which another public key stands than the one that signed it."""
    der = _der()
    at = der.index(POINT) + len(POINT)
    return _sent(der[:at] + point + der[at + len(point) :])


def _other_point() -> bytes:
    return _der().partition(POINT)[2][:64]


POINT = b"\x03\x42\x00\x04"  # a BIT STRING of 66 bytes with an uncompressed point of P-256
DAMAGED = "the request is damaged, or of a form that is not supported"
NOT_OURS = "the request's key is not ECDSA on P-256 or P-384"


@pytest.mark.parametrize(
    "request_pem, sentence",
    [
        pytest.param(b"", "the request is empty", id="empty"),
        pytest.param(b"\n \n", "the request is empty", id="blank"),
        pytest.param(b"x" * (16 * 1024 + 1), "the request is larger than 16 KiB", id="too large"),
        pytest.param(b"x" * (1 << 20), "the request is larger than 16 KiB", id="a megabyte"),
        pytest.param(b"hello", "the request: line 1 is neither PEM nor a comment", id="not PEM"),
        pytest.param(csr(new_key()) * 2, "the request has 2 PEM blocks, expected one", id="two"),
        pytest.param(
            b"x\n" + csr(new_key()),
            "the request: line 1 is neither PEM nor a comment",
            id="with a word",
        ),
        pytest.param(
            key_pem(new_key()),
            "the request: line 1 begins a private key, which does not belong here; "
            "remove it, and replace the key if others could read it",
            id="a private key",
        ),
        pytest.param(
            pem.Block("CERTIFICATE", 1, b"0").pem(),
            "the request: line 1 begins a CERTIFICATE, expected a CERTIFICATE REQUEST",
            id="a certificate",
        ),
        pytest.param(_sent(b"0"), DAMAGED, id="no DER"),
        pytest.param(_sent(_der() + b"x"), DAMAGED, id="trailing bytes"),
        pytest.param(_with_point(b"\x01" * 64), DAMAGED, id="a point off the curve"),
        pytest.param(
            _sent(_der().replace(b"\x02\x01\x00", b"\x02\x01\x05", 1)), DAMAGED, id="version 6"
        ),
        pytest.param(
            _with_point(_other_point()),
            "the request is not signed by the key that it names",
            id="stolen",
        ),
        pytest.param(_request(rsa.generate_private_key(65537, 2048)), NOT_OURS, id="RSA"),
        pytest.param(_request(ed25519.Ed25519PrivateKey.generate()), NOT_OURS, id="Ed25519"),
        pytest.param(_request(ec.generate_private_key(ec.SECP521R1())), NOT_OURS, id="P-521"),
        pytest.param(_request(ec.generate_private_key(ec.SECP256K1())), NOT_OURS, id="secp256k1"),
    ],
)
def test_bad_requests_get_one_sentence(request_pem: bytes, sentence: str) -> None:
    with pytest.raises(BadCsr) as refusal:
        key_of(request_pem)
    assert str(refusal.value) == sentence
