"""Certificates, keys and requests, in PEM and in DER, and what is written down about them."""

import re
from contextlib import suppress
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from isthmus.model.identities import MESH_DOMAIN
from isthmus.pki import bundle, pem, reports
from isthmus.pki.bundle import BadBundle
from isthmus.pki.describe import describe
from isthmus.pki.facts import Unreadable, facts
from isthmus.pki.issue import BadCsr, key_of
from isthmus.pki.keys import is_our_curve, read_certificates, read_key, read_pair, without_keys
from isthmus.pki.pem import BadPem
from isthmus.pki.reports import BadReports
from isthmus.pki.verify import Untrusted, identify, pod_of, read_leaf, verify
from isthmus.xds import leaves
from tests.fuzz.target import refusing, target, text_of
from tests.support.pki import NOW, anchor


@target
def pem_text(data: bytes) -> None:
    for given in (data, text_of(data)):
        with refusing(BadPem):
            found = pem.blocks(given, "the file", 1 << 16)
            again = pem.blocks(b"".join(one.pem() for one in found), "the file", 1 << 20)
            assert [(one.label, one.der) for one in again] == [(o.label, o.der) for o in found]


@target
def trust_bundle(data: bytes) -> None:
    with refusing(BadPem, BadBundle):
        found = bundle.parse(data)
        assert 0 < len(found.anchors) <= bundle.MOST_ANCHORS
        assert bundle.parse(found.pem()) == found
        found.problems(NOW)


@target
def signing_request(data: bytes) -> None:
    with refusing(BadCsr):
        assert is_our_curve(key_of(data).curve)


@target
def private_key(data: bytes) -> None:
    with refusing(BadPem):
        assert is_our_curve(read_key(data, "the key").curve)
    with refusing(BadPem):
        read_pair(data, data, "the issuer")


@target
def certificates(data: bytes) -> None:
    with refusing(BadPem):
        without_keys(data, "the file")
    with refusing(BadPem):
        for one in read_certificates(data, "the chain"):
            describe(one, NOW)


@target
def leaf(data: bytes) -> None:
    """In DER, as TLS libraries hand it over. ``Untrusted`` is all that may be said against it."""
    try:
        shown = read_leaf(data)
    except Untrusted:
        return
    with refusing(Unreadable):
        if facts(shown).is_authority:
            assert _is_called_an_authority(shown), "an authority that Envoy does not find"
    with refusing(Untrusted):
        found = identify(shown, MESH_DOMAIN)
        assert str(found) in text_of(data), "a name that is not in the certificate"
        pod_of(shown)
    with refusing(Untrusted):
        verify((shown, anchor().certificate), bundle.of([anchor().certificate]), NOW)
    describe(shown, NOW)


def _is_called_an_authority(shown: x509.Certificate) -> bool:
    return bool(_authorities().search(shown.public_bytes(Encoding.PEM).decode()))


@cache
def _authorities() -> re.Pattern[str]:
    """Return what Envoy is told to search for."""
    return re.compile("|".join(one for some in leaves.AUTHORITY for one in leaves.spelled(some)))


@target
def reports_of_members(data: bytes) -> None:
    with refusing(BadReports):
        found = reports.read(text_of(data))
        assert reports.read(reports.written(found)) == found
    with suppress(UnicodeDecodeError):
        reports.news({"a": data.decode(), "a.own": data.decode()}).of_proxy("a")
