import pytest
from msgspec.structs import replace

from isthmus.core.export import digest
from isthmus.model.exports import Export, NamedPod, Port, Refused
from isthmus.model.names import MIRRORED
from isthmus.model.objects import Endpoint, Service, ServicePort, ServiceSpec
from tests.support.builders import endpoint, service, slice_of

HEADLESS = ServiceSpec(cluster_ip="None", ports=(ServicePort(port=80),))


LONG_UID = Service(
    metadata=replace(service().metadata, uid="u" * 129),
    spec=ServiceSpec(ports=(ServicePort(port=80),)),
)


def ports(*given: ServicePort) -> Service:
    return service(spec=ServiceSpec(ports=given))


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
        pytest.param(
            service(spec=ServiceSpec(ports=(ServicePort(port=9, protocol="SCTP"),))),
            "NoTCPPorts",
            id="SCTP only",
        ),
        pytest.param(service(spec=ServiceSpec(cluster_ip="None")), "NoPorts", id="no ports"),
        pytest.param(LONG_UID, "InvalidName", id="a UID without end"),
        pytest.param(ports(ServicePort(port=0)), "InvalidPort", id="port 0"),
        pytest.param(ports(ServicePort(port=65536)), "InvalidPort", id="port 65536"),
        pytest.param(ports(ServicePort(port=80, name="HTTP")), "InvalidPort", id="upper case"),
        pytest.param(
            ports(ServicePort(port=80, name="p" * 64)), "InvalidPort", id="a port name of 64"
        ),
        pytest.param(
            ports(ServicePort(port=80, name="../x")), "InvalidPort", id="a path as port name"
        ),
        pytest.param(
            ports(ServicePort(port=80, name="a"), ServicePort(port=81)),
            "InvalidPort",
            id="two ports, one without a name",
        ),
        pytest.param(
            ports(ServicePort(port=80, name="a"), ServicePort(port=81, name="a")),
            "InvalidPort",
            id="two ports of one name",
        ),
        pytest.param(
            ports(ServicePort(port=80, name="a"), ServicePort(port=80, name="b")),
            "InvalidPort",
            id="two ports of one number",
        ),
        pytest.param(
            ports(*(ServicePort(port=one, name=f"p{one}") for one in range(1, 102))),
            "InvalidPort",
            id="101 ports",
        ),
        pytest.param(service("a.b"), "InvalidName", id="a name that is no label"),
        pytest.param(service("web", "../x"), "InvalidName", id="a namespace that is a path"),
    ],
)
def test_what_cannot_be_mirrored_is_refused_with_a_reason(found: Service, reason: str) -> None:
    refused = digest(found, [])
    assert isinstance(refused, Refused)
    assert refused.reason == reason


@pytest.mark.parametrize(
    "given, expected",
    [
        pytest.param(
            ServicePort(
                port=80, name="p" * 63, target_port="web", app_protocol="kubernetes.io/h2c"
            ),
            Port(port=80, name="p" * 63, target_port="web", app_protocol="kubernetes.io/h2c"),
            id="all is well",
        ),
        pytest.param(
            ServicePort(port=80, app_protocol="p" * 64), Port(port=80), id="appProtocol of 64"
        ),
        pytest.param(
            ServicePort(port=80, app_protocol="a b"), Port(port=80), id="appProtocol with a space"
        ),
        pytest.param(
            ServicePort(port=80, app_protocol="HTTP"),
            Port(port=80, app_protocol="HTTP"),
            id="appProtocol in upper case is allowed",
        ),
        pytest.param(ServicePort(port=80, app_protocol=""), Port(port=80), id="no appProtocol"),
        pytest.param(ServicePort(port=80, target_port=0), Port(port=80), id="targetPort 0"),
        pytest.param(
            ServicePort(port=80, target_port="Not-A-Port"),
            Port(port=80),
            id="targetPort is no name",
        ),
        pytest.param(
            ServicePort(port=80, node_port=30080), Port(port=80), id="the node port stays there"
        ),
    ],
)
def test_what_a_mirror_can_do_without_is_left_out_of_a_port(
    given: ServicePort, expected: Port
) -> None:
    found = digest(ports(given), [])
    assert isinstance(found, Export)
    assert found.ports == (expected,)


@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "LoadBalancer"])
def test_any_type_that_has_a_cluster_address_is_exported(kind: str) -> None:
    spec = ServiceSpec(type=kind, cluster_ip="10.9.9.9", ports=(ServicePort(port=80),))
    found = digest(service(spec=spec), [])
    assert isinstance(found, Export)
    assert not found.headless


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


@pytest.mark.parametrize("first", [True, False])
def test_a_pod_that_is_listed_twice_is_ready_if_either_line_says_so(first: bool) -> None:
    """While a pod moves from one slice to another, it may be in both."""
    slices = [
        slice_of("db", endpoint("10.1.0.1", "db-0", ready=first)),
        slice_of("db", endpoint("10.1.0.1", "db-0", ready=not first)),
    ]
    found = digest(service("db", spec=HEADLESS), slices)
    assert isinstance(found, Export)
    assert found.pods == (NamedPod(hostname="db-0", ready=True),)
