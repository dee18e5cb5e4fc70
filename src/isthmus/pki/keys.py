"""Private keys, and the certificates that belong to them.

ECDSA on P-256 everywhere: every TLS library takes it, Envoy included, and keys are made and used
in microseconds.
"""

from dataclasses import dataclass, field

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)

from isthmus.pki import pem
from isthmus.pki.facts import DAMAGED, read
from isthmus.pki.pem import BadPem

LARGEST = 64 * 1024  # bytes of a certificate or key that we read


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key. Equal if the certificates are."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False, compare=False)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def csr(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a request (PEM) that proves possession of ``key`` and asks for nothing by name."""
    empty = x509.Name([])
    request = x509.CertificateSigningRequestBuilder().subject_name(empty)
    return request.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def chain_pem(*certificates: x509.Certificate) -> bytes:
    """Return certificates one after the other, the leaf first, as TLS wants to see them."""
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def read_pair(certificate: str | bytes, key: str | bytes, what: str) -> Pair:
    """Return the pair that two PEM texts hold; ``what`` names it in errors: "the issuer"."""
    found = read_certificates(certificate, f"the certificate of {what}")
    if len(found) != 1:
        raise BadPem(f"the certificate of {what}: {len(found)} certificates, expected one")
    private = read_key(key, f"the key of {what}")
    if private.public_key() != found[0].public_key():
        raise BadPem(f"the key of {what} does not belong to its certificate")
    return Pair(found[0], private)


def read_certificates(text: str | bytes, what: str) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a PEM text that holds nothing else, in their order."""
    return tuple(_certificate(block, what) for block in pem.blocks(text, what, LARGEST))


def without_keys(text: str | bytes, what: str) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a PEM text in which keys may stand, too."""
    found = pem.blocks(text, what, LARGEST)
    return tuple(_certificate(block, what) for block in found if not block.is_private)


def read_key(text: str | bytes, what: str) -> ec.EllipticCurvePrivateKey:
    """Return the one ECDSA key of a PEM text that holds nothing else but its parameters."""
    found = [block for block in pem.blocks(text, what, LARGEST) if block.label != "EC PARAMETERS"]
    if len(found) != 1 or not found[0].is_private:
        raise BadPem(f"{what} is not one private key in PEM")
    if found[0].label not in (pem.KEY, pem.EC_KEY):
        raise BadPem(f"{what} is not a plain ECDSA key, or has a passphrase; store it without one")
    try:
        key = load_der_private_key(found[0].der, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadPem(f"{what} is damaged, or not a plain ECDSA key") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not is_our_curve(key.curve):
        raise BadPem(f"{what} is not an ECDSA key on P-256 or P-384")
    return key


def is_our_curve(curve: ec.EllipticCurve) -> bool:
    """Tell whether Envoy would take a certificate whose key is on this curve."""
    return isinstance(curve, ec.SECP256R1 | ec.SECP384R1)


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of a certificate, as `openssl x509 -fingerprint` without the colons."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def _certificate(block: pem.Block, what: str) -> x509.Certificate:
    der = pem.only(pem.CERTIFICATE, block, what)
    try:
        return read(der)
    except x509.UnsupportedGeneralNameType:
        raise BadPem(f"{what}: the certificate of line {block.line} has unreadable names") from None
    except DAMAGED:
        raise BadPem(f"{what}: the certificate of line {block.line} is damaged") from None
