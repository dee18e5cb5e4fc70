"""From figures about mirroring to tables and verdicts, and the same writes for both sides."""

from pathlib import Path

import msgspec
import pytest

from bench.mirroring import figures, report
from bench.mirroring.figures import Changes, Mirroring, Restart, Round, Size, Sync
from bench.mirroring.replay import replay
from bench.mirroring.restart import counted
from bench.results import Machine
from isthmus.model.objects import EndpointSlice, Metadata, Service, ServicePort, ServiceSpec

NONE = Changes(ours=(), floor=())


def sync(wall: float, leading: float = 0.0, server_cpu: float = 1.0) -> Sync:
    return Sync(wall=wall, leading=leading, cpu=1.0, server_cpu=server_cpu, peak=70.0, kept=60.0)


def found(
    *rounds: Round, writes: dict[str, int] | None = None, idle: dict[str, int] | None = None
) -> Mirroring:
    return Mirroring(
        machine=Machine(cores=2, memory_gb=24, python="3.11", kubernetes="v1", etcd="v3"),
        date="2026-01-02",
        empty=50.0,
        sizes=(Size(services=1000, rounds=rounds),),
        idle=Changes(ours=(0.01, 0.03), floor=(0.01,)),
        busy=NONE,
        restart=Restart(
            ready=1.0,
            settled=2.0,
            writes=writes or {},
            idle=60.0,
            idle_requests=idle or {},
            idle_cpu=0.1,
        ),
    )


def a_round(ours: Sync, floor: Sync) -> Round:
    return Round(ours=ours, floor=floor, load=1.0)


def judged(run: Mirroring) -> dict[str, bool]:
    return {verdict.goal: verdict.met for verdict in report.verdicts(run)}


@pytest.mark.parametrize(
    "ours, met",
    [
        pytest.param(sync(10.0), True, id="exactly the share"),
        pytest.param(sync(10.1), False, id="just below it"),
        pytest.param(sync(11.0, leading=2.0), False, id="the time until leading counts"),
    ],
)
def test_the_share_of_the_floor_is_judged_from_the_start_of_the_process(
    ours: Sync, met: bool
) -> None:
    run = found(a_round(ours, sync(9.0)))
    assert judged(run)["1,000 Services from a cold start at ≥ 90% of the floor's rate"] is met


def test_rounds_are_compared_within_themselves() -> None:
    slow = a_round(sync(20.0), sync(20.0))
    quick = a_round(sync(5.0), sync(5.0))
    worse = a_round(sync(10.0), sync(5.0))
    assert all(judged(found(slow, quick, worse)).values())


@pytest.mark.parametrize(
    "writes, idle, goal",
    [
        pytest.param({"PUT links": 1}, {}, "a restart writes nothing", id="a write"),
        pytest.param(
            {},
            {"LIST services": 1},
            "60 idle seconds without a request, the lease's apart",
            id="a read",
        ),
    ],
)
def test_what_should_not_have_been_asked_for_is_named(
    writes: dict[str, int], idle: dict[str, int], goal: str
) -> None:
    run = found(a_round(sync(9.0), sync(9.0)), writes=writes, idle=idle)
    assert [verdict.goal for verdict in report.verdicts(run) if not verdict.met] == [goal]


def test_leases_may_be_renewed_at_rest() -> None:
    run = found(a_round(sync(9.0), sync(9.0)), idle={"PUT leases": 30})
    assert all(judged(run).values())


@pytest.mark.parametrize(
    "share, expected",
    [
        pytest.param(0.5, 2, id="p50"),
        pytest.param(0.99, 4, id="p99"),
        pytest.param(1.0, 4, id="all"),
    ],
)
def test_percentile(share: float, expected: float) -> None:
    assert report.percentile([4, 1, 3, 2], share) == expected


def test_memory_per_thousand_is_what_a_controller_without_mirrors_has_not() -> None:
    assert "| 10.0 |" in report.markdown(found(a_round(sync(9.0), sync(9.0))))


def test_requests_are_summed_over_everything_but_verb_and_resource() -> None:
    metrics = "\n".join(
        (
            "# TYPE apiserver_request_total counter",
            'apiserver_request_total{code="200",resource="services",verb="PUT"} 2',
            'apiserver_request_total{code="409",resource="services",verb="PUT"} 1e+01',
            'apiserver_request_total{code="200",resource="",verb="GET"} 7',
        )
    )
    assert counted(metrics) == {("PUT", "services"): 12}


def test_the_floor_sends_what_the_controller_has_sent() -> None:
    given = Metadata(namespace="team", name="web-west", labels={"a": "b"})
    ports = (ServicePort(port=80, name="http"),)
    sent = Service(metadata=given, spec=ServiceSpec(ports=ports))
    stored = Service(
        metadata=msgspec.structs.replace(given, uid="1", resource_version="2"),
        spec=ServiceSpec(ports=ports, cluster_ip="10.0.0.1", cluster_ips=("10.0.0.1",)),
    )
    labels = {"kubernetes.io/service-name": "web-west"}
    slice_given = Metadata(namespace="team", name="web-west-ipv4", labels=labels)
    slice_stored = msgspec.structs.replace(slice_given, uid="3", generation=1)
    ((service, one),) = replay(
        (stored,), (EndpointSlice(metadata=slice_stored, address_type="IPv4"),)
    )
    assert service.path == "/api/v1/namespaces/team/services?fieldManager=isthmus"
    assert msgspec.json.decode(service.body, type=Service) == sent
    assert msgspec.json.decode(one.body, type=EndpointSlice).metadata == slice_given


def test_a_recorded_run_of_mirroring_reads_back_as_it_was(tmp_path: Path) -> None:
    run = found(a_round(sync(9.0), sync(9.0)))
    figures.write(run, tmp_path / "run.json")
    assert figures.read(tmp_path / "run.json") == run
