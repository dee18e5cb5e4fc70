"""The EndpointSlices of Services with selectors, as Kubernetes' controller writes them."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from isthmus.embedded.machine import slices
from isthmus.embedded.machine.objects import (
    Container,
    ContainerPort,
    Pod,
    PodMetadata,
    PodSlice,
    PodSpec,
    PodStatus,
)
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.slices import Changes
from isthmus.model.objects import (
    Condition,
    EndpointConditions,
    EndpointPort,
    Metadata,
    ObjectReference,
    Service,
    ServicePort,
    ServiceSpec,
)

ANY = Ports(1)
SPEC = PodSpec(node_name="machine")
HTTP = ServicePort(name="http", port=80, target_port="http")


def service(*ports: ServicePort, **spec: object) -> Service:
    metadata = Metadata(name="web", namespace="shop", uid="s-1", labels={"tier": "front"})
    fields = {"cluster_ip": "127.1.0.9", **spec}
    return Service(metadata=metadata, spec=ServiceSpec(ports=ports or (HTTP,), **fields))  # type: ignore[arg-type]  # fields by name


def pod(name: str, address: str = "127.2.0.1", *, port: int = 8080, spec: PodSpec = SPEC) -> Pod:
    ports = (ContainerPort(name="http", container_port=port),)
    return Pod(
        metadata=PodMetadata(name=name, namespace="shop", uid=f"p-{name}"),
        spec=replace(spec, containers=(Container(name="main", ports=ports),)),
        status=PodStatus(
            phase="Running",
            pod_ip=address,
            conditions=(Condition(type="Ready", status="True"),),
        ),
    )


def settled(of: Service, pods: Sequence[Pod], ports: Ports = ANY) -> tuple[PodSlice, ...]:
    found = slices.changes(of, pods, (), ports)
    assert found == Changes(creates=found.creates)
    assert slices.changes(of, pods, found.creates, ports) == Changes()
    return found.creates


def test_a_slice_says_whose_it_is() -> None:
    (one,) = settled(service(), [pod("a")])
    assert one.metadata.labels == {
        "tier": "front",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    (owner,) = one.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid) == ("Service", "web", "s-1")
    assert one.metadata.name.startswith("web-")
    assert one.address_type == "IPv4"


def test_an_endpoint_is_a_pod() -> None:
    (one,) = settled(service(), [pod("a")])
    (endpoint,) = one.endpoints
    assert endpoint.addresses == ("127.2.0.1",)
    assert endpoint.conditions == EndpointConditions(ready=True, serving=True, terminating=False)
    assert endpoint.node_name == "machine"
    assert endpoint.target_ref == ObjectReference(kind="Pod", namespace="shop", name="a", uid="p-a")
    assert endpoint.hostname is None
    assert one.ports == (EndpointPort(name="http", port=8080),)


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param(PodSpec(hostname="a-0", subdomain="web"), "a-0", id="of this Service"),
        pytest.param(PodSpec(hostname="a-0", subdomain="db"), None, id="of another one"),
        pytest.param(PodSpec(hostname="a-0"), None, id="of none"),
        pytest.param(PodSpec(subdomain="web"), None, id="without a host name"),
    ],
)
def test_a_pod_has_a_name_in_the_service_it_names(spec: PodSpec, expected: str | None) -> None:
    (one,) = settled(service(cluster_ip="None"), [pod("a", spec=spec)])
    assert one.endpoints[0].hostname == expected
    assert one.metadata.labels["service.kubernetes.io/headless"] == ""


UNREADY = (Condition(type="Ready", status="False"),)
LEAVING = {"deletion_timestamp": "2026-01-02T03:04:05Z"}


@pytest.mark.parametrize(
    "conditions, metadata, spec, expected",
    [
        pytest.param(UNREADY, {}, {}, (False, False, False), id="not ready"),
        pytest.param(None, LEAVING, {}, (False, True, True), id="leaving, and still serving"),
        pytest.param(UNREADY, LEAVING, {}, (False, False, True), id="leaving"),
        pytest.param(
            UNREADY,
            {},
            {"publish_not_ready_addresses": True},
            (True, False, False),
            id="not ready, and told all the same",
        ),
    ],
)
def test_conditions(
    conditions: tuple[Condition, ...] | None,
    metadata: dict[str, str],
    spec: dict[str, object],
    expected: tuple[bool, bool, bool],
) -> None:
    one = pod("a")
    status = replace(one.status, conditions=conditions or one.status.conditions)
    one = replace(one, status=status, metadata=replace(one.metadata, **metadata))
    ((endpoint,),) = (found.endpoints for found in settled(service(**spec), [one]))
    found = endpoint.conditions
    assert (found.ready, found.serving, found.terminating) == expected


@pytest.mark.parametrize(
    "port, ports, expected",
    [
        pytest.param(HTTP, ANY, (8080,), id="by name"),
        pytest.param(replace(HTTP, target_port=81), ANY, (81,), id="by number"),
        pytest.param(replace(HTTP, target_port=None), ANY, (80,), id="the same"),
        pytest.param(replace(HTTP, target_port="grpc"), ANY, (), id="of a name that it lacks"),
        pytest.param(replace(HTTP, target_port=81), Ports(1024), (64081,), id="moved"),
        pytest.param(HTTP, Ports(1024), (8080,), id="not moved"),
    ],
)
def test_target_ports(port: ServicePort, ports: Ports, expected: tuple[int, ...]) -> None:
    (one,) = settled(service(port), [pod("a")], ports)
    assert tuple(found.port for found in one.ports) == expected


def test_pods_whose_ports_differ_are_in_slices_of_their_own() -> None:
    found = settled(service(), [pod("a", port=8080), pod("b", port=9090), pod("c", port=8080)])
    assert [(one.ports[0].port, len(one.endpoints)) for one in found] == [(8080, 2), (9090, 1)]


def test_no_slice_is_over_full() -> None:
    many = [pod(f"p-{number:03}", f"127.2.1.{number}") for number in range(150)]
    assert [len(one.endpoints) for one in settled(service(), many)] == [100, 50]


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(PodStatus(phase="Pending"), id="without an address"),
        pytest.param(PodStatus(phase="Succeeded", pod_ip="127.2.0.1"), id="ended"),
    ],
)
def test_pods_that_run_nowhere_are_no_endpoints(status: PodStatus) -> None:
    (one,) = settled(service(), [replace(pod("a"), status=status)])
    assert (one.endpoints, one.ports) == ((), ())


def test_a_change_of_pods_changes_the_slice_that_is_there() -> None:
    present = settled(service(), [pod("a")])
    found = slices.changes(service(), [pod("a", "127.2.0.7"), pod("b")], present, ANY)
    assert (found.creates, found.deletes) == ((), ())
    (one,) = found.replaces
    assert one.metadata == present[0].metadata
    assert [endpoint.addresses for endpoint in one.endpoints] == [("127.2.0.7",), ("127.2.0.1",)]


def test_a_slice_that_nothing_is_left_for_goes() -> None:
    present = settled(service(), [pod("a", port=8080), pod("b", port=9090)])
    found = slices.changes(service(), [pod("b", port=9090)], present, ANY)
    assert found == Changes(deletes=(present[0],))
