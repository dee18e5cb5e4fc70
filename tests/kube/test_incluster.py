"""What a pod's mounted service account gives, and what is said when part of it is missing."""

import asyncio
import os
from pathlib import Path

import pytest

from isthmus.kube import incluster
from isthmus.kube.credentials import FileToken
from isthmus.kube.errors import BadConfig
from isthmus.runtime.clock import SystemClock
from tests.support.certificates import self_signed
from tests.support.kubeconfigs import CANARY

CA = self_signed("ca").certificate
ENVIRONMENT = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def mounted(directory: Path) -> Path:
    for name, content in (("ca.crt", CA), ("token", b"one"), ("namespace", b"isthmus\n")):
        (directory / name).write_bytes(content)
    return directory


@pytest.mark.parametrize(
    "host, url",
    [
        pytest.param("10.96.0.1", "https://10.96.0.1:443", id="IPv4"),
        pytest.param("fd00:10:96::1", "https://[fd00:10:96::1]:443", id="IPv6 gets brackets"),
        pytest.param("[fd00::1]", "https://[fd00::1]:443", id="IPv6 that has them"),
        pytest.param("kubernetes.default", "https://kubernetes.default:443", id="a name"),
    ],
)
def test_the_address_comes_from_the_environment(tmp_path: Path, host: str, url: str) -> None:
    environment = {**ENVIRONMENT, "KUBERNETES_SERVICE_HOST": host}
    access = incluster.load(environment, SystemClock(), mounted(tmp_path))
    assert access.server.url == url
    assert access.server.ca_pem == CA
    assert access.namespace == "isthmus"


async def test_a_rotated_token_is_noticed(tmp_path: Path) -> None:
    credentials = incluster.load(ENVIRONMENT, SystemClock(), mounted(tmp_path)).credentials
    assert await credentials.headers() == {"Authorization": "Bearer one"}
    (tmp_path / "token").write_text("two")
    assert await credentials.headers() == {"Authorization": "Bearer one"}
    await asyncio.sleep(60)
    assert await credentials.headers() == {"Authorization": "Bearer two"}


@pytest.mark.parametrize("what", ["endless", "pipe", "gone", "directory"])
async def test_a_token_file_that_cannot_be_read_any_more_leaves_the_last_token_in_use(
    tmp_path: Path, what: str
) -> None:
    path = mounted(tmp_path) / "token"
    credentials = incluster.load(ENVIRONMENT, SystemClock(), tmp_path).credentials
    assert await credentials.headers() == {"Authorization": "Bearer one"}
    path.unlink()
    match what:
        case "endless":
            path.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(path)  # whoever opens it waits for a writer
        case "directory":
            path.mkdir()
    assert not await credentials.refresh()
    assert await credentials.headers() == {"Authorization": "Bearer one"}


def test_outside_a_cluster_the_text_says_so() -> None:
    with pytest.raises(BadConfig) as raised:
        incluster.load({"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, SystemClock())
    assert str(raised.value) == (
        "in-cluster configuration: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
        "set: this is not a pod; name a kubeconfig with --kubeconfig or KUBECONFIG"
    )


@pytest.mark.parametrize(
    "name, content, problem",
    [
        pytest.param(
            "token",
            None,
            "no such file; does the pod set automountServiceAccountToken: false?",
            id="no token",
        ),
        pytest.param("token", b"", "the file holds no usable bearer token", id="an empty token"),
        pytest.param(
            "token",
            f"{CANARY}\n{CANARY}".encode(),
            "the file holds no usable bearer token",
            id="a token of two lines",
        ),
        pytest.param(
            "token",
            CANARY.encode() * 10_000,
            "larger than 65536 bytes; a token is a few thousand",
            id="a token without end",
        ),
        pytest.param("ca.crt", CANARY.encode(), "not a certificate in PEM", id="no certificate"),
    ],
)
def test_a_bad_mount_is_named(
    tmp_path: Path, name: str, content: bytes | None, problem: str
) -> None:
    path = mounted(tmp_path) / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadConfig) as raised:
        incluster.load(ENVIRONMENT, SystemClock(), tmp_path)
    assert str(raised.value) == f"{path}: {problem}"


async def test_a_token_file_that_could_never_be_read_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    with pytest.raises(BadConfig, match="the mount: cannot read the token: File name too long"):
        await FileToken(path, SystemClock(), "the mount").refresh()
