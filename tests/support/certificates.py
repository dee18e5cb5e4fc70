"""Certificates and keys for tests, made once per run because keys take time."""

from base64 import b64encode
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


def damaged(certificate: bytes, was: bytes, becomes: bytes) -> bytes:
    """Return a certificate (PEM) in which some bytes are others; its signature is of no account."""
    der = x509.load_pem_x509_certificate(certificate).public_bytes(Encoding.DER)
    assert der.count(was) == 1
    body = b64encode(der.replace(was, becomes))
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
    begin, end = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
    return b"\n".join([begin, *lines, end, b""])


def of_version_18(certificate: bytes) -> bytes:
    """Return a certificate of a version that nobody has defined."""
    return damaged(certificate, b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x12")


def off_the_curve(certificate: bytes) -> bytes:
    """Return a certificate whose key is no point of P-256."""
    key = x509.load_pem_x509_certificate(certificate).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    point = key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return damaged(certificate, point, b"\x04" + b"\x01" * 64)


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
