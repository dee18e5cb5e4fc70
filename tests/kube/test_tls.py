"""Certificates that prove nothing: each becomes an error that shows what was there instead."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from isthmus.embedded.fronts.certificates import Pair
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.errors import BadConfig, Unauthorized, Unreachable, Untrusted
from isthmus.kube.http import HttpTransport
from isthmus.kube.tls import as_file, described, distrust, presented
from tests.support.certificates import of_version_18, off_the_curve, self_signed
from tests.support.pki import of_version
from tests.support.servers import (
    GOOD,
    NOW,
    OURS,
    THEIRS,
    at,
    context,
    failed,
    got,
    is_well,
    serving,
)

pytestmark = pytest.mark.sockets


@pytest.mark.parametrize("damage", [of_version_18, off_the_curve])
def test_a_certificate_that_nobody_can_read_is_not_shown_or_without_its_key(
    damage: Callable[[bytes], bytes],
) -> None:
    """It is that of a server which is not trusted anyway."""
    found = described(ssl.PEM_cert_to_DER_cert(damage(GOOD.certificate).decode()))
    assert found is None or "127.0.0.1" in str(found)


async def test_a_certificate_for_another_name_shows_both_names() -> None:
    other = OURS.issue(["kubernetes.default.svc"], NOW)
    async with serving(is_well, context(other)) as server:
        error = await failed(at(server.url))
        assert not server.heard
        named_right = ApiServer(
            url=server.url,
            ca_pem=OURS.pem.encode(),
            tls_server_name="kubernetes.default.svc",
        )
        assert await got(named_right) == "web"
    assert isinstance(error, Untrusted)
    assert "is not for '127.0.0.1'; it shows" in str(error)
    assert "for kubernetes.default.svc, SHA-256 " in str(error)


async def test_a_certificate_of_another_authority_shows_both() -> None:
    async with serving(is_well, context(GOOD)) as server:
        error = await failed(at(server.url, THEIRS))
        assert not server.heard
    assert isinstance(error, Untrusted)
    assert "issued by 'CN=ours authority'" in str(error)
    assert "trusted are 'CN=theirs authority' (SHA-256 " in str(error)


async def test_a_certificate_cannot_write_to_the_terminal_or_fill_the_log() -> None:
    loud = OURS.issue(["\x1b[31m.example", "x" * 5000], NOW)
    async with serving(is_well, context(loud)) as server:
        error = await failed(at(server.url))
    assert isinstance(error, Untrusted)
    assert str(error).isprintable()
    assert "for [31m.example, xxx" in str(error)
    assert len(str(error)) < 600


async def test_verification_can_be_switched_off_by_the_owner_of_the_kubeconfig() -> None:
    async with serving(is_well, context(GOOD)) as server:
        assert await got(ApiServer(url=server.url, verify=False)) == "web"


async def test_a_client_certificate_that_is_asked_for_and_missing_is_an_error_of_ours() -> None:
    async with serving(is_well, context(GOOD, clients=OURS)) as server:
        error = await failed(at(server.url))
    assert isinstance(error, Unauthorized | Unreachable), repr(error)


def open_files() -> set[str]:
    return {os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.exists()}


@pytest.mark.parametrize(
    "certificate, key",
    [
        pytest.param(GOOD.certificate, THEIRS.issue(["x"], NOW).key, id="another's key"),
        pytest.param(b"nonsense", GOOD.key, id="no certificate"),
        pytest.param(GOOD.certificate, b"nonsense canary-3141", id="no key"),
    ],
)
def test_a_client_certificate_that_cannot_be_used(certificate: bytes, key: bytes) -> None:
    before = open_files()
    with pytest.raises(BadConfig) as caught:
        HttpTransport(
            ApiServer(url="https://127.0.0.1:1", client_cert_pem=certificate, client_key_pem=key)
        )
    assert str(caught.value) == (
        "https://127.0.0.1:1: client certificate and key cannot be used together"
    )
    assert open_files() == before


def test_a_ca_that_is_none_is_refused() -> None:
    with pytest.raises(BadConfig, match="the CA is not a PEM certificate"):
        HttpTransport(ApiServer(url="https://x", ca_pem=b"nonsense"))


def test_the_client_key_and_the_proxy_do_not_show() -> None:
    shown = repr(ApiServer(url="https://x", client_key_pem=b"canary", proxy="http://canary@p"))
    assert "canary" not in shown


def of_another_version(pair: Pair, version: int = 3) -> Pair:
    """A certificate that says to be of version 4, as OpenSSL does not mind."""
    der = x509.load_pem_x509_certificate(pair.certificate).public_bytes(Encoding.DER)
    return Pair(ssl.DER_cert_to_PEM_cert(of_version(der, version)).encode(), pair.key)


async def test_a_certificate_that_nobody_can_describe_is_distrusted_all_the_same() -> None:
    """Whoever runs a target can show it, and must not end the controller by that."""
    odd = of_another_version(OURS.issue(["127.0.0.1"], NOW))
    async with serving(is_well, context(odd)) as server:
        error = await failed(at(server.url, THEIRS))
        assert not server.heard
    assert isinstance(error, Untrusted)
    assert "the server's certificate is not trusted: " in str(error)
    assert "it shows" not in str(error)


def test_an_authority_that_nobody_can_describe_is_named_as_none() -> None:
    odd = of_another_version(Pair(OURS.pem.encode(), b"")).certificate
    error = ssl.SSLCertVerificationError("no")
    error.verify_code, error.verify_message = 19, "self-signed"
    told = distrust(error, None, ApiServer(url="https://x", ca_pem=odd), "x")
    assert (
        told == "https://x: the server's certificate is not trusted: self-signed, trusted are none"
    )


def test_a_certificate_without_names_is_described_as_such() -> None:
    found = described(ssl.PEM_cert_to_DER_cert(self_signed("me").certificate.decode()))
    assert found is not None
    assert found.names == ()
    assert "issued by 'CN=me', for no name, SHA-256 " in str(found)


async def test_a_certificate_that_cannot_be_looked_at_again_is_not_described() -> None:
    async with serving(is_well, context(GOOD)) as server:
        port = int(server.url.rpartition(":")[2])
        assert await presented(["127.0.0.1"], port, "127.0.0.1") is not None
    assert await presented(["127.0.0.1", "127.0.0.1"], port, "127.0.0.1") is None


def test_a_system_without_files_in_memory_gets_one_that_is_gone_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with as_file(b"canary-3141") as path:
        assert Path(path).read_bytes() == b"canary-3141"
        assert Path(path).stat().st_mode & 0o077 == 0
    assert not Path(path).exists()
