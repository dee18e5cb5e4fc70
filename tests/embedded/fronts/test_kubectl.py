"""Real kubectl against an embedded cluster: the proof that it is one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve
from tests.support import kubectl
from tests.support.kubectl import Kubectl

BINARIES = kubectl.found()
pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(not BINARIES, reason="no kubectl in PATH or in ~/.cache/isthmus/bin"),
]

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
"""
STATEFUL_SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set}
spec:
  serviceName: web
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
"""
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wg]}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      additionalPrinterColumns:
        - {name: Size, type: integer, jsonPath: .spec.size}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [size]
              properties: {size: {type: integer, minimum: 1}}
            status: {type: object, properties: {phase: {type: string}}}
"""
LIST = """
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: first}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: second}}
"""
WIDGET = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: one}
spec: {size: 3}
"""


@pytest.fixture(params=BINARIES, ids=lambda binary: binary.name)
def binary(request: pytest.FixtureRequest) -> Path:
    assert isinstance(request.param, Path)
    return request.param


@asynccontextmanager
async def cluster(binary: Path, home: Path) -> AsyncIterator[Kubectl]:
    async with serve(Cluster("west")) as served:
        tool = Kubectl(binary, home)
        tool.kubeconfig.write_text(yaml.safe_dump(served.kubeconfig()))
        yield tool


async def test_apply_change_and_delete_built_in_objects(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        both = f"{SERVICE}---{STATEFUL_SET}"
        first = await run("apply", "-f", "-", stdin=both)
        assert first == "service/web created\nstatefulset.apps/set created\n"
        again = await run("apply", "-f", "-", stdin=both)
        assert again == "service/web unchanged\nstatefulset.apps/set unchanged\n"
        changed = await run("apply", "-f", "-", stdin=SERVICE.replace("8080", "8081"))
        assert changed == "service/web configured\n"

        assert await run("label", "service", "web", "exported=true") == "service/web labeled\n"
        assert "annotated" in await run("annotate", "svc/web", "note=a b")
        assert "scaled" in await run("scale", "statefulset/set", "--replicas=5")
        patch = '{"spec":{"ports":[{"port":80,"name":"renamed"}]}}'
        assert "patched" in await run("patch", "svc", "web", "-p", patch)

        shown = yaml.safe_load(await run("get", "service", "web", "-o", "yaml"))
        assert shown["metadata"]["labels"] == {"app": "web", "exported": "true"}
        assert shown["metadata"]["annotations"]["note"] == "a b"
        assert shown["spec"]["ports"][0]["name"] == "renamed"
        assert shown["spec"]["ports"][0]["targetPort"] == 8081
        table = (await run("get", "svc,sts", "-l", "exported=true", "-o", "wide")).splitlines()
        assert table[0].split() == [
            *("NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE", "SELECTOR"),
        ]
        assert table[1].split()[:2] == ["service/web", "ClusterIP"]
        assert "0/5" in await run("get", "sts", "set")
        assert "Selector:" in await run("describe", "service", "web")

        await run("delete", "svc/web", "sts/set")
        assert "NotFound" in await run("get", "svc", "web", fails=True)


async def test_a_list_is_applied_item_by_item(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        made = await run("apply", "-f", "-", stdin=LIST)
        assert made == "configmap/first created\nconfigmap/second created\n"
        wrong = SERVICE.replace("ports:", "colour: red, ports:")
        refused = await run("apply", "-f", "-", stdin=wrong, fails=True)
        assert 'unknown field "spec.colour"' in refused
        dry = await run("apply", "--dry-run=server", "-f", "-", stdin=SERVICE)
        assert dry == "service/web created (server dry run)\n"
        assert "NotFound" in await run("get", "svc", "web", fails=True)


async def test_custom_objects(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        assert "created" in await run("apply", "-f", "-", stdin=CRD)
        established = "--for=condition=Established"
        assert "condition met" in await run("wait", established, "crd/widgets.example.com")
        assert "created" in await run("apply", "-f", "-", stdin=WIDGET)
        assert "unchanged" in await run("apply", "-f", "-", stdin=WIDGET)

        small = await run("apply", "-f", "-", stdin=WIDGET.replace("3", "0"), fails=True)
        assert "spec.size: Invalid value: 0" in small
        unknown = WIDGET.replace("size: 3", "size: 3, colour: red")
        assert 'unknown field "spec.colour"' in await run(
            "apply", "-f", "-", stdin=unknown, fails=True
        )
        missing = WIDGET.replace("size: 3", "")
        assert "spec.size: Required value" in await run(
            "apply", "-f", "-", stdin=missing, fails=True
        )

        table = (await run("get", "wg")).splitlines()
        assert [line.split() for line in table] == [["NAME", "SIZE"], ["one", "3"]]
        status = '{"status":{"phase":"Done"}}'
        await run("patch", "wg", "one", "--subresource=status", "--type=merge", "-p", status)
        done = "--for=jsonpath={.status.phase}=Done"
        assert "condition met" in await run("wait", done, "widget/one")
        resources = await run("api-resources", "--api-group=example.com", "--no-headers")
        assert resources.split() == ["widgets", "wg", "example.com/v1", "true", "Widget"]
        await run("delete", "crd", "widgets.example.com")
        gone = await run("get", "wg", fails=True)
        assert "the server could not find the requested resource" in gone


async def test_server_side_apply_defends_fields(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        mine = ("apply", "--server-side", "--field-manager=me", "-f", "-")
        assert await run(*mine, stdin=SERVICE) == "service/web serverside-applied\n"
        taken = SERVICE.replace("8080", "9090")
        theirs = ("apply", "--server-side", "--field-manager=they", "-f", "-")
        refused = await run(*theirs, stdin=taken, fails=True)
        assert 'conflict with "me"' in refused
        await run(*theirs, "--force-conflicts", stdin=taken)
        port = await run("get", "svc", "web", "-o", "jsonpath={.spec.ports[0].targetPort}")
        assert port == "9090"


async def test_a_watch_shows_changes_at_once(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        await run("create", "configmap", "seen", "--from-literal=a=1")
        watching = await run.start("get", "configmaps", "--watch", "--no-headers")
        try:
            assert watching.stdout is not None
            async with asyncio.timeout(10):
                first = await watching.stdout.readline()
                await run("create", "configmap", "later", "--from-literal=a=1")
                lines = [first]
                while not lines[-1].startswith(b"later"):
                    lines.append(await watching.stdout.readline())
        finally:
            watching.terminate()
            await watching.communicate()


async def test_waiting_for_a_deletion(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        await run("create", "configmap", "held", "--from-literal=a=1")
        hold = '{"metadata":{"finalizers":["example.com/hold"]}}'
        await run("patch", "configmap", "held", "-p", hold)
        await run("delete", "configmap", "held", "--wait=false")
        waiting = await run.start("wait", "--for=delete", "configmap/held", "--timeout=20s")
        release = '{"metadata":{"finalizers":null}}'
        await run("patch", "configmap", "held", "-p", release)
        printed, _ = await waiting.communicate()
        assert waiting.returncode == 0, printed.decode()


async def test_a_namespace_goes_with_everything_in_it(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        await run("create", "namespace", "shop")
        await run("-n", "shop", "apply", "-f", "-", stdin=SERVICE)
        assert "service/web" in await run("-n", "shop", "get", "all")
        await run("delete", "namespace", "shop")
        assert "No resources found" in await run("-n", "shop", "get", "svc")


async def test_tokens_and_permissions(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        await run("create", "serviceaccount", "bob")
        token = (await run("create", "token", "bob", "--duration=20m")).strip()
        bob = Kubectl(binary, tmp_path / "bob")
        bob.home.mkdir()
        config = yaml.safe_load(run.kubeconfig.read_text())
        config["users"][0]["user"]["token"] = token
        bob.kubeconfig.write_text(yaml.safe_dump(config))

        assert "system:serviceaccount:default:bob" in await bob("auth", "whoami")
        assert await run("auth", "can-i", "delete", "services") == "yes\n"
        assert await bob("auth", "can-i", "list", "services", fails=True) == "no\n"
        refused = await bob("get", "services", fails=True)
        assert (
            'services is forbidden: User "system:serviceaccount:default:bob" cannot list '
            'resource "services" in API group "" in the namespace "default"'
        ) in refused
        await run("create", "role", "reader", "--verb=get,list", "--resource=services")
        await run("create", "rolebinding", "b", "--role=reader", "--serviceaccount=default:bob")
        assert "kubernetes" in await bob("get", "services")
        as_bob = "--as=system:serviceaccount:default:bob"
        assert await run("auth", "can-i", "list", "services", as_bob) == "yes\n"
        assert "services" in await bob("auth", "can-i", "--list")
        await run("delete", "serviceaccount", "bob")
        assert "You must be logged in" in await bob("get", "services", fails=True)


async def test_every_resource_is_discovered(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        names = (await run("api-resources", "-o", "name")).split()
        assert {"services", "endpointslices.discovery.k8s.io", "statefulsets.apps"} <= set(names)
        assert "Server Version: v1." in await run("version")
        assert "ok" in await run("get", "--raw", "/readyz")


async def test_a_wrong_token_is_refused(binary: Path, tmp_path: Path) -> None:
    async with cluster(binary, tmp_path) as run:
        config = yaml.safe_load(run.kubeconfig.read_text())
        config["users"][0]["user"]["token"] = "wrong"
        run.kubeconfig.write_text(yaml.safe_dump(config))
        assert "You must be logged in" in await run("get", "pods", fails=True)
