"""Every mistake in a kubeconfig: one line that names the file, the field and the way out."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from isthmus.kube.access import Access
from isthmus.kube.document import shown
from isthmus.kube.entries import LARGEST
from isthmus.kube.errors import BadConfig
from isthmus.kube.kubeconfig import contexts, find, load
from isthmus.model.wire import Json, JsonObject
from isthmus.runtime.clock import SystemClock
from tests.support.certificates import off_the_curve, self_signed
from tests.support.kubeconfigs import CANARY, b64, kubeconfig, written
from tests.support.pki import of_version

CA = self_signed("ca")
ME = self_signed("me")
OTHER = self_signed("other")
CLUSTER = "clusters[west-cluster].cluster"
USER = "users[admin].user"
CONTEXT = "contexts[west].context"
NO_CERTIFICATE = "not a certificate in PEM"


def loaded(*files: Path, context: str | None = None) -> Access:
    return load(files, SystemClock(), context=context)


def without(name: str) -> JsonObject:
    return {key: value for key, value in kubeconfig().items() if key != name}


def exec_user(**fields: Json) -> JsonObject:
    basis = {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws"}
    return {"exec": {**basis, **fields}}


EXEC = f"{USER}.exec"
API_VERSIONS = "client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"


@pytest.mark.parametrize(
    "content, problem",
    [
        pytest.param(b"", "the file is empty; is this the right one?", id="an empty file"),
        pytest.param(b" \n", "the file is empty; is this the right one?", id="only white space"),
        pytest.param(b"\xff\xfe", "not text in UTF-8; is this a kubeconfig?", id="not text"),
        pytest.param(
            f"token: {CANARY}: x".encode(), "not valid YAML at line 1, column 21", id="not YAML"
        ),
        pytest.param(
            b"a: \x01", "not valid YAML: it holds characters that YAML does not allow", id="control"
        ),
        pytest.param(
            CANARY.encode(), "expected a mapping, found text; is this a kubeconfig?", id="text"
        ),
        pytest.param(
            b"[1]", "expected a mapping, found a list; is this a kubeconfig?", id="a list"
        ),
        pytest.param(
            b"a: 1\n---\nb: 1\n",
            "line 2: a second document starts; a kubeconfig is a single one",
            id="two documents",
        ),
        pytest.param(b"users: []\nusers: []", "line 2: the field users is set twice", id="twice"),
        pytest.param(
            {"kind": "Secret"},
            "kind: expected Config, found Secret; is this a kubeconfig?",
            id="another kind",
        ),
        pytest.param(
            without("current-context"),
            "current-context: not set; choose one with --context: west",
            id="no current context",
        ),
        pytest.param(
            {"clusters": None, "contexts": None, "users": None, "current-context": ""},
            "current-context: not set; choose one with --context: none",
            id="what kubectl writes when nothing is left",
        ),
        pytest.param(
            {**kubeconfig(), "current-context": "east"},
            "current-context: there is no context east; known are: west",
            id="the current context is unknown",
        ),
        pytest.param(
            {**kubeconfig(), "clusters": []},
            f"{CONTEXT}.cluster: there is no cluster west-cluster; known are: none",
            id="the context's cluster is missing",
        ),
        pytest.param(
            {**kubeconfig(), "users": [{"name": "ops"}]},
            f"{CONTEXT}.user: there is no user admin; known are: ops",
            id="the context's user is missing",
        ),
        pytest.param(
            {**kubeconfig(), "contexts": [{"name": "west", "context": {"user": "admin"}}]},
            f"{CONTEXT}.cluster: not set; known clusters are: west-cluster",
            id="the context names no cluster",
        ),
        pytest.param(
            {**kubeconfig(), "users": {"admin": {"token": CANARY}}},
            "users: expected a list, found a mapping",
            id="users as a mapping",
        ),
        pytest.param(
            {**kubeconfig(), "users": [CANARY]},
            "users[0]: expected a mapping, found text",
            id="a user that is text",
        ),
        pytest.param(
            {**kubeconfig(), "users": [None]},
            "users[0]: expected a mapping, found nothing",
            id="a user that is nothing",
        ),
        pytest.param(
            {**kubeconfig(), "users": [True]},
            "users[0]: expected a mapping, found true or false",
            id="a user that is true",
        ),
        pytest.param(
            {**kubeconfig(), "users": [{"name": True}]},
            "users[0].name: expected text, found true or false; put it in quotes",
            id="a name that YAML takes for a truth",
        ),
        pytest.param(
            {**kubeconfig(), "users": [{"user": {}}]},
            "users[0].name: not set; every entry needs a name",
            id="a user without a name",
        ),
        pytest.param(
            {**kubeconfig(), "users": [{"name": "admin"}, {"name": "admin"}]},
            "users[1].name: there are two entries called admin",
            id="two users with one name",
        ),
        pytest.param(
            {**kubeconfig(), "users": [{"name": "admin", "user": CANARY}]},
            f"{USER}: expected a mapping, found text",
            id="a user's fields are text",
        ),
    ],
)
def test_a_broken_document_is_named(tmp_path: Path, content: Json, problem: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(BadConfig) as raised:
        loaded(path)
    assert str(raised.value) == f"{path}: {problem}"


@pytest.mark.parametrize(
    "fields, problem",
    [
        pytest.param(
            {"server": None},
            "server: not set; expected a URL such as https://192.0.2.1:6443",
            id="no server",
        ),
        pytest.param(
            {"server": "192.0.2.1:6443"},
            "server: expected a URL with https or http, found no scheme",
            id="a server without a scheme",
        ),
        pytest.param(
            {"server": "ftp://192.0.2.1"},
            "server: expected a URL with https or http, found ftp",
            id="another scheme",
        ),
        pytest.param(
            {"server": "https://:6443"},
            "server: the URL has no usable host and port; "
            "expected one such as https://192.0.2.1:6443",
            id="no host",
        ),
        pytest.param(
            {"server": "https://192.0.2.1:99999"},
            "server: not a URL, or its port is not a number to 65535; "
            "expected one such as https://192.0.2.1:6443",
            id="a port that is too high",
        ),
        pytest.param(
            {"server": f"https://admin:{CANARY}@192.0.2.1"},
            "server: the URL must not hold a user name or password",
            id="a password in the URL",
        ),
        pytest.param(
            {"server": f"https://192.0.2.1?token={CANARY}"},
            "server: the URL must end with its path: no query, no fragment",
            id="a query in the URL",
        ),
        pytest.param({"server": ["x"]}, "server: expected text, found a list", id="a list"),
        pytest.param(
            {"certificate-authority-data": "%%%" + CANARY},
            "certificate-authority-data: not valid base64; paste the output of `base64 -w0 FILE`",
            id="bad base64",
        ),
        pytest.param(
            {"certificate-authority-data": "é" + CANARY},
            "certificate-authority-data: not valid base64; paste the output of `base64 -w0 FILE`",
            id="no letters of base64",
        ),
        pytest.param(
            {"certificate-authority-data": b64(CANARY.encode())},
            f"certificate-authority-data: {NO_CERTIFICATE}",
            id="not a certificate",
        ),
        pytest.param(
            {"certificate-authority-data": b64(CA.key)},
            f"certificate-authority-data: {NO_CERTIFICATE}; it looks like a private key",
            id="a key instead of a certificate",
        ),
        pytest.param(
            {"certificate-authority-data": b64(b64(CA.certificate).encode())},
            f"certificate-authority-data: {NO_CERTIFICATE}; "
            "it looks as if it were encoded in base64 twice",
            id="base64 twice",
        ),
        pytest.param(
            {"certificate-authority-data": b64(CA.certificate[:200])},
            f"certificate-authority-data: {NO_CERTIFICATE}; "
            "it starts like a certificate, but is damaged or cut off",
            id="a certificate that is cut off",
        ),
        pytest.param(
            {"insecure-skip-tls-verify": True},
            "insecure-skip-tls-verify: excludes a certificate authority; remove one of the two",
            id="insecure with an authority",
        ),
        pytest.param(
            {"insecure-skip-tls-verify": "yes"},
            "insecure-skip-tls-verify: expected true or false, found text",
            id="a flag that is none",
        ),
        pytest.param(
            {"proxy-url": f"socks5://me:{CANARY}@proxy:1080"},
            "proxy-url: expected a URL with https or http, found socks5",
            id="a proxy of another kind",
        ),
    ],
)
def test_a_broken_cluster_is_named(tmp_path: Path, fields: JsonObject, problem: str) -> None:
    path = written(tmp_path, kubeconfig(cluster=fields))
    with pytest.raises(BadConfig) as raised:
        loaded(path)
    assert str(raised.value) == f"{path}: {CLUSTER}.{problem}"
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize(
    "user, problem",
    [
        pytest.param(
            {"token": f"{CANARY}\nX-Header: 1"},
            "token: holds characters that a header cannot carry",
            id="a token that would smuggle a header",
        ),
        pytest.param(
            {"username": "me", "password": CANARY},
            "username: Kubernetes accepts passwords no longer; "
            "use a token, a client certificate or an exec plugin",
            id="a password",
        ),
        pytest.param(
            {"auth-provider": {"name": "gcp", "config": {"access-token": CANARY}}},
            "auth-provider: gcp: removed from Kubernetes in 1.26; "
            "use the exec plugin of your cloud",
            id="an auth provider",
        ),
        pytest.param(
            {"token": CANARY, "as": "root"},
            "as: impersonation is not supported; use a credential of that user",
            id="impersonation",
        ),
        pytest.param(
            {
                "client-certificate-data": b64(off_the_curve(ME.certificate)),
                "client-key-data": b64(ME.key),
            },
            "client-certificate-data: the certificate has a key that nobody can use",
            id="a certificate whose key is no key",
        ),
        pytest.param(
            {"client-certificate-data": b64(ME.certificate)},
            "client-key-data: not set, but there is a client certificate",
            id="a certificate without a key",
        ),
        pytest.param(
            {"client-key-data": b64(ME.key)},
            "client-certificate-data: not set, but there is a client key",
            id="a key without a certificate",
        ),
        pytest.param(
            {"client-certificate-data": b64(ME.certificate), "client-key-data": b64(OTHER.key)},
            "client-key-data: the key does not belong to the certificate in "
            f"{USER}.client-certificate-data",
            id="a key of another certificate",
        ),
        pytest.param(
            {
                "client-certificate-data": b64(ME.certificate),
                "client-key-data": b64(CANARY.encode()),
            },
            "client-key-data: not a private key in PEM",
            id="not a key",
        ),
        pytest.param(
            exec_user(apiVersion="client.authentication.k8s.io/v1alpha1"),
            "exec.apiVersion: found client.authentication.k8s.io/v1alpha1; "
            f"expected {API_VERSIONS}",
            id="a plugin of a version that is gone",
        ),
        pytest.param(
            {"exec": {"command": "aws"}},
            f"exec.apiVersion: not set; expected {API_VERSIONS}",
            id="a plugin without a version",
        ),
        pytest.param(
            exec_user(command=None),
            "exec.command: not set; expected the program to run",
            id="a plugin without a command",
        ),
        pytest.param(
            exec_user(interactiveMode="Sometimes"),
            "exec.interactiveMode: found Sometimes; expected Never, IfAvailable or Always",
            id="a plugin in an unknown mode",
        ),
        pytest.param(
            exec_user(args=[{"a": CANARY}]),
            "exec.args[0]: expected text, found a mapping; put it in quotes",
            id="a plugin's argument that is no text",
        ),
        pytest.param(
            exec_user(env=[{"value": CANARY}]),
            "exec.env[0].name: not the name of an environment variable",
            id="a plugin's variable without a name",
        ),
    ],
)
def test_a_broken_user_is_named(tmp_path: Path, user: JsonObject, problem: str) -> None:
    path = written(tmp_path, kubeconfig(user=user))
    with pytest.raises(BadConfig) as raised:
        loaded(path)
    assert str(raised.value) == f"{path}: {USER}.{problem}"
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize(
    "entry, field, content, problem",
    [
        pytest.param("cluster", "certificate-authority", None, "no such file; check the path"),
        pytest.param("user", "client-certificate", None, "no such file; check the path"),
        pytest.param("user", "tokenFile", None, "no such file; check the path"),
        pytest.param(
            "cluster",
            "certificate-authority",
            b" " * (LARGEST + 1),
            "larger than 16 MiB; is this the right file?",
            id="too large",
        ),
        pytest.param("user", "tokenFile", b"", "the file holds no usable bearer token"),
        pytest.param("user", "tokenFile", b"a\xff", "the file holds no usable bearer token"),
    ],
)
def test_a_file_that_a_kubeconfig_names_and_that_is_bad_is_named_with_the_field(
    tmp_path: Path, entry: str, field: str, content: bytes | None, problem: str
) -> None:
    named = tmp_path / "named"
    if content is not None:
        named.write_bytes(content)
    fields: JsonObject = {field: "named"}
    broken = kubeconfig(cluster={**fields, "certificate-authority-data": None})
    path = written(tmp_path, broken if entry == "cluster" else kubeconfig(user=fields))
    place = CLUSTER if entry == "cluster" else USER
    with pytest.raises(BadConfig) as raised:
        loaded(path)
    assert str(raised.value) == f"{path}: {place}.{field}: {shown(str(named))}: {problem}"


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("/" + "d" * 74 + "/conf", "/" + "d" * 74 + "/conf", id="short enough"),
        pytest.param(
            "/" + "d" * 90 + "/config", "/" + "d" * 26 + "..." + "d" * 43 + "/config", id="too long"
        ),
    ],
)
def test_a_long_path_keeps_the_name_of_its_file(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as raised:
        loaded(tmp_path / "nothing")
    assert str(raised.value) == f"{tmp_path / 'nothing'}: no such file; check the path"


def test_a_directory_is_not_a_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as raised:
        loaded(tmp_path)
    assert str(raised.value) == f"{tmp_path}: a directory, not a file; name the file in it"


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_what_never_ends_is_not_a_kubeconfig(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(BadConfig) as raised:
        loaded(path)
    expected = "is not a regular file; pipes and devices are not read, save it to a file"
    assert str(raised.value) == f"{path}: {expected}"


@contextmanager
def as_nobody() -> Iterator[None]:
    """Be somebody who may not read everything, as root may."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_an_unreadable_kubeconfig_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, kubeconfig())
    path.chmod(0)
    with as_nobody(), pytest.raises(BadConfig) as raised:
        loaded(path)
    expected = "this user may not read it; check its owner and mode"
    assert str(raised.value) == f"{path}: {expected}"


