"""Certificates and keys for tests, made once per run because keys take time."""

import ssl
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID


class Pair(NamedTuple):
    """A certificate and its key, both in PEM."""

    certificate: bytes
    key: bytes


def off_the_curve(certificate: bytes) -> bytes:
    """Return a certificate (PEM) whose key is no point of P-256; its signature is of no account."""
    found = x509.load_pem_x509_certificate(certificate)
    key = found.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    point = key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    der = found.public_bytes(Encoding.DER).replace(point, b"\x04" + b"\x01" * 64)
    return ssl.DER_cert_to_PEM_cert(der).encode()


@cache
def self_signed(name: str) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return Pair(
        certificate.public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
