"""Kubeconfigs that are right: files, contexts and credentials, read as kubectl reads them."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.kube.access import Access
from isthmus.kube.document import parse
from isthmus.kube.errors import BadConfig
from isthmus.kube.kubeconfig import find, load, settled
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import SystemClock
from tests.support.certificates import self_signed
from tests.support.kubeconfigs import CANARY, b64, kubeconfig, written

CA = self_signed("ca")
ME = self_signed("me")
CLUSTER = "clusters[west-cluster].cluster"


def loaded(*files: Path) -> Access:
    return load(files, SystemClock())


async def test_a_token_is_trimmed_and_shown_nowhere(tmp_path: Path) -> None:
    access = loaded(written(tmp_path, kubeconfig(user={"token": f"{CANARY}\n"})))
    assert await access.credentials.headers() == {"Authorization": f"Bearer {CANARY}"}
    assert await access.credentials.refresh() is False
    assert CANARY not in repr(access) + str(access) + repr(access.credentials)


def test_everything_that_a_cluster_can_say_is_understood(tmp_path: Path) -> None:
    wrapped = "\n".join(b64(CA.certificate)[at : at + 64] for at in range(0, 2000, 64))
    fields = {
        "server": "https://api.west.example/k8s/clusters/c-1/",
        "certificate-authority-data": wrapped,
        "tls-server-name": "kubernetes",
        "proxy-url": f"http://me:{CANARY}@proxy.example:3128",
        "unknown-field": "is left alone, as kubectl does",
    }
    access = loaded(written(tmp_path, kubeconfig(cluster=fields)))
    server = access.server
    assert server.url == "https://api.west.example/k8s/clusters/c-1"
    assert server.ca_pem == CA.certificate
    assert server.tls_server_name == "kubernetes"
    assert server.proxy == fields["proxy-url"]
    assert server.verify
    assert (access.context, access.namespace, access.warnings) == ("west", "default", ())
    assert CANARY not in repr(access)


@pytest.mark.parametrize(
    "fields, warning",
    [
        pytest.param(
            {"certificate-authority-data": None, "insecure-skip-tls-verify": True},
            "insecure-skip-tls-verify: anybody on the way can pose as the server",
            id="without checks",
        ),
        pytest.param(
            {"server": "http://192.0.2.1:8080"},
            "server: the connection is not encrypted",
            id="without encryption",
        ),
    ],
)
def test_a_dangerous_choice_of_ones_own_comes_with_a_warning(
    tmp_path: Path, fields: JsonObject, warning: str
) -> None:
    path = written(tmp_path, kubeconfig(cluster=fields))
    assert loaded(path).warnings == (f"{path}: {CLUSTER}.{warning}",)


def test_files_are_found_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    for name, content in (("ca", CA.certificate), ("crt", ME.certificate), ("key", ME.key)):
        (tmp_path / name).write_bytes(content)
    user = {"client-certificate": "crt", "client-key": str(tmp_path / "key")}
    cluster = {"certificate-authority": "./ca", "certificate-authority-data": None}
    server = loaded(written(tmp_path, kubeconfig(cluster, user))).server
    assert server.ca_pem == CA.certificate
    assert (server.client_cert_pem, server.client_key_pem) == ME
    assert "PRIVATE KEY" not in repr(server)


async def test_a_token_file_is_read_again_after_a_minute_and_on_demand(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    credentials = loaded(written(tmp_path, kubeconfig(user={"tokenFile": "token"}))).credentials
    seen = [await credentials.headers()]
    token.write_text("two")
    seen.append(await credentials.headers())
    await asyncio.sleep(61)
    seen.append(await credentials.headers())
    token.write_text("three")
    assert await credentials.refresh() is True
    assert await credentials.refresh() is False
    seen.append(await credentials.headers())
    token.unlink()
    await asyncio.sleep(61)
    assert await credentials.refresh() is False
    seen.append(await credentials.headers())
    tokens = [headers["Authorization"].removeprefix("Bearer ") for headers in seen]
    assert tokens == ["one", "one", "two", "three", "three"]


async def test_the_first_file_wins_each_name_and_missing_ones_do_no_harm(tmp_path: Path) -> None:
    mine = {"users": [{"name": "admin", "user": {"token": "mine"}}]}
    first = written(tmp_path, mine, "first")
    theirs = kubeconfig(user={"client-certificate": "would-be-missing"})
    second = written(tmp_path, theirs, "second")
    missing = (tmp_path / "nothing", first / "below a file")
    listed = os.pathsep.join(["", str(first), *map(str, missing), str(second)])
    files = find(None, {"KUBECONFIG": listed}, tmp_path)
    assert files == (first, second)
    access = loaded(*files)
    assert await access.credentials.headers() == {"Authorization": "Bearer mine"}
    assert access.server.client_cert_pem is None
    assert await settled(access) == access.server


def test_an_explicit_path_beats_the_environment_and_the_home(tmp_path: Path) -> None:
    assert find("/a", {"KUBECONFIG": "/b"}, tmp_path) == (Path("/a"),)


def test_without_a_setting_the_home_is_looked_at(tmp_path: Path) -> None:
    default = tmp_path / ".kube" / "config"
    with pytest.raises(BadConfig) as raised:
        find(None, {}, tmp_path)
    assert str(raised.value) == (
        f"{default}: no such file, and KUBECONFIG is not set; "
        "name a kubeconfig with --kubeconfig or KUBECONFIG"
    )
    default.parent.mkdir()
    default.touch()
    assert find(None, {}, tmp_path) == (default,)


def test_a_kubeconfig_variable_that_names_nothing_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as raised:
        find(None, {"KUBECONFIG": "/no/such/a:/no/such/b"}, tmp_path)
    expected = "none of the files that KUBECONFIG names exists"
    assert str(raised.value) == f"/no/such/a:/no/such/b: {expected}"


def test_anchors_and_aliases_of_ones_own_are_understood() -> None:
    document = parse(b"a: &x {b: c}\nd: *x\n", "file", aliases=True)
    assert document.inner("d").text("b") == "c"


def test_only_null_true_and_false_are_more_than_text() -> None:
    raw = b"{a: 1, b: 2030-01-01, c: no, d: true, e: null, f: 'null', g: 1e5}"
    assert parse(raw, "file", aliases=False).values == {
        "a": "1",
        "b": "2030-01-01",
        "c": "no",
        "d": True,
        "e": None,
        "f": "null",
        "g": "1e5",
    }


@given(raw=st.binary(max_size=200) | st.text(alphabet="-[]{}:&*!|>%@`,#? ab\n\t'\"", max_size=60))
def test_no_text_whatever_makes_the_parser_fail_in_an_unknown_way(raw: bytes | str) -> None:
    with suppress(BadConfig):
        parse(raw if isinstance(raw, bytes) else raw.encode(), "file", aliases=True)
