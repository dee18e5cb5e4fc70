"""Keys are read with care, and never shown."""

import traceback
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from isthmus.model.errors import Permanent
from isthmus.pki import bundle, pem
from isthmus.pki.issue import key_of
from isthmus.pki.keys import (
    chain_pem,
    key_pem,
    new_key,
    read_certificates,
    read_key,
    read_pair,
    without_keys,
)
from isthmus.pki.pem import BadPem
from tests.support.pki import (
    UNREADABLE,
    anchor,
    credentials,
    identity,
    issuer,
    of_version,
    unreadable,
)

KEY = new_key()
SEC1 = KEY.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
LOCKED = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
OLD_LOCKED = (
    b"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END EC PRIVATE KEY-----"
)
RSA = rsa.generate_private_key(65537, 2048).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
)
PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"


@pytest.mark.parametrize(
    "text", [key_pem(KEY), SEC1, PARAMETERS + SEC1], ids=["PKCS8", "SEC1", "parameters"]
)
def test_ways_to_write_a_key(text: bytes) -> None:
    assert read_key(text, "it").private_numbers() == KEY.private_numbers()


@pytest.mark.parametrize(
    "text, sentence",
    [
        pytest.param(b"", "the key is empty", id="empty"),
        pytest.param(key_pem(KEY) * 2, "the key is not one private key in PEM", id="two"),
        pytest.param(
            chain_pem(anchor().certificate),
            "the key is not one private key in PEM",
            id="a certificate",
        ),
        pytest.param(
            LOCKED,
            "the key is not a plain ECDSA key, or has a passphrase; store it without one",
            id="encrypted",
        ),
        pytest.param(
            OLD_LOCKED,
            "the key: the block of line 1 is damaged, it is not base64",
            id="encrypted, old",
        ),
        pytest.param(RSA, "the key is not an ECDSA key on P-256 or P-384", id="RSA"),
        pytest.param(
            key_pem(ec.generate_private_key(ec.SECP256K1())),
            "the key is not an ECDSA key on P-256 or P-384",
            id="another curve",
        ),
        pytest.param(
            pem.Block(pem.KEY, 1, b"0").pem(),
            "the key is damaged, or not a plain ECDSA key",
            id="damaged",
        ),
    ],
)
def test_what_is_no_key_gets_one_sentence(text: bytes, sentence: str) -> None:
    with pytest.raises(BadPem) as refusal:
        read_key(text, "the key")
    assert str(refusal.value) == sentence


def test_a_pair_belongs_together() -> None:
    certificate, key = chain_pem(issuer().certificate), key_pem(issuer().key)
    assert read_pair(certificate, key, "the issuer") == issuer()
    with pytest.raises(BadPem, match="the key of the issuer does not belong to its certificate"):
        read_pair(certificate, key_pem(KEY), "the issuer")
    with pytest.raises(BadPem, match="2 certificates, expected one"):
        read_pair(certificate * 2, key, "the issuer")


def secrets(text: bytes) -> list[str]:
    """Every line of a key's body: none of them may be seen anywhere."""
    return [line for line in text.decode().splitlines() if line and not line.startswith("-----")]


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda text: bundle.parse(text), id="as a bundle"),
        pytest.param(lambda text: bundle.parse(text[28:]), id="as a bundle, without its head"),
        pytest.param(lambda text: bundle.parse(text[:-30]), id="as a bundle, cut off"),
        pytest.param(lambda text: read_certificates(text, "it"), id="as certificates"),
        pytest.param(lambda text: key_of(text), id="as a request"),
        pytest.param(lambda text: read_key(text[:60] + b"!" + text[60:], "it"), id="damaged"),
        pytest.param(lambda text: read_key(text + text, "it"), id="twice"),
        pytest.param(
            lambda text: read_pair(chain_pem(issuer().certificate), text, "it"), id="of another"
        ),
    ],
)
@pytest.mark.parametrize("text", [key_pem(KEY), SEC1, RSA], ids=["PKCS8", "SEC1", "RSA"])
def test_no_failure_shows_a_key(read: Callable[[bytes], object], text: bytes) -> None:
    with pytest.raises(Permanent) as refusal:
        read(text)
    error = refusal.value
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(error.args)
    assert not [secret for secret in secrets(text) if secret in shown]
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


def test_no_value_shows_a_key() -> None:
    pair, shown = anchor(), credentials(identity())
    block = pem.blocks(key_pem(KEY), "it", 10_000)[0]
    told = f"{pair!r} {pair} {shown!r} {block!r}"
    for text in (key_pem(pair.key), key_pem(shown.key), key_pem(KEY)):
        assert not [secret for secret in secrets(text) if secret in told]
    assert repr(block.der) not in told


@pytest.mark.parametrize("version", [1, 3, 9])
def test_a_certificate_of_a_version_that_there_is_not_is_damaged(version: int) -> None:
    """OpenSSL takes it, so that it comes as far as this."""
    der = of_version(issuer().certificate.public_bytes(Encoding.DER), version)
    with pytest.raises(BadPem, match=r"^the issuer: the certificate of line 1 is damaged$"):
        read_certificates(pem.Block(pem.CERTIFICATE, 1, der).pem(), "the issuer")


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_certificate_whose_extensions_make_no_sense_is_not_read(what: str) -> None:
    with pytest.raises(
        BadPem, match=r"the certificate of line 1 (is damaged|has unreadable names)"
    ):
        read_certificates(chain_pem(unreadable(what)), "it")


def test_certificates_are_found_among_keys() -> None:
    text = key_pem(KEY) + chain_pem(issuer().certificate, anchor().certificate)
    assert without_keys(text, "it") == (issuer().certificate, anchor().certificate)
