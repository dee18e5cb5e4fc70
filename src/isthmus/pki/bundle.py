"""The trust bundle: the anchors that a cluster trusts. One, or two while one replaces another."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from isthmus.model.errors import Permanent
from isthmus.model.times import second_time
from isthmus.pki.facts import Unreadable, facts, untimely
from isthmus.pki.keys import chain_pem, fingerprint, read_certificates

MOST_ANCHORS = 16
_WHAT = "the trust bundle"


class BadBundle(Permanent):
    """Certificates that cannot be what a cluster trusts."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Anchors, each once, in the order of their fingerprints. Made by :func:`of`."""

    anchors: tuple[x509.Certificate, ...]

    @property
    def digest(self) -> str:
        """The SHA-256 of the anchors' fingerprints, whatever order they came in."""
        return sha256("\n".join(self.fingerprints).encode()).hexdigest()

    @property
    def fingerprints(self) -> tuple[str, ...]:
        return tuple(map(fingerprint, self.anchors))

    def pem(self) -> bytes:
        return chain_pem(*self.anchors)

    def without(self, which: str) -> "Bundle":
        """Return the bundle without the anchor of that fingerprint; it is never left empty."""
        rest = tuple(each for each in self.anchors if fingerprint(each) != which)
        if not rest:
            raise BadBundle("the last anchor cannot be dropped: nobody would be trusted")
        return Bundle(rest)

    def problems(self, now: datetime) -> tuple[str, ...]:
        """Say which anchors do not hold now.

        They stay in the bundle: to refuse all of it would cut those that the others vouch for.
        """
        return tuple(
            f"{_WHAT}: the anchor {fingerprint(each)[:16]} {wrong}; the clock here says "
            f"{second_time(now)}"
            for each in self.anchors
            if (wrong := untimely(each, now))
        )


def parse(pem: str | bytes) -> Bundle:
    """Return the anchors of a PEM text that holds nothing else."""
    return of(read_certificates(pem, _WHAT))


def of(anchors: Iterable[x509.Certificate]) -> Bundle:
    """Return the bundle of these anchors; raise if one of them cannot be one."""
    unique = {fingerprint(each): each for each in anchors}
    if not unique:
        raise BadBundle(f"{_WHAT} has no anchor: nobody would be trusted")
    if len(unique) > MOST_ANCHORS:
        raise BadBundle(f"{_WHAT} has {len(unique)} anchors, at most {MOST_ANCHORS} are allowed")
    for name, anchor in unique.items():
        if wrong := _not_an_anchor(anchor):
            raise BadBundle(f"{_WHAT}: the certificate {name[:16]} {wrong}")
    return Bundle(tuple(unique[name] for name in sorted(unique)))


def _not_an_anchor(certificate: x509.Certificate) -> str:
    try:
        found = facts(certificate)
    except Unreadable as error:
        return f"cannot be read: {error}"
    if not found.is_authority:
        return "is not an authority but a leaf; put the trust anchor here (anchor.crt)"
    if certificate.subject != certificate.issuer:
        return "is not a root but an issuer; put the trust anchor here (anchor.crt)"
    if found.path_length == 0:
        return "allows no issuers below it (path length 0)"
    try:
        certificate.verify_directly_issued_by(certificate)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return "is not signed by its own key"
    return ""
