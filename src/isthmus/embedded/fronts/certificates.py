"""A certificate authority of a cluster's own, so that clients can verify its HTTPS front."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from isthmus.pki.keys import chain_pem, key_pem, new_key
from isthmus.pki.shape import LEEWAY, authority_usage, blank, leaf_usage

_LIFETIME = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class Authority:
    """Issues server certificates; its own certificate is what clients are told to trust."""

    def __init__(self, name: str, now: datetime) -> None:
        self._key = new_key()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} authority")])
        self._certificate = (
            _builder(self._name, self._name, self._key.public_key(), now)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(authority_usage(), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> str:
        return chain_pem(self._certificate).decode()

    def issue(self, hosts: Sequence[str], now: datetime) -> Pair:
        """A server certificate for ``hosts``, names or addresses."""
        key = new_key()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        server_only = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = (
            _builder(subject, self._name, key.public_key(), now)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(leaf_usage(), critical=True)
            .add_extension(server_only, critical=False)
            .add_extension(issuer, critical=False)
            .add_extension(x509.SubjectAlternativeName(map(_name, hosts)), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return Pair(chain_pem(certificate), key_pem(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return blank(key, now - LEEWAY, now + _LIFETIME).subject_name(subject).issuer_name(issuer)


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
