"""The certificates, keys and tokens of one lab cluster: made for it, and gone with it."""

import ipaddress
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """Where they lie on disk, and those that a client needs in hand."""

    ca_file: Path
    certificate_file: Path
    key_file: Path
    service_account_key_file: Path
    token_file: Path
    ca_pem: str
    admin_token: str = field(repr=False)


def issue(folder: Path, names: tuple[str, ...], addresses: tuple[str, ...]) -> Papers:
    """A new authority and a server certificate for ``names`` and ``addresses``, on disk."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key)
    server_key = ec.generate_private_key(ec.SECP256R1())
    certificate = _server(server_key, (authority, authority_key), names, addresses)
    admin_token = secrets.token_urlsafe(32)
    ca_pem = authority.public_bytes(serialization.Encoding.PEM)
    return Papers(
        ca_file=_write(folder / "ca.crt", ca_pem),
        certificate_file=_write(
            folder / "server.crt", certificate.public_bytes(serialization.Encoding.PEM)
        ),
        key_file=_write(folder / "server.key", _pem(server_key)),
        service_account_key_file=_write(
            folder / "service-accounts.key", _pem(ec.generate_private_key(ec.SECP256R1()))
        ),
        token_file=_write(
            folder / "tokens.csv", f"{admin_token},admin,admin,system:masters\n".encode()
        ),
        ca_pem=ca_pem.decode(),
        admin_token=admin_token,
    )


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name("isthmus lab")
    return (
        _template(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey,
    issuer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey],
    names: tuple[str, ...],
    addresses: tuple[str, ...],
) -> x509.Certificate:
    authority, authority_key = issuer
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    return (
        _template(_name("kube-apiserver"), authority.subject, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _template(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # The API server reads the public half out of this form only.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _write(path: Path, content: bytes) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path
