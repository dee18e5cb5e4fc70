"""From figures about mirroring to tables and verdicts, and the same writes for both sides."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from bench import record, report
from bench.kernel import Theft
from bench.mirroring import halves, settled_report
from bench.mirroring.cold import Cold, Trial
from bench.mirroring.figures import (
    Changes,
    Growing,
    Latency,
    Restart,
    Restarts,
    Round,
    Size,
    Sync,
    merged,
    merged_restarts,
)
from bench.mirroring.floor import Post
from bench.mirroring.looks import LONGEST, NEAR, Looks
from bench.mirroring.replay import replay
from bench.mirroring.restart import beyond, counted
from bench.mirroring.starts_report import LINKS, PODS, SERVICES, growing
from bench.mirroring.storm import Storm
from bench.population import SLICE, set_slices, stateful
from bench.report import Report
from bench.results import Machine
from bench.trial import Failed
from isthmus.model.objects import EndpointSlice, Metadata, Service, ServicePort, ServiceSpec

HERE = Machine(cores=2, memory_gb=24, python="3.11", kubernetes="v1", etcd="v3")


def sync(
    wall: float,
    leading: float = 0.0,
    server_cpu: float = 1.0,
    *,
    cpu: float = 1.0,
    kept: float = 60.0,
) -> Sync:
    return Sync(
        wall=wall, leading=leading, cpu=cpu, server_cpu=server_cpu, peak=kept + 10, kept=kept
    )


def a_round(ours: Sync, floor: Sync) -> Round:
    return Round(ours=ours, floor=floor, load=1.0)


EMPTY = sync(1.0, cpu=0.5, kept=50.0)


def size(
    count: int,
    *rounds: Round,
    date: str = "2026-01-02",
    empty: Sync = EMPTY,
    missing: dict[str, str] | None = None,
) -> Size:
    return Size(
        count=count,
        mirrors=count,
        date=date,
        machine=HERE,
        empty=empty,
        rounds=rounds,
        missing=missing or {},
    )


def starts(*sizes: Size) -> Growing:
    return Growing(sizes=sizes)


def found(*rounds: Round, by: str = SERVICES) -> Report:
    return growing(starts(size(1000, *rounds)), by)


def restart(
    writes: dict[str, int] | None = None,
    idle: dict[str, int] | None = None,
    mirrors: int = 1000,
    machine: Machine = HERE,
) -> Restart:
    return Restart(
        mirrors=mirrors,
        date="2026-01-02",
        machine=machine,
        load=0.1,
        ready=1.0,
        settled=2.0,
        cpu=0.7,
        kept=70.0,
        writes=writes or {},
        idle=60.0,
        idle_requests=idle or {},
        idle_cpu=0.1,
    )


def judged(run: Report) -> dict[str, bool]:
    return {verdict.goal: verdict.met for verdict in run.verdicts}


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
    goal = "1,000 exported Services from a cold start at ≥ 90% of the floor's rate"
    assert judged(run)[goal] is met


def test_rounds_are_compared_within_themselves() -> None:
    slow = a_round(sync(16.0), sync(16.0))
    quick = a_round(sync(4.0), sync(4.0))
    worse = a_round(sync(8.0), sync(4.0))
    assert all(judged(found(slow, quick, worse)).values())


@pytest.mark.parametrize(
    "writes, idle, goal",
    [
        pytest.param(
            {"PUT links": 1}, {}, "a restart among 1,000 mirrors writes nothing", id="a write"
        ),
        pytest.param(
            {},
            {"LIST services": 1},
            "60 idle seconds with 1,000 mirrors: nothing but leases and watches, renewed",
            id="a read",
        ),
    ],
)
def test_what_should_not_have_been_asked_for_is_named(
    writes: dict[str, int], idle: dict[str, int], goal: str
) -> None:
    run = settled_report.restarts(Restarts(each=(restart(writes, idle),)))
    assert [verdict.goal for verdict in run.verdicts if not verdict.met] == [goal]


def test_leases_and_watches_may_be_renewed_at_rest() -> None:
    idle = {"PUT leases": 30, "WATCH pods": 1}
    run = settled_report.restarts(Restarts(each=(restart(idle=idle),)))
    assert all(judged(run).values())


@pytest.mark.parametrize(
    "kept, met",
    [pytest.param(91.9, True, id="below"), pytest.param(92.0, False, id="as much")],
)
def test_memory_is_compared_with_linkerds_at_its_size(kept: float, met: bool) -> None:
    run = found(a_round(sync(8.0, kept=kept), sync(8.0)))
    assert judged(run)["memory with 1,000 exported Services below Linkerd's 92 MB"] is met


@pytest.mark.parametrize("by", [PODS, LINKS])
def test_linkerd_is_compared_with_where_it_was_measured_only(by: str) -> None:
    run = found(a_round(sync(8.0), sync(8.0)), by=by)
    assert "Linkerd" not in report.markdown(run)


def test_memory_per_mirror_is_what_a_controller_without_mirrors_has_not() -> None:
    table = found(a_round(sync(9.0), sync(9.0))).tables[0]
    assert table.rows[0][-1] == "10.0"


def test_growth_is_that_of_what_comes_on_top_of_an_empty_controller() -> None:
    ours = {
        count: sync(9.0, cpu=0.5 + count / 100, kept=50.0 + count / 50) for count in (100, 1000)
    }
    sizes = (size(count, a_round(one, sync(9.0))) for count, one in ours.items())
    cpu, memory, *_ = growing(starts(*sizes), SERVICES).growths
    assert cpu.exponent == pytest.approx(1.0)
    assert memory.exponent == pytest.approx(1.0)
    assert [figure for _, figure in memory.points] == pytest.approx([2.0, 20.0])


def test_a_size_that_was_measured_again_replaces_itself_alone() -> None:
    one, two, three = (a_round(sync(wall), sync(1.0)) for wall in (1.0, 2.0, 3.0))
    before = starts(size(100, one), size(5000, one))
    now = starts(size(1000, two), size(5000, three, date="2026-01-03"))
    both = merged(before, now)
    assert {size.count: size.rounds for size in both.sizes} == {
        100: (one,),
        1000: (two,),
        5000: (three,),
    }
    assert "2026-01-02 … 2026-01-03" in growing(both, SERVICES).head
    assert merged(None, now) == now


def test_a_size_is_compared_with_the_empty_controller_of_its_own_day() -> None:
    one = a_round(sync(9.0, cpu=2.5, kept=60.0), sync(9.0))
    before = starts(size(100, one))
    now = starts(size(1000, one, empty=sync(1.0, cpu=1.5, kept=55.0)))
    run = growing(merged(before, now), SERVICES)
    added = [row[-1] for row in run.tables[0].rows if "isthmus" in row[0]]
    assert added == ["100.0", "5.0"]
    cpu, memory, *_ = run.growths
    assert [figure for _, figure in cpu.points] == pytest.approx([2.0, 1.0])
    assert [figure for _, figure in memory.points] == pytest.approx([10.0, 5.0])
    assert "nothing to mirror: 50 to 55 MB, 0.50 to 1.50 s of CPU" in run.head


def test_what_is_missing_at_one_size_stays_until_that_size_is_measured_again() -> None:
    one = a_round(sync(9.0), sync(9.0))
    before = starts(size(100, one, missing={"other": "gone"}), size(1000, one))
    now = starts(size(1000, one, missing={"other": "too slow"}))
    assert growing(merged(before, now), SERVICES).missing == {
        "100: other": "gone",
        "1,000: other": "too slow",
    }
    assert growing(merged(before, starts(size(100, one))), SERVICES).missing == {}


def test_another_machine_is_named_beside_the_first() -> None:
    one = size(100, a_round(sync(9.0), sync(9.0)))
    there = msgspec.structs.replace(HERE, cores=64)
    other = msgspec.structs.replace(one, count=1000, machine=there)
    head = growing(starts(one, other), SERVICES).head
    assert "2 cores, " in head
    assert " and 64 cores, " in head


def test_restarts_of_other_sizes_stay() -> None:
    before = Restarts(each=(restart(mirrors=5000),))
    both = merged_restarts(before, Restarts(each=(restart(mirrors=100),)))
    assert [one.mirrors for one in both.each] == [100, 5000]


def test_restarts_keep_the_machine_that_they_were_measured_on() -> None:
    there = msgspec.structs.replace(HERE, cores=64)
    before = Restarts(each=(restart(mirrors=100),))
    both = merged_restarts(before, Restarts(each=(restart(mirrors=5000, machine=there),)))
    head = settled_report.restarts(both).head
    assert "2 cores, " in head
    assert " and 64 cores, " in head


def changes(ours: tuple[float, ...], floor: tuple[float, ...]) -> Latency:
    return Latency(
        machine=HERE,
        date="2026-01-02",
        load=0.1,
        mirrors=1000,
        storm=99.6,
        stretches=(Changes(when="idle", ours=ours, floor=floor, peers={"other": (0.5,)}),),
    )


@pytest.mark.parametrize(
    "ours, met",
    [
        pytest.param((0.015, 0.040), {"p50": True, "p99": True}, id="exactly so many times"),
        pytest.param((0.016, 0.016), {"p50": False, "p99": True}, id="too slow in the middle"),
        pytest.param((0.010, 0.041), {"p50": True, "p99": False}, id="too long a tail"),
    ],
)
def test_one_change_is_judged_beside_the_floors(
    ours: tuple[float, ...], met: dict[str, bool]
) -> None:
    run = settled_report.latency(changes(ours, (0.010, 0.010)))
    assert judged(run) == {
        f"one change, idle: {share} ≤ {limit} times the floor's": met[share]
        for share, limit in (("p50", 1.5), ("p99", 4.0))
    }


def test_another_mirror_has_a_row_of_its_own() -> None:
    (table,) = settled_report.latency(changes((0.01,), (0.01,))).tables
    assert table.rows[-1] == ("idle: other", "1", "500.0", "500.0", "500.0", "500.0")


def test_pods_fill_slices_as_kubernetes_fills_them() -> None:
    slices = set_slices(range(50, 50 + 2 * SLICE + 1))
    assert [len(one["endpoints"]) for one in slices] == [SLICE, SLICE, 1]
    names = [endpoint["hostname"] for one in slices for endpoint in one["endpoints"]]
    assert names == [f"database-{pod}" for pod in range(50, 251)]
    owner = stateful()["metadata"]["name"]
    assert {one["metadata"]["labels"]["kubernetes.io/service-name"] for one in slices} == {owner}
    assert len({one["metadata"]["name"] for one in slices}) == len(slices)


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


def test_what_others_ask_for_is_not_laid_at_our_door() -> None:
    leases, endpoints, links = ("PUT", "leases"), ("GET", "endpoints"), ("LIST", "links")
    elsewhere = Counter({leases: 6, endpoints: 6})
    found = Counter({leases: 36, endpoints: 7, links: 1})
    assert beyond(found, elsewhere) == {leases: 29, links: 1}


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


def test_the_floor_asks_for_a_headless_service_where_the_controller_did() -> None:
    given = Metadata(namespace="team", name="db-west")
    sent = Service(metadata=given, spec=ServiceSpec(cluster_ip="None"))
    stored = Service(
        metadata=msgspec.structs.replace(given, uid="1"),
        spec=ServiceSpec(cluster_ip="None", cluster_ips=("None",), ip_families=("IPv4",)),
    )
    ((service,),) = replay((stored,), ())
    asked = msgspec.json.decode(service.body, type=Service)
    assert asked.spec.cluster_ip == sent.spec.cluster_ip
    assert asked.spec.ip_families == ()


def test_a_recorded_run_of_mirroring_reads_back_as_it_was(tmp_path: Path) -> None:
    run = starts(size(100, a_round(sync(9.0), sync(9.0))))
    record.write(tmp_path / "run.json", "cold", run)
    assert record.read(tmp_path / "run.json", "cold", Growing) == run


def test_half_of_a_round_is_kept_until_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(Failed, match="--side ours comes first"):
        halves.read(10_000)
    groups = ((Post("/api/v1/services", b"{}"),),)
    half = halves.Half(ours=sync(300.0), empty=sync(1.0), load=0.2, groups=groups)
    halves.write(10_000, half)
    assert halves.read(10_000) == half


@pytest.mark.parametrize(
    "said, rate",
    [
        pytest.param("", 0.0, id="nothing yet"),
        pytest.param("1.000 99\n2.000 200\n", 100.0, id="the last word counts"),
    ],
)
def test_a_storm_is_as_strong_as_it_was(tmp_path: Path, said: str, rate: float) -> None:
    log = tmp_path / "storm.log"
    log.write_text(said)
    assert Storm(log).rate == rate


@pytest.mark.parametrize(
    "stolen, measured, counted",
    [
        pytest.param([0.0, 0.02, 0.05], 3, [0.0, 0.02, 0.05], id="left alone"),
        pytest.param([0.0, 0.2, 0.01, 0.02], 4, [0.0, 0.01, 0.02], id="once disturbed"),
        pytest.param([0.3, 0.2, 0.1, 0.4, 0.5], 5, [0.1, 0.2, 0.3], id="never left alone"),
    ],
)
def test_a_round_that_the_host_disturbed_is_measured_again(
    stolen: list[float], measured: int, counted: list[float]
) -> None:
    class Pretended(Cold):
        def _round(self, number: int) -> Round:
            return a_round(replace(sync(1.0), stolen=stolen[number]), sync(1.0))

    wanted = 3
    rounds = Pretended(Trial(targets=(), mirrors=1, folder=Path())).rounds(wanted)
    assert len(rounds) == measured
    found = replace(size(1000, *rounds), wanted=wanted)
    assert [one.stolen for one in found.counted] == counted


@pytest.mark.parametrize(
    "ours, floor, ratio",
    [
        pytest.param((10.0, 0.0, 2.0), (9.0, 0.0, 2.0), 0.9, id="as fast for both"),
        pytest.param((20.0, 0.0, 4.0), (9.0, 0.0, 2.0), 0.9, id="half as fast for one"),
        pytest.param((20.0, 0.5, 2.0), (9.0, 0.0, 2.0), 0.9, id="half of it given to others"),
        pytest.param((10.0, 0.0, 0.0), (9.0, 0.0, 2.0), None, id="nobody has looked"),
    ],
)
def test_how_fast_the_machine_was_for_whom_makes_no_difference(
    ours: tuple[float, float, float], floor: tuple[float, float, float], ratio: float | None
) -> None:
    both = (replace(sync(wall), stolen=stolen, yard=yard) for wall, stolen, yard in (ours, floor))
    assert a_round(*both).even_ratio == pytest.approx(ratio)


def test_a_cold_start_is_judged_at_even_speed_and_the_clock_is_told_as_well() -> None:
    slow, even = (
        a_round(replace(sync(wall), yard=yard), replace(sync(9.0), yard=2.0))
        for wall, yard in ((15.0, 3.0), (10.0, 2.0))
    )
    verdict = growing(starts(size(1000, slow, slow, even)), SERVICES).verdicts[0]
    assert verdict.met
    assert verdict.evidence.startswith("90% at even speed (90% … 90%); 60% by the clock; ")
    known_once = a_round(sync(15.0), sync(9.0))
    assert not growing(starts(size(1000, slow, known_once)), SERVICES).verdicts[0].met


def test_what_the_host_gave_to_others_is_a_share_of_all_that_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([[10, 0, 10, 10, 0, 0, 0, 10], [60, 0, 20, 30, 0, 0, 0, 30]])
    monkeypatch.setattr("bench.kernel._times", lambda: next(times))
    assert Theft().share() == 20 / 100


def test_which_rounds_count_is_said_if_not_all_do() -> None:
    calm, robbed = (a_round(replace(sync(10.0), stolen=share), sync(9.0)) for share in (0.03, 0.30))
    both = size(1000, robbed, calm)
    assert "host" not in growing(starts(both), SERVICES).head
    said = growing(starts(replace(both, wanted=1)), SERVICES).head
    assert "of 2 rounds the 1 count in which the machine's host took least" in said
    assert "up to 3.0% of the processors" in said


@pytest.mark.parametrize(
    "begins, pace, takes",
    [
        pytest.param(0.8, 100.0, 10.8, id="slowly"),
        pytest.param(0.8, 1000.0, 1.8, id="fast"),
        pytest.param(0.0, 20.0, 50.0, id="from the first moment on"),
    ],
)
def test_the_end_is_seen_at_once_and_little_is_asked_before(
    begins: float, pace: float, takes: float
) -> None:
    moment, asked = 0.0, 0

    def share() -> float:
        nonlocal asked
        asked += 1
        return min(max(moment - begins, 0) * pace / 1000, 1.0)

    looks = Looks(share, lambda: moment)
    while not looks.is_over():
        moment += looks.left
    assert takes - 1e-6 <= moment <= takes + 2 * NEAR
    assert asked < 25


def test_who_has_stood_still_is_looked_at_soon_after() -> None:
    moment = 0.0

    def share() -> float:
        return 0.1 + moment / 1e6 if moment < 60 else 1.0

    looks = Looks(share, lambda: moment)
    while not looks.is_over():
        moment += looks.left
    assert moment < 60 + LONGEST + 2 * NEAR


@pytest.mark.parametrize(
    "ratios, said",
    [
        pytest.param([(9.0, 0.01), (8.0, 0.02)], "", id="nobody was disturbed"),
        pytest.param([(9.0, 0.01), (8.0, 0.2)], "; 90% in the 1 of 2 that nobody", id="one was"),
        pytest.param([(9.0, 0.1), (8.0, 0.2)], "; the host disturbed every round", id="all were"),
    ],
)
def test_a_verdict_tells_what_undisturbed_rounds_show(
    ratios: list[tuple[float, float]], said: str
) -> None:
    rounds = [a_round(replace(sync(10.0), stolen=share), sync(floor)) for floor, share in ratios]
    judged = growing(starts(size(100, *rounds)), SERVICES).verdicts[0]
    assert judged.evidence.partition(" on")[2].startswith(said)
    assert ("disturbed" in judged.evidence) == bool(said)
