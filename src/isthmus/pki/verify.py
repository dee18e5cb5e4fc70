"""Our own verifier: whom a chain of certificates proves, or exactly why it proves nobody.

It demands what a TLS library leaves open: exactly one name, and an issuer that is constrained to
the cluster which that name is of.
"""

from collections.abc import Sequence
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from isthmus.model.errors import Permanent
from isthmus.model.identities import Identity, NotAnIdentity, parse
from isthmus.model.times import second_time
from isthmus.pki.bundle import Bundle
from isthmus.pki.facts import DAMAGED, Facts, Unreadable, facts, read, untimely
from isthmus.pki.shape import POD


class Untrusted(Permanent):
    """A chain of certificates that proves nobody."""


def verify(chain: Sequence[x509.Certificate], anchors: Bundle, now: datetime) -> Identity:
    """Return whom ``chain`` (the leaf, then its issuer) proves; raise :class:`Untrusted`."""
    if len(chain) != 2:
        raise Untrusted(f"{len(chain)} certificates were sent, expected a leaf and its issuer")
    leaf, issuer = chain
    anchor = anchor_of(issuer, anchors)
    if not _signed(leaf, issuer):
        raise Untrusted("the leaf is not signed by the issuer that was sent with it")
    for certificate, role in ((anchor, "trust anchor"), (issuer, "issuer"), (leaf, "leaf")):
        if wrong := untimely(certificate, now):
            raise Untrusted(f"the {role} {wrong}, the clock here says {second_time(now)}")
    host = _check_issuer(_read(issuer, "issuer"), _read(anchor, "trust anchor"))
    _, _, mesh_domain = host.partition(".")
    identity = identify(leaf, mesh_domain)
    if identity.trust_domain != host:
        raise Untrusted(f"the leaf is for {identity.trust_domain}, its issuer for {host} only")
    return identity


def read_leaf(shown: bytes) -> x509.Certificate:
    """Return what a TLS library has verified and shows, in PEM or DER; raise :class:`Untrusted`.

    It may have taken what nobody else can read.
    """
    try:
        if shown.startswith(b"-----"):
            shown = x509.load_pem_x509_certificate(shown).public_bytes(Encoding.DER)
        return read(shown)
    except DAMAGED:
        raise Untrusted("the leaf cannot be read") from None


def identify(leaf: x509.Certificate, mesh_domain: str) -> Identity:
    """Return whom a leaf names whose chain TLS has verified already; raise :class:`Untrusted`.

    For edges that are shown nothing but the leaf. Signatures, times and the issuer's constraint
    are what TLS libraries check; what they leave open is checked here.
    """
    found = _read(leaf, "leaf")
    if found.is_authority or found.signs_certificates:
        raise Untrusted("the leaf is an authority")
    if not found.signs or not found.purposes >= {"client", "server"}:
        raise Untrusted("the leaf is not for both client and server authentication")
    if len(found.uris) != 1 or found.other_names:
        raise Untrusted(
            f"the leaf has {len(found.uris)} URIs and {len(found.other_names)} other names, "
            "expected one URI and nothing else"
        )
    try:
        return parse(found.uris[0], mesh_domain)
    except NotAnIdentity as error:
        raise Untrusted(f"the leaf names nobody: {error}") from None


def pod_of(leaf: x509.Certificate) -> str:
    """Return which pod got a leaf that was verified; nothing, if the leaf does not say so.

    It was proven by the pod's token. No rights depend on it: it tells members of one account apart.
    """
    found = leaf.subject.get_attributes_for_oid(POD)
    return str(found[0].value) if len(found) == 1 else ""


def anchor_of(issuer: x509.Certificate, anchors: Bundle) -> x509.Certificate:
    """Return the anchor that has signed ``issuer``; raise :class:`Untrusted` if none has."""
    for anchor in anchors.anchors:
        if issuer != anchor and _signed(issuer, anchor):
            return anchor
    raise Untrusted("the issuer is not signed by an anchor that is trusted here")


def _signed(certificate: x509.Certificate, above: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(above)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _read(certificate: x509.Certificate, role: str) -> Facts:
    try:
        found = facts(certificate)
    except Unreadable as error:
        raise Untrusted(f"the {role} cannot be read: {error}") from None
    if found.unknown:
        raise Untrusted(f"the {role} has a critical extension that is unknown: {found.unknown[0]}")
    return found


def _check_issuer(issuer: Facts, anchor: Facts) -> str:
    """Return the one host that the issuer may vouch for."""
    if not issuer.is_authority or not issuer.signs_certificates:
        raise Untrusted("the issuer is not an authority")
    if issuer.permitted is None:
        raise Untrusted("the issuer is not constrained to one cluster")
    if len(issuer.permitted) != 1 or issuer.permitted[0].startswith(".") or issuer.excludes_uris:
        raise Untrusted("the issuer is constrained to something else than one cluster")
    host = issuer.permitted[0]
    if not anchor.permits(host):
        raise Untrusted(f"the trust anchor does not vouch for {host}")
    return host
