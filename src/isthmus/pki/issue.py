"""Issuing: a key that somebody proved to have, and an identity that we computed, become a leaf."""

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from isthmus.model.errors import Permanent
from isthmus.model.identities import Identity, parse
from isthmus.model.times import second_time
from isthmus.pki import pem
from isthmus.pki.facts import DAMAGED, facts
from isthmus.pki.keys import Pair, is_our_curve
from isthmus.pki.shape import POD, CannotIssue, blank, leaf_usage

LIFETIME = timedelta(hours=24)
# A leaf holds from long before it was made: one that was made by a clock which was ahead, and has
# been set right, is good at once, also to a peer whose clock is behind. Its end keeps it short.
BEFORE = LIFETIME
LARGEST_CSR = 16 * 1024


class BadCsr(Permanent):
    """A request for a certificate that is no proof of a key that we would certify."""


def issue(
    issuer: Pair,
    identity: Identity,
    public_key: ec.EllipticCurvePublicKey,
    now: datetime,
    pod: str = "",
) -> x509.Certificate:
    """Make the certificate of ``identity``, which holds no longer than the issuer does.

    ``pod`` is the one that has asked, where one has; see :func:`isthmus.pki.verify.pod_of`.
    """
    above = issuer.certificate
    _check(above, identity, now)
    uri = x509.UniformResourceIdentifier(str(identity))
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
    return (
        blank(
            public_key,
            max(now - BEFORE, above.not_valid_before_utc),
            min(now + LIFETIME, above.not_valid_after_utc),
        )
        # RFC 5280, 4.2.1.6: without a subject, the alternative name must be critical.
        .subject_name(x509.Name([x509.NameAttribute(POD, pod)] if pod else []))
        .issuer_name(above.subject)
        .add_extension(x509.SubjectAlternativeName([uri]), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(leaf_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(signer, critical=False)
        .sign(issuer.key, hashes.SHA256())
    )


def key_of(csr_pem: bytes) -> ec.EllipticCurvePublicKey:
    """Return the key of a request whose sender has proved to hold it; ignore all else in it.

    ECDSA on P-256 or P-384: what Envoy serves, what is cheap to sign with, and all that our own
    proxies ask for. Envoy takes no Ed25519 certificate, and RSA costs it many times as much.
    """
    try:
        found = pem.blocks(csr_pem, "the request", LARGEST_CSR)
        if len(found) != 1:
            raise BadCsr(f"the request has {len(found)} PEM blocks, expected one")
        der = pem.only(pem.REQUEST, found[0], "the request")
    except pem.BadPem as error:
        raise BadCsr(str(error)) from None
    try:
        request = x509.load_der_x509_csr(der)
        key = request.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey) or not is_our_curve(key.curve):
            raise BadCsr("the request's key is not ECDSA on P-256 or P-384")
        is_proved = request.is_signature_valid
    except DAMAGED:
        raise BadCsr("the request is damaged, or of a form that is not supported") from None
    if not is_proved:
        raise BadCsr("the request is not signed by the key that it names")
    return key


def _check(issuer: x509.Certificate, identity: Identity, now: datetime) -> None:
    parse(str(identity), identity.mesh_domain)
    host, found = identity.trust_domain, facts(issuer)
    if not found.is_authority:
        raise CannotIssue(f"the issuer of {host} is not an authority")
    if found.permitted is None:
        raise CannotIssue("the issuer is not constrained to one cluster")
    if not found.permits(host):
        raise CannotIssue(f"the issuer may vouch for {found.permitted[0]}, not for {host}")
    if issuer.not_valid_after_utc <= now:
        raise CannotIssue(
            f"the issuer of {host} expired at "
            f"{second_time(issuer.not_valid_after_utc)}, the clock here says {second_time(now)}; "
            f"make another with `isthmus trust issue --cluster {identity.cluster}`"
        )
    if issuer.not_valid_before_utc > now:
        raise CannotIssue(
            f"the issuer of {host} holds from "
            f"{second_time(issuer.not_valid_before_utc)}, the clock here says {second_time(now)}"
        )