def test_an_unknown_context_lists_the_known_ones(tmp_path: Path) -> None:
    contexts = [{"name": f"c{number:02}", "context": {}} for number in range(12)]
    path = written(tmp_path, {**kubeconfig(), "contexts": contexts})
    with pytest.raises(BadConfig) as raised:
        loaded(path, context="x\ny")
    known = ", ".join(f"c{number:02}" for number in range(10))
    expected = f"there is no context 'x\\ny'; known are: {known} and 2 more"
    assert str(raised.value) == f"{path}: contexts: {expected}"


def test_a_name_that_no_file_can_have_is_named(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    with pytest.raises(BadConfig, match="cannot be read: File name too long"):
        loaded(path)
    with pytest.raises(BadConfig, match="cannot be read: not a path"):
        loaded(tmp_path / "x\0y")
    # It is not missing, so that whoever looks for a kubeconfig comes to read it, and hears why not.
    assert find(None, {"KUBECONFIG": str(path)}, tmp_path) == (path,)


def test_contexts_of_all_files_are_known_by_name(tmp_path: Path) -> None:
    one = written(tmp_path, kubeconfig(), "one")
    more = [{"name": "north", "context": {}}]
    other = written(tmp_path, {**kubeconfig(), "contexts": more}, "other")
    assert set(contexts([one, other])) == {"west", "north"}


def encrypted() -> bytes:
    key = load_pem_private_key(ME.key, None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"canary"))


