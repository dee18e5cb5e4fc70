"""The way to a cluster: to one that is well, and every way in which it can end early."""

from pathlib import Path

import pytest
import yaml

from isthmus.cli.checking.checks import Check, failed
from isthmus.cli.checking.reading.reach import reached
from isthmus.embedded.api.answers import Answer
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.faults.effects import lost_answer
from isthmus.embedded.faults.rules import Effect, Serve
from isthmus.embedded.fronts.server import serve
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject

CANARY = "canary-secret-token"
VIEW = "kubectl reads the same files: kubectl config view shows what it finds"
CORRECT = "correct it in the kubeconfig, or choose another context with --context"


async def check(file: str, context: str | None) -> list[Check]:
    async with reached(file, context) as found:
        assert (found.client is None) == failed(found.checks)
        return list(found.checks)


def with_cluster(cluster: str) -> str:
    return (
        "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
        f"users: [{{name: a, user: {{}}}}], clusters: [{{name: a, cluster: {cluster}}}]}}"
    )


def answering(status: int, content_type: str, body: bytes) -> Effect:
    async def effect(_request: Request, _serve: Serve) -> Answer:
        return Answer(status=status, headers={"content-type": content_type}, body=body)

    return effect


def written(directory: Path, config: JsonObject) -> str:
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


@pytest.mark.sockets
async def test_a_good_cluster_passes(tmp_path: Path) -> None:
    async with serve(Cluster("west")) as served:
        found = await check(written(tmp_path, served.kubeconfig()), None)
    assert [(c.name, c.outcome) for c in found] == [
        ("kubeconfig can be read", "ok"),
        ("context can be used", "ok"),
        ("API server can be reached", "ok"),
        ("credential is accepted", "ok"),
        ("Kubernetes is 1.30 or newer", "ok"),
        ("cluster has an identity", "ok"),
    ]
    assert found[3].detail == "kubernetes-admin"


def last(found: list[Check]) -> Check:
    assert failed(found)
    assert [c.outcome for c in found[:-1]] == ["ok"] * (len(found) - 1)
    assert CANARY not in repr(found)
    assert found[-1].hint
    return found[-1]


@pytest.mark.parametrize(
    "content, context, name, cause, hint",
    [
        pytest.param(None, None, "kubeconfig can be read", "no such file", VIEW, id="no file"),
        pytest.param("]", None, "kubeconfig can be read", "kubeconfig", VIEW, id="not YAML"),
        pytest.param(
            "{kind: Secret}", None, "context can be used", "Secret", CORRECT, id="another kind"
        ),
        pytest.param(with_cluster("{}"), None, "context can be used", "server: not set", CORRECT,
                     id="no server"),
        pytest.param(
            with_cluster("{server: 'https://x', certificate-authority-data: '%'}"),
            None, "context can be used", "not valid base64", CORRECT, id="bad base64"),
        pytest.param(
            with_cluster("{server: 'https://x', certificate-authority-data: eA==}"),
            None, "context can be used", "not a certificate", CORRECT, id="bad certificate"),
        pytest.param(
            with_cluster("{server: 'https://x', certificate-authority: nothing}"),
            None, "context can be used", "no such file", CORRECT, id="missing file"),
        pytest.param(
            "{apiVersion: v1, kind: Config, contexts: []}",
            "nowhere",
            "context can be used",
            "nowhere",
            "kubectl config get-contexts lists them",
            id="unknown context",
        ),
    ],
)  # fmt: skip
async def test_a_bad_kubeconfig(
    tmp_path: Path, content: str | None, context: str | None, name: str, cause: str, hint: str
) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    found = last(await check(str(path), context))
    assert found.name == name
    assert cause in found.detail
    assert found.hint == hint


@pytest.mark.sockets
async def test_a_credential_that_is_not_accepted(tmp_path: Path) -> None:
    async with serve(Cluster("west")) as served:
        config = served.kubeconfig()
        config["users"][0]["user"]["token"] = CANARY
        found = last(await check(written(tmp_path, config), None))
    assert found.name == "credential is accepted"
    assert found.hint.startswith("has it expired?")


@pytest.mark.sockets
async def test_a_connection_that_breaks_says_nothing_about_the_credential(tmp_path: Path) -> None:
    cluster = Cluster("west")
    cluster.faults.add(lost_answer(), lambda request: "selfsubjectreviews" in request.path)
    async with serve(cluster) as served:
        found = last(await check(written(tmp_path, served.kubeconfig()), None))
    assert found.name == "credential is accepted"
    assert found.hint == "is the cluster running, and can this machine reach that address?"


@pytest.mark.sockets
async def test_a_wrong_tls_server_name_is_among_what_to_compare(tmp_path: Path) -> None:
    async with serve(Cluster("west")) as served:
        config = served.kubeconfig()
        config["clusters"][0]["cluster"]["tls-server-name"] = "elsewhere.example"
        found = last(await check(written(tmp_path, config), None))
    assert "is not for 'elsewhere.example'" in found.detail
    assert "tls-server-name" in found.hint


@pytest.mark.sockets
async def test_nothing_listens(tmp_path: Path) -> None:
    async with serve(Cluster("west")) as served:
        config = served.kubeconfig()
    found = last(await check(written(tmp_path, config), None))
    assert found.name == "API server can be reached"
    assert "connection refused" in found.detail


@pytest.mark.sockets
async def test_another_clusters_certificate(tmp_path: Path) -> None:
    async with serve(Cluster("west")) as served, serve(Cluster("east")) as other:
        config = served.kubeconfig()
        config["clusters"][0]["cluster"]["server"] = other.url
        found = last(await check(written(tmp_path, config), None))
    assert found.name == "API server can be reached"
    assert "not trusted" in found.detail


@pytest.mark.sockets
@pytest.mark.parametrize(
    "effect, name",
    [
        pytest.param(
            answering(200, "text/html", b"<html>hello</html>"),
            "API server can be reached",
            id="HTML",
        ),
        pytest.param(
            answering(200, "application/json", b"[]"), "API server can be reached", id="other JSON"
        ),
        pytest.param(
            answering(200, "application/json", b'{"else":' + b"[" * 60_000),
            "API server can be reached",
            id="bottomless JSON",
        ),
        pytest.param(
            answering(200, "application/json", b'{"major": "1", "minor": "29+"}'),
            "Kubernetes is 1.30 or newer",
            id="too old",
        ),
    ],
)
async def test_a_server_that_is_not_what_we_need(tmp_path: Path, effect: Effect, name: str) -> None:
    cluster = Cluster("west")
    cluster.faults.add(effect, lambda request: request.path == "/version")
    async with serve(cluster) as served:
        found = last(await check(written(tmp_path, served.kubeconfig()), None))
    assert found.name == name
