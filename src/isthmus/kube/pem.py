"""Certificates and keys are checked where they are read, so that TLS never fails namelessly."""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from isthmus.kube.document import Place
from isthmus.pki.facts import DAMAGED


def check_certificates(pem: bytes, place: Place) -> None:
    """Raise unless ``pem`` holds at least one certificate and no broken one."""
    _certificates(pem, place)


def check_pair(certificate: bytes, at: Place, key: bytes, key_at: Place) -> None:
    """Raise unless ``key`` is the private key of the first certificate."""
    leaf = _certificates(certificate, at)[0]
    try:
        private = load_pem_private_key(key, None)
    except TypeError:
        raise key_at.wrong("the private key is encrypted; store it without a passphrase") from None
    except (ValueError, UnsupportedAlgorithm):
        raise key_at.wrong(f"not a private key in PEM{_found(key)}") from None
    if private.public_key() != _public_key(leaf, at):
        raise key_at.wrong(f"the key does not belong to the certificate in {at.path or at.file}")


def _public_key(leaf: x509.Certificate, at: Place) -> CertificatePublicKeyTypes:
    try:
        return leaf.public_key()
    except DAMAGED:
        raise at.wrong("the certificate has a key that nobody can use") from None


def _certificates(pem: bytes, place: Place) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except DAMAGED:
        raise place.wrong(f"not a certificate in PEM{_found(pem)}") from None


def _found(pem: bytes) -> str:
    """Tell what the text is instead, where that is a common mistake; never quote it."""
    if not pem.strip():
        return "; it is empty"
    if b"-----BEGIN CERTIFICATE-----" in pem:
        return "; it starts like a certificate, but is damaged or cut off"
    if b"PRIVATE KEY-----" in pem:
        return "; it looks like a private key"
    if pem[:1] == b"\x30":
        return "; it looks like DER, convert it with `openssl x509 -inform der`"
    if pem.lstrip()[:4] == b"LS0t":
        return "; it looks as if it were encoded in base64 twice"
    return ""