DER = x509.load_pem_x509_certificate(ME.certificate).public_bytes(Encoding.DER)
VERSION_4 = ssl.DER_cert_to_PEM_cert(of_version(DER, 3)).encode()


@pytest.mark.parametrize(
    "certificate, key, problem",
    [
        pytest.param(
            ME.certificate, encrypted(),
            "client-key-data: the private key is encrypted; store it without a passphrase",
            id="encrypted",
        ),
        pytest.param(
            DER, ME.key,
            f"client-certificate-data: {NO_CERTIFICATE}; it looks like DER, convert it with "
            "`openssl x509 -inform der`",
            id="DER",
        ),
        pytest.param(
            b" \n", ME.key, f"client-certificate-data: {NO_CERTIFICATE}; it is empty", id="blank"
        ),
        pytest.param(
            VERSION_4, ME.key,
            f"client-certificate-data: {NO_CERTIFICATE}; it starts like a certificate, but is "
            "damaged or cut off",
            id="of a version that there is not",
        ),
    ],
)  # fmt: skip
def test_a_client_certificate_that_is_none_is_told_what_it_is_instead(
    tmp_path: Path, certificate: bytes, key: bytes, problem: str
) -> None:
    user = {"client-certificate-data": b64(certificate), "client-key-data": b64(key)}
    path = written(tmp_path, kubeconfig(user=user))
    with pytest.raises(BadConfig) as raised:
        loaded(path)
    assert str(raised.value) == f"{path}: {USER}.{problem}"
