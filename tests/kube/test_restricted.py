"""Kubeconfigs from a Secret: what is enough, and everything that is refused by name."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.kube import restricted
from isthmus.kube.errors import BadConfig
from isthmus.kube.restricted import Policy
from isthmus.model.wire import Json, JsonObject
from tests.support.certificates import self_signed
from tests.support.kubeconfigs import CANARY, b64, kubeconfig

FILE = "secret isthmus/west"
CLUSTER = "clusters[west-cluster].cluster"
USER = "users[admin].user"
NOT_ALLOWED = "not allowed in a kubeconfig from a Secret:"
ME = self_signed("me")


def raw(content: Json) -> bytes:
    return yaml.safe_dump(content).encode()


def refused(content: bytes, policy: Policy | None = None) -> str:
    with pytest.raises(BadConfig) as raised:
        restricted.load(content, FILE, policy)
    assert CANARY not in str(raised.value)
    assert str(raised.value).startswith(FILE + ": ")
    return str(raised.value).removeprefix(FILE + ": ")


async def test_a_server_an_authority_and_a_token_are_enough() -> None:
    access = restricted.load(raw(kubeconfig(user={"token": f"{CANARY}\n"})), FILE)
    assert access.server.url == "https://192.0.2.1:6443"
    assert access.server.verify
    assert await access.credentials.headers() == {"Authorization": f"Bearer {CANARY}"}
    assert CANARY not in repr(access)


def test_a_client_certificate_is_allowed() -> None:
    user = {"client-certificate-data": b64(ME.certificate), "client-key-data": b64(ME.key)}
    server = restricted.load(raw(kubeconfig(user=user)), FILE).server
    assert (server.client_cert_pem, server.client_key_pem) == ME


def test_a_single_context_needs_not_be_the_current_one() -> None:
    content = {**kubeconfig(), "current-context": None}
    assert restricted.load(raw(content), FILE).context == "west"


def test_of_many_contexts_one_must_be_the_current_one() -> None:
    contexts = [*kubeconfig()["contexts"], {"name": "east", "context": {}}]
    content = {**kubeconfig(), "contexts": contexts, "current-context": None}
    expected = "current-context: not set; with 2 contexts, one must be named here"
    assert refused(raw(content)) == expected


@pytest.mark.parametrize(
    "user, problem",
    [
        pytest.param(
            {"auth-provider": {"name": "x"}}, "it would run a program here", id="provider"
        ),
        pytest.param(
            {"tokenFile": "/etc/shadow"}, "it would read a file here; use token", id="file"
        ),
        pytest.param(
            {"client-certificate": "/etc/shadow"},
            "it would read a file here; use client-certificate-data",
            id="a certificate's file",
        ),
        pytest.param(
            {"client-key": "/etc/shadow"},
            "it would read a file here; use client-key-data",
            id="a key's file",
        ),
        pytest.param(
            {"password": CANARY},
            "Kubernetes accepts passwords no longer; use token",
            id="a password",
        ),
        pytest.param({"as": "root"}, "this field is not among those that are", id="impersonation"),
        pytest.param({"new": CANARY}, "this field is not among those that are", id="unknown"),
    ],
)
def test_a_field_of_the_user_that_is_not_listed_is_refused(user: JsonObject, problem: str) -> None:
    (name,) = user
    content = raw(kubeconfig(user={"token": CANARY, **user}))
    assert refused(content) == f"{USER}.{name}: {NOT_ALLOWED} {problem}"


def test_a_plugin_is_refused_and_not_run(tmp_path: Path) -> None:
    canary = tmp_path / "was-run"
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "touch",
        "args": [str(canary)],
        "interactiveMode": "Never",
    }
    content = raw(kubeconfig(user={"exec": plugin}))
    assert refused(content) == f"{USER}.exec: {NOT_ALLOWED} it would run a program here"
    assert not canary.exists()


def test_what_no_context_uses_is_checked_too() -> None:
    users = [*kubeconfig()["users"], {"name": "x", "user": {"exec": {"command": "touch"}}}]
    content = raw({**kubeconfig(), "users": users})
    assert refused(content) == f"users[x].user.exec: {NOT_ALLOWED} it would run a program here"


@pytest.mark.parametrize(
    "cluster, problem",
    [
        pytest.param(
            {"insecure-skip-tls-verify": True},
            f"insecure-skip-tls-verify: {NOT_ALLOWED} anybody on the way could pose as the server",
            id="without checks",
        ),
        pytest.param(
            {"proxy-url": f"http://me:{CANARY}@proxy.example"},
            f"proxy-url: {NOT_ALLOWED} requests would go where this Secret's author likes",
            id="a proxy",
        ),
        pytest.param(
            {"certificate-authority": "/etc/shadow"},
            f"certificate-authority: {NOT_ALLOWED} "
            "it would read a file here; use certificate-authority-data",
            id="an authority's file",
        ),
        pytest.param(
            {"server": "http://192.0.2.1"},
            "server: expected a URL with https, found http",
            id="without encryption",
        ),
        pytest.param(
            {"server": "https://169.254.169.254"},
            "server: 169.254.169.254: a cloud's metadata service; "
            "such an address is not allowed here",
            id="the metadata service",
        ),
        pytest.param(
            {"server": "https://[fd00:ec2::254]:443"},
            "server: fd00:ec2::254: a cloud's metadata service; "
            "such an address is not allowed here",
            id="the metadata service over IPv6",
        ),
        pytest.param(
            {"server": "https://127.0.0.1:6443"},
            "server: 127.0.0.1: a loopback address; such an address is not allowed here",
            id="loopback",
        ),
        pytest.param(
            {"server": f"https://x:{CANARY}@192.0.2.1"},
            "server: the URL must not hold a user name or password",
            id="a password in the URL",
        ),
        pytest.param(
            {"server": "https://192.0.2.1\\@127.0.0.1"},
            "server: the URL must not hold a user name or password",
            id="a host that parsers disagree about",
        ),
    ],
)
def test_a_cluster_that_could_do_harm_is_refused(cluster: JsonObject, problem: str) -> None:
    assert refused(raw(kubeconfig(cluster=cluster))) == f"{CLUSTER}.{problem}"


def test_what_is_switched_off_does_no_harm() -> None:
    restricted.load(raw(kubeconfig(cluster={"insecure-skip-tls-verify": False})), FILE)


def test_the_operator_can_allow_a_proxy_and_loopback() -> None:
    fields = {"server": "https://127.0.0.1:6443", "proxy-url": "http://proxy.example:3128"}
    policy = Policy(allow_proxy=True, allow_loopback=True)
    server = restricted.load(raw(kubeconfig(cluster=fields)), FILE, policy).server
    assert server.proxy == "http://proxy.example:3128"


def test_a_proxy_that_is_allowed_must_not_be_the_metadata_service() -> None:
    content = raw(kubeconfig(cluster={"proxy-url": "http://169.254.169.254"}))
    assert "metadata service" in refused(content, Policy(allow_proxy=True))


BOMB = b"a: &a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"


@pytest.mark.parametrize(
    "content, problem",
    [
        pytest.param(b"x" * (1 << 20) + b"x", "larger than 1048576 bytes", id="too large"),
        pytest.param(BOMB, "line 2: YAML aliases are not allowed here", id="a YAML bomb"),
        pytest.param(b"[" * 100_000, "line 1: nested too deeply", id="a deep flow"),
        pytest.param(b"- " * 500_000, "line 1: nested too deeply", id="a deep block"),
        pytest.param(b"[" + b"a," * 500_000 + b"]", "line 1: nested too deeply, or too", id="wide"),
        pytest.param(
            b"? [a]\n: b", "line 1: the name of a field must be text", id="a list as name"
        ),
    ],
)
def test_a_hostile_document_is_refused_quickly(content: bytes, problem: str) -> None:
    assert refused(content).startswith(problem)


SCALARS = st.sampled_from((None, True, "x", "https://h", "west"))
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("name", "user", "cluster", "token", "server")), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=150)
@given(
    content=st.fixed_dictionaries(
        {"current-context": SCALARS},
        optional={"clusters": TREES, "users": TREES, "contexts": TREES, "kind": SCALARS},
    )
)
def test_no_shape_whatever_fails_in_an_unknown_way(content: JsonObject) -> None:
    refused(raw(content))
