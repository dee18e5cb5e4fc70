"""Trust bundles: what is one, and one exact sentence for what is not."""

import re
from base64 import b64encode
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from isthmus.model.errors import Permanent
from isthmus.pki import bundle, pem
from isthmus.pki.anchor import create_anchor
from isthmus.pki.bundle import BadBundle
from isthmus.pki.keys import chain_pem, fingerprint, key_pem
from isthmus.pki.pem import BadPem
from tests.support.certificates import of_version_18
from tests.support.pki import NOW, anchor, authority, credentials, identity, issuer

GOOD = chain_pem(anchor().certificate)
OTHER = create_anchor("isthmus", NOW, timedelta(days=1)).certificate
BODY = GOOD.split(b"\n")[1:-2]
LINES = GOOD.count(b"\n")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GOOD, id="as it is written"),
        pytest.param(GOOD.decode(), id="as text"),
        pytest.param(GOOD.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(GOOD.strip(), id="no newline at its end"),
        pytest.param(b"\n\n" + GOOD + b"\n \n", id="newlines around it"),
        pytest.param(re.sub(rb"(?m)^", b"    ", GOOD), id="indented, as in YAML"),
        pytest.param(b"# west, 2026\n" + GOOD, id="a comment"),
        pytest.param("# ümlaut\n".encode() + GOOD, id="a comment in any language"),
        pytest.param(b"\xef\xbb\xbf" + GOOD, id="a byte order mark"),
        pytest.param(GOOD + GOOD, id="twice the same"),
    ],
)
def test_what_copying_does_to_an_anchor_does_no_harm(text: str | bytes) -> None:
    assert bundle.parse(text) == bundle.of([anchor().certificate])
    assert bundle.parse(text).pem() == GOOD


WHAT = "the trust bundle"
LEAF = credentials(identity()).chain[0]
ROOT_OF_NONE = authority(None, None, path_length=0).certificate
FORGED = authority(authority(None, None, path_length=1), None, path_length=1).certificate


