"""Certificates that prove nothing: each becomes an error that shows what was there instead."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.kube.apiserver import ApiServer
from isthmus.kube.errors import BadConfig, Unauthorized, Unreachable, Untrusted
from isthmus.kube.http import HttpTransport
from isthmus.kube.tls import described
from tests.support.certificates import of_version_18, off_the_curve
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
