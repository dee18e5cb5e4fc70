"""A cluster's issuer: signs that cluster's identities, and cannot speak for another cluster."""

from datetime import datetime, timedelta
from ipaddress import ip_network

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from isthmus.model.identities import trust_domain
from isthmus.model.times import second_time
from isthmus.pki.facts import facts
from isthmus.pki.keys import Pair, new_key
from isthmus.pki.shape import LEEWAY, CannotIssue, authority_name, authority_usage, blank

LIFETIME = timedelta(days=365)


def create_issuer(
    anchor: Pair, cluster: str, mesh_domain: str, now: datetime, lifetime: timedelta = LIFETIME
) -> Pair:
    """Make the issuer of ``cluster``, which holds no longer than the anchor does."""
    host = trust_domain(cluster, mesh_domain)
    _check(anchor.certificate, host, now)
    key = new_key()
    certificate = (
        blank(
            key.public_key(),
            max(now - LEEWAY, anchor.certificate.not_valid_before_utc),
            min(now + lifetime, anchor.certificate.not_valid_after_utc),
        )
        .subject_name(authority_name(f"issuer of {host}", key.public_key()))
        .issuer_name(anchor.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(authority_usage(), critical=True)
        .add_extension(_limits(host), critical=True)
        .add_extension(_signed_by(anchor.key.public_key()), critical=False)
        .sign(anchor.key, hashes.SHA256())
    )
    return Pair(certificate, key)


def _limits(host: str) -> x509.NameConstraints:
    """Let an issuer vouch for the URIs of one host, and for no name of another kind.

    A constraint binds only names of its own kind: unless all the others are excluded, an issuer
    for east could still vouch for any DNS name. OpenSSL and BoringSSL compare the host of a URI
    with the constraint exactly, unless that starts with a dot.
    """
    return x509.NameConstraints(
        permitted_subtrees=[x509.UniformResourceIdentifier(host)],
        excluded_subtrees=[
            x509.DNSName(""),
            x509.IPAddress(ip_network("0.0.0.0/0")),
            x509.IPAddress(ip_network("::/0")),
        ],
    )


def _signed_by(key: ec.EllipticCurvePublicKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)


def _check(anchor: x509.Certificate, host: str, now: datetime) -> None:
    found = facts(anchor)
    if not found.is_authority or found.path_length == 0:
        raise CannotIssue("the anchor's certificate must not sign issuers; is it a trust anchor?")
    if not found.permits(host):
        raise CannotIssue(
            f"the anchor vouches for {', '.join(found.permitted or ())} only, not for {host}"
        )
    if anchor.not_valid_after_utc <= now:
        raise CannotIssue(
            f"the anchor expired at {second_time(anchor.not_valid_after_utc)}; "
            "create another with `isthmus trust create`"
        )
    if anchor.not_valid_before_utc > now:
        raise CannotIssue(
            f"the anchor holds from {second_time(anchor.not_valid_before_utc)}, but the clock "
            f"here says {second_time(now)}"
        )
