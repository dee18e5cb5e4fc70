"""The chart renders what ``isthmus install`` makes, and takes the same values."""

import json
from pathlib import Path

import pytest
import yaml

from isthmus import __version__
from isthmus.install import objects
from isthmus.install.everything import identity
from isthmus.install.reference import schema, values_yaml
from isthmus.install.values import Values, parse
from lab.versions import HELM_CLIENT
from tests.deploy.chart import CHART, Refused, rendered

needs_helm = pytest.mark.skipif(
    not HELM_CLIENT.is_built,
    reason="helm is not built here; `make test-real` builds it and runs these",
)
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
CASES = {
    "default": "",
    "ha": "ha: true",
    "replicas of their own": "{ha: true, gateway: {replicas: 5}, egress: {replicas: 1}}",
    "another image": """
        image:
          repository: example.com:5000/isthmus
          tag: "1.20"
          digest: sha256:abc
          pullPolicy: Always
          pullSecrets: [one, two]
    """,
    "no tag": "image: {tag: '', digest: 'sha256:abc'}",
    "another mesh": "{meshDomain: mesh.example, clusterDomain: west.example, namespace: mesh}",
    "own ranges": "{localCidrs: [10.0.0.0/8, 'fd00::/8'], allowLoopback: true}",
    "no namespace": "createNamespace: false",
    "log": "{logLevel: debug, logFormat: text}",
    "no user": "runAsUser: null",
    "another user": "runAsUser: 1000",
    "node port": "gateway: {service: {type: NodePort, nodePort: 30143, port: 443}}",
    "inside only": "gateway: {service: {type: ClusterIP}}",
    "load balancer": """
        gateway:
          service:
            annotations: {example.com/a: "true", example.com/b: "1"}
            loadBalancerClass: example.com/fast
            loadBalancerSourceRanges: [192.0.2.0/24, '2001:db8::/32']
            externalTrafficPolicy: Local
    """,
    "resources": """
        controller: {workers: 4, resources: {requests: {cpu: 1, memory: null}, limits: null}}
        gateway: {resources: {limits: {cpu: "2"}}, drain: 60, linger: 20, concurrency: 8}
        egress: {resources: {requests: {cpu: null, memory: null}, limits: {memory: null}}}
    """,
    "places": """
        gateway:
          nodeSelector: {edge: "true"}
          tolerations: [{key: edge, operator: Exists, effect: NoSchedule}]
          priorityClassName: high
          podAnnotations: {example.com/scrape: "true"}
        egress:
          tolerations: [{key: a, value: b, operator: Equal, tolerationSeconds: 5}]
    """,
    "metrics": "networkPolicy: {metricsNamespaces: [monitoring, other]}",
    "no policies": "{networkPolicy: {enabled: false}, admissionPolicy: {enabled: false}}",
    "namespaces go": "removeNamespaces: true",
    "anchors": yaml.safe_dump({"trust": {"anchors": PEM * 2}}),
    "papers": yaml.safe_dump(
        {"trust": {"anchors": PEM, "issuer": {"certificate": PEM, "key": f"{PEM} "}}}
    ),
}


def kept(path: Path, text: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden", default=False):
        path.write_text(text)
    assert path.read_text() == text


def test_the_values_of_the_chart_are_those_of_the_command(request: pytest.FixtureRequest) -> None:
    kept(CHART / "values.yaml", values_yaml(), request)
    assert parse(["clusterName=west"], {"chart": values_yaml()}) == Values(cluster_name="west")


def test_the_schema_of_the_chart_is_that_of_the_values(request: pytest.FixtureRequest) -> None:
    text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    kept(CHART / "values.schema.json", text, request)


def test_the_chart_has_the_version_of_the_program() -> None:
    found = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (found["version"], found["appVersion"]) == (__version__, __version__)


def test_the_kinds_of_the_chart_are_those_of_the_command() -> None:
    assert (CHART / "definitions").resolve() == (CHART.parent / "crds").resolve()


@pytest.mark.real
@needs_helm
@pytest.mark.parametrize("case", CASES)
def test_the_chart_renders_what_the_command_makes(case: str, tmp_path: Path) -> None:
    said = {"clusterName": "west", **(yaml.safe_load(CASES[case]) or {})}
    text = yaml.safe_dump(said)
    expected = {identity(one): one for one in objects(parse((), {"values": text}))}
    found = {identity(one): one for one in rendered(text, tmp_path)}
    assert found.keys() == expected.keys()
    for key, one in expected.items():
        assert found[key] == one


@pytest.mark.real
@needs_helm
@pytest.mark.parametrize(
    "values, said",
    [
        ("{}", "clusterName is missing"),
        ("{clusterName: west, gateway: {service: {typ: NodePort}}}", "'typ' not allowed"),
        ("{clusterName: west, replicas: 3}", "'replicas' not allowed"),
        ("{clusterName: west, controller: {replicas: many}}", "replicas"),
        ("{clusterName: west, gateway: {service: {type: Magic}}}", "LoadBalancer"),
    ],
)
def test_what_the_command_refuses_helm_refuses(values: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=said):
        rendered(values, tmp_path)
