"""What all our certificates have in common."""

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from isthmus.model.errors import Permanent

# Clocks of clusters differ by seconds, those of laptops by minutes.
LEEWAY = timedelta(minutes=5)

# What a leaf's subject has of the pod that asked for it. Any pod's name fits in, and unlike
# a common name nobody takes it for a host's.
POD = NameOID.USER_ID


class CannotIssue(Permanent):
    """A certificate that must not be made."""


def blank(
    public_key: ec.EllipticCurvePublicKey, not_before: datetime, not_after: datetime
) -> x509.CertificateBuilder:
    """A certificate that says nothing yet but whose key it is and when it holds."""
    if not_after <= not_before:
        raise CannotIssue("a certificate must hold for longer than no time at all")
    return (
        x509.CertificateBuilder()
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(not_before)
        .not_valid_after(not_after)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def authority_name(role: str, key: ec.EllipticCurvePublicKey) -> x509.Name:
    """Name an authority after its role and its key.

    An old and a new one live side by side while one replaces the other, and libraries look for
    issuers by name.
    """
    digits = x509.SubjectKeyIdentifier.from_public_key(key).digest.hex()[:16]
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, role[:64]),  # X.520 allows no more
            x509.NameAttribute(NameOID.SERIAL_NUMBER, digits),
        ]
    )


def authority_usage() -> x509.KeyUsage:
    return _usage(signs=False, signs_certificates=True)


def leaf_usage() -> x509.KeyUsage:
    return _usage(signs=True, signs_certificates=False)


def _usage(*, signs: bool, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