@pytest.mark.parametrize(
    "text, sentence",
    [
        pytest.param(b"", f"{WHAT} is empty", id="empty"),
        pytest.param(" \n\r\n\t", f"{WHAT} is empty", id="whitespace"),
        pytest.param("# later\n", f"{WHAT} is empty", id="comments"),
        pytest.param(b"#" * 70_000, f"{WHAT} is larger than 64 KiB", id="too large"),
        pytest.param("hello", f"{WHAT}: line 1 is neither PEM nor a comment", id="not PEM"),
        pytest.param(
            anchor().certificate.public_bytes(Encoding.DER),
            f"{WHAT} is DER, not PEM; convert it with `openssl x509 -inform der`",
            id="DER",
        ),
        pytest.param(
            b64encode(GOOD),
            f"{WHAT}: line 1 is neither PEM nor a comment; "
            "it looks as if it were encoded in base64 twice",
            id="base64 twice",
        ),
        pytest.param(
            GOOD[:-30],
            f"{WHAT}: the block of line 1 is cut off, it has no END line",
            id="cut off",
        ),
        pytest.param(
            b"\n".join(GOOD.split(b"\n")[1:]),
            f"{WHAT}: line 1 is neither PEM nor a comment",
            id="without its head",
        ),
        pytest.param(
            GOOD.replace(b"END CERTIFICATE", b"END CERT"),
            f"{WHAT}: the block of line 1 has another end than begin",
            id="another end",
        ),
        pytest.param(
            GOOD[:200] + b"\n" + GOOD,
            f"{WHAT}: the block of line 1 has another end than begin",
            id="one inside another",
        ),
        pytest.param(
            GOOD.replace(BODY[1], BODY[1][:-3]),
            f"{WHAT}: the block of line 1 is damaged, it is not base64",
            id="base64 with a gap",
        ),
        pytest.param(
            GOOD.replace(BODY[1], b"!" + BODY[1][1:]),
            f"{WHAT}: the block of line 1 is damaged, it is not base64",
            id="base64 with a strange sign",
        ),
        pytest.param(
            GOOD.replace(BODY[1] + b"\n", b""),
            f"{WHAT}: the certificate of line 1 is damaged",
            id="a line is missing",
        ),
        pytest.param(
            of_version_18(GOOD),
            f"{WHAT}: the certificate of line 1 is damaged",
            id="an unknown version",
        ),
        pytest.param(
            "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
            f"{WHAT}: the block of line 1 is empty",
            id="nothing inside",
        ),
        pytest.param(
            GOOD + key_pem(anchor().key),
            f"{WHAT}: line {LINES + 1} begins a "
            "private key, which does not belong here; remove it, and replace the key if others "
            "could read it",
            id="with its key",
        ),
        pytest.param(
            pem.Block("X509 CRL", 1, b"0").pem(),
            f"{WHAT}: line 1 begins a X509 CRL, expected a CERTIFICATE",
            id="something else",
        ),
        pytest.param(
            chain_pem(LEAF),
            f"{WHAT}: the certificate {fingerprint(LEAF)[:16]} is not an authority but a leaf; "
            "put the trust anchor here (anchor.crt)",
            id="a leaf",
        ),
        pytest.param(
            chain_pem(issuer().certificate),
            f"{WHAT}: the certificate {fingerprint(issuer().certificate)[:16]} is not a root but "
            "an issuer; put the trust anchor here (anchor.crt)",
            id="an issuer",
        ),
        pytest.param(
            chain_pem(ROOT_OF_NONE),
            f"{WHAT}: the certificate {fingerprint(ROOT_OF_NONE)[:16]} allows no issuers below "
            "it (path length 0)",
            id="a root without issuers",
        ),
        pytest.param(
            chain_pem(FORGED),
            f"{WHAT}: the certificate {fingerprint(FORGED)[:16]} is not signed by its own key",
            id="a root that another signed",
        ),
        pytest.param(
            chain_pem(*(create_anchor("isthmus", NOW).certificate for _ in range(17))),
            f"{WHAT} has 17 anchors, at most 16 are allowed",
            id="too many",
        ),
    ],
)
def test_what_is_no_bundle_gets_one_sentence(text: str | bytes, sentence: str) -> None:
    with pytest.raises((BadPem, BadBundle)) as refusal:
        bundle.parse(text)
    assert str(refusal.value) == sentence


@given(st.binary(max_size=300) | st.text(max_size=300), st.integers(0, len(GOOD)))
def test_any_input_is_a_bundle_or_a_permanent_failure(noise: bytes | str, at: int) -> None:
    text = noise.encode() if isinstance(noise, str) else noise
    for given_text in (noise, GOOD[:at] + text + GOOD[at:]):
        try:
            bundle.parse(given_text)
        except Permanent:
            continue


def test_the_digest_does_not_depend_on_the_order() -> None:
    both, swapped = ([anchor().certificate, OTHER], [OTHER, anchor().certificate])
    assert bundle.of(both) == bundle.of(swapped)
    assert bundle.of(both).digest == bundle.of(swapped).digest
    assert len(bundle.of(both).digest) == 64
    assert bundle.of(both).digest != bundle.of([OTHER]).digest


def test_anchors_come_and_go() -> None:
    one = bundle.of([anchor().certificate])
    two = bundle.of((*one.anchors, OTHER))
    assert set(two.fingerprints) == {fingerprint(anchor().certificate), fingerprint(OTHER)}
    assert bundle.of((*two.anchors, OTHER)) == two
    assert two.without(fingerprint(OTHER)) == one
    assert bundle.parse(two.pem()) == two
    with pytest.raises(BadBundle, match="the last anchor cannot be dropped"):
        one.without(*one.fingerprints)
    with pytest.raises(BadBundle, match="has no anchor"):
        bundle.of([])


def test_an_expired_anchor_among_others_is_named_and_kept() -> None:
    both = bundle.of([anchor().certificate, OTHER])
    assert both.problems(NOW) == ()
    (problem,) = both.problems(NOW + timedelta(days=2))
    assert problem.startswith(f"the trust bundle: the anchor {fingerprint(OTHER)[:16]} expired at ")
    assert "; the clock here says " in problem
    early = both.problems(NOW - timedelta(days=2))
    assert len(early) == 2
    assert all("holds only from" in each for each in early)
