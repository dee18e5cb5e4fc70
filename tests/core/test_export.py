import pytest

from isthmus.core.export import digest
from isthmus.model.exports import Export, NamedPod, Refused
from isthmus.model.names import MIRRORED
from isthmus.model.objects import Endpoint, Service, ServicePort, ServiceSpec
from tests.support.builders import endpoint, service, slice_of

HEADLESS = ServiceSpec(cluster_ip="None", ports=(ServicePort(port=80),))


@pytest.mark.parametrize(
    "found, reason",
    [
        pytest.param(service(labels={MIRRORED: "true"}), "IsMirror", id="a mirror"),
        pytest.param(
            service(spec=ServiceSpec(type="ExternalName", external_name="example.org")),
            "ExternalName",
            id="a name outside of the cluster",
        ),
        pytest.param(
            service(spec=ServiceSpec(ports=(ServicePort(port=53, protocol="UDP"),))),
            "NoTCPPorts",
            id="UDP only",
        ),
        pytest.param(service(spec=ServiceSpec(cluster_ip="None")), "NoPorts", id="no ports"),
    ],
)
def test_what_cannot_be_mirrored_is_refused_with_a_reason(found: Service, reason: str) -> None:
    refused = digest(found, [])
    assert isinstance(refused, Refused)
    assert refused.reason == reason


def test_a_headless_service_without_ports_is_refused_in_the_words_users_know() -> None:
    refused = digest(service(spec=ServiceSpec(cluster_ip="None")), [])
    assert isinstance(refused, Refused)
    assert refused.message == "headless service has no ports"


def test_only_the_tcp_ports_of_a_mixed_service_are_exported() -> None:
    spec = ServiceSpec(
        ports=(ServicePort(port=53, name="dns", protocol="UDP"), ServicePort(port=80, name="http"))
    )
    found = digest(service(spec=spec), [])
    assert isinstance(found, Export)
    assert [port.name for port in found.ports] == ["http"]


@pytest.mark.parametrize(
    "endpoints, ready",
    [
        pytest.param([], False, id="none"),
        pytest.param([endpoint("10.1.0.1", ready=False)], False, id="none ready"),
        pytest.param([endpoint("10.1.0.1"), endpoint("10.1.0.2", ready=False)], True, id="one"),
        pytest.param([endpoint("10.1.0.1", ready=None)], True, id="unknown counts as ready"),
    ],
)
def test_an_export_is_ready_if_any_of_its_endpoints_is(
    endpoints: list[Endpoint], ready: bool
) -> None:
    found = digest(service(), [slice_of("web", *endpoints)])
    assert isinstance(found, Export)
    assert found.ready is ready


@pytest.mark.parametrize(
    "endpoints, pods, unnamed",
    [
        pytest.param([endpoint("10.1.0.1", "db-0")], ["db-0"], False, id="named"),
        pytest.param([endpoint("10.1.0.1")], [], True, id="a deployment's pod"),
        pytest.param([], [], False, id="scaled to nothing"),
        pytest.param(
            [endpoint("10.1.0.2", "db-1"), endpoint("10.1.0.1", "db-0")],
            ["db-0", "db-1"],
            False,
            id="in order",
        ),
        pytest.param([endpoint("10.1.0.1", "../x")], [], True, id="a hostile name"),
        pytest.param([endpoint("10.1.0.1", "a.b")], [], True, id="a name with a dot"),
        pytest.param([endpoint("10.1.0.1", "DB-0")], [], True, id="upper case"),
        pytest.param([endpoint("10.1.0.1", "d" * 64)], [], True, id="64 characters"),
        pytest.param(
            [endpoint("10.1.0.1", "db-0"), endpoint("10.1.0.2", "db-0")],
            ["db-0"],
            False,
            id="twice the same name",
        ),
    ],
)
def test_named_pods_come_from_hostnames(
    endpoints: list[Endpoint], pods: list[str], unnamed: bool
) -> None:
    found = digest(service("db", spec=HEADLESS), [slice_of("db", *endpoints)])
    assert isinstance(found, Export)
    assert [pod.hostname for pod in found.pods] == pods
    assert found.unnamed is unnamed


def test_a_pod_that_is_not_ready_keeps_its_name() -> None:
    slices = [slice_of("db", endpoint("10.1.0.1", "db-0", ready=False))]
    found = digest(service("db", spec=HEADLESS), slices)
    assert isinstance(found, Export)
    assert found.pods == (NamedPod(hostname="db-0", ready=False),)
    assert not found.ready
