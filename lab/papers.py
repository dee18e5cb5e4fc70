"""The certificates, keys and tokens of one lab cluster: made for it, and gone with it."""

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from isthmus.embedded.fronts.certificates import Authority


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
    now = datetime.now(UTC)
    authority = Authority("isthmus lab", now)
    server = authority.issue([*names, *addresses], now)
    admin_token = secrets.token_urlsafe(32)
    return Papers(
        ca_file=write(folder / "ca.crt", authority.pem.encode()),
        certificate_file=write(folder / "server.crt", server.certificate),
        key_file=write(folder / "server.key", server.key),
        service_account_key_file=write(
            folder / "service-accounts.key", _pem(ec.generate_private_key(ec.SECP256R1()))
        ),
        token_file=write(
            folder / "tokens.csv", f"{admin_token},admin,admin,system:masters\n".encode()
        ),
        ca_pem=authority.pem,
        admin_token=admin_token,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        # The API server reads the public half out of this form only.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def write(path: Path, content: bytes) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path
