"""From figures about the data plane to tables and verdicts, and what proxies are told for them."""

import shutil
from pathlib import Path

import pytest

from bench import record
from bench.dataplane import load, pairs, telling, told
from bench.dataplane.figures import Change, Cost, Reading, Scale, Told, Traffic
from bench.dataplane.proxies import EGRESS, GATEWAY
from bench.dataplane.report import traffic
from bench.dataplane.run import fitting
from bench.dataplane.traffic import handled
from bench.dataplane.ways import BYTES, DIRECT, FLOOR, ONE, OURS, REQUESTS, named
from bench.report import Report, markdown, terminal
from bench.results import Machine
from bench.trial import Failed
from isthmus.xds.assembly import Assembly
from isthmus.xds.references import Reference
from isthmus.xds.snapshot import EMPTY, dangling

CALLS, FEW, UPLOADS = "1 KB on 32 connections", "1 KB on 1 connection", "uploads"
HERE = Machine(cores=2, memory_gb=24, python="3.11")


def reading(
    path: str,
    calls: int = 1000,
    *,
    number: int = 0,
    load: str = CALLS,
    p50: float = 0.001,
    failed: int = 0,
) -> Reading:
    carried = calls * 1_000_000 if load == UPLOADS else 0
    return Reading(
        path=path,
        load=load,
        round=number,
        seconds=1.0,
        calls=calls,
        carried=carried,
        p50=p50,
        p99=0.01,
        p999=0.02,
        cpu=0.1,
        failed=failed,
    )


def change(sent: int, own: int) -> Change:
    return Change(what="one service is exported", wall=0.005, sent=sent, own=own)


def scale(*changes: Change, ports: int = 5000, envoy: float = 260.0) -> Scale:
    return Scale(
        role=GATEWAY,
        ports=ports,
        build=Cost(wall=1.0, ours=1.0),
        deliver=Cost(wall=2.0, ours=0.5, envoy=3.0),
        ours_before=70.0,
        envoy_before=60.0,
        ours=120.0,
        envoy=envoy,
        changes=changes or (change(1, 3),),
    )


def all_told(*scales: Scale) -> Told:
    return Told(
        machine=HERE, date="2026-01-02", versions={"Envoy": "1.40.0"}, load=0.5, scales=scales
    )


def carried(*readings: Reading, missing: dict[str, str] | None = None) -> Traffic:
    return Traffic(
        machine=HERE,
        date="2026-01-02",
        versions={"Envoy": "1.40.0"},
        load=0.5,
        readings=readings,
        missing=missing or {},
    )


def found(*readings: Reading, missing: dict[str, str] | None = None) -> Report:
    return traffic(carried(*readings, missing=missing), "calls")


def judged(run: Report) -> dict[str, bool]:
    return {verdict.goal: verdict.met for verdict in run.verdicts}


@pytest.mark.parametrize(
    "sent, own, met",
    [
        pytest.param(3, 3, True, id="all of the part"),
        pytest.param(1, 3, True, id="some of the part"),
        pytest.param(4, 3, False, id="one more than the part has"),
    ],
)
def test_a_change_that_sends_more_than_itself_is_noticed(sent: int, own: int, met: bool) -> None:
    run = telling.told(all_told(scale(change(1, 3)), scale(change(sent, own))))
    assert judged(run) == {"one change sends nothing but what it changes": met}


@pytest.mark.parametrize(
    "load, ours, word, met",
    [
        pytest.param(FEW, 950, "level with", True, id="level on one"),
        pytest.param(FEW, 949, "level with", False, id="just below on one"),
        pytest.param(CALLS, 1000, "ahead of", True, id="not behind on many"),
        pytest.param(CALLS, 999, "ahead of", False, id="just below on many"),
    ],
)
def test_ours_is_compared_with_the_best_pair_of_the_same_kind(
    load: str, ours: int, word: str, met: bool
) -> None:
    run = found(
        reading(named(OURS, BYTES), ours, load=load),
        reading(named("nginx", BYTES), 1000, load=load),
        reading(named("HAProxy", BYTES), 10, load=load),
        reading(named("nginx", REQUESTS), 9000, load=load),
        reading(named(FLOOR, BYTES), 9000, load=load),
        reading(named(ONE, BYTES), 9000, load=load),
        reading(DIRECT, 9000, load=load),
    )
    assert judged(run) == {f"as bytes, {load}: {word} the best pair": met}


@pytest.mark.parametrize(
    "requests, met",
    [pytest.param(500, True, id="exactly half"), pytest.param(499, False, id="just below")],
)
def test_requests_are_to_reach_half_of_bytes(requests: int, met: bool) -> None:
    run = found(reading(named(OURS, BYTES), 1000), reading(named(OURS, REQUESTS), requests))
    assert judged(run) == {f"{CALLS}: as requests at least half of as bytes": met}


def test_rounds_are_compared_within_themselves() -> None:
    run = found(
        *(
            reading(named(who, BYTES), calls, number=number)
            for number, calls in enumerate((100, 1000, 10_000))
            for who in (OURS, "nginx")
        )
    )
    assert all(judged(run).values())


def test_nothing_is_said_about_peers_that_were_not_there() -> None:
    run = found(reading(named(OURS, BYTES)), missing={"nginx pair": "nginx is not installed"})
    assert judged(run) == {}
    assert "not measured: nginx pair: nginx is not installed" in terminal(run)


def test_what_a_way_adds_is_taken_within_a_round() -> None:
    run = found(
        reading(DIRECT, number=0, p50=0.001),
        reading(DIRECT, number=1, p50=0.005),
        reading(named(OURS, BYTES), number=0, p50=0.003),
        reading(named(OURS, BYTES), number=1, p50=0.007),
    )
    row = next(line for line in markdown(run).splitlines() if "isthmus" in line)
    assert row.split(" | ")[5] == "2.00"


def test_bytes_are_given_as_bits_a_second_and_their_cost() -> None:
    run = found(reading(named(OURS, BYTES), 250, load=UPLOADS))
    (table,) = run.tables
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["Gbit/s"] == "2.00"
    run = found(reading(DIRECT, 250, load=UPLOADS), reading(named(OURS, BYTES), 250, load=UPLOADS))
    assert run.tables[0].rows[-1][-1] == "0.40"


@pytest.mark.parametrize(
    "load, is_halved",
    [
        pytest.param("100 KB on 256 connections", True, id="many connections"),
        pytest.param(CALLS, False, id="few connections"),
        pytest.param(UPLOADS, False, id="uploads"),
    ],
)
def test_a_table_says_which_of_its_figures_are_about_half_of_a_load(
    load: str, is_halved: bool
) -> None:
    run = found(reading(named(OURS, BYTES), load=load))
    for text in (markdown(run), terminal(run)):
        assert ("second half of the load" in text) is is_halved


def test_calls_that_failed_are_counted_by_who_lost_them() -> None:
    lost = named("nginx", BYTES)
    run = found(
        reading(lost, failed=1), reading(lost, number=1, failed=2), reading(named(OURS, BYTES))
    )
    (table,) = run.tables
    assert table.note == "Calls that failed, of which one in 1,000 is let pass: nginx, as bytes: 3."
    assert found(reading(lost)).tables[0].note == "No call failed."


def said(requests: int, failed: int) -> load.Said:
    return load.Said(seconds=1.0, requests=requests, failed=failed, p50=0.1, p99=0.1, p999=0.1)


def test_few_calls_may_fail() -> None:
    assert load.believed(said(2000, 2)).failed == 2


@pytest.mark.parametrize(
    "requests, failed",
    [
        pytest.param(2000, 3, id="more than one in a thousand"),
        pytest.param(999, 1, id="one in fewer than a thousand"),
        pytest.param(0, 0, id="no answer at all"),
    ],
)
def test_a_load_of_which_more_calls_fail_has_no_figures(requests: int, failed: int) -> None:
    with pytest.raises(Failed, match=f"{failed} calls failed, {requests} were answered"):
        load.believed(said(requests, failed))


def test_rates_are_drawn_against_connections() -> None:
    run = found(
        *(reading(named(OURS, BYTES), calls, load=load) for load, calls in ((FEW, 1), (CALLS, 9)))
    )
    (line,) = run.plots["calls-bytes"].lines
    assert line.points == ((1.0, 1.0), (32.0, 9.0))


def test_what_ports_add_to_an_envoy_is_what_grows() -> None:
    sizes = (scale(ports=1000, envoy=80.0), scale(ports=10_000, envoy=260.0))
    growths = {one.what: one for one in telling.told(all_told(*sizes)).growths}
    assert growths["gateway: Envoy's memory"].exponent == pytest.approx(1.0)
    assert growths["gateway: one change, p50"].should_be == "constant"


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    scales, readings = all_told(scale(change(1, 3))), carried(reading(DIRECT), missing={"a": "b"})
    record.write(path, "told", scales)
    record.write(path, "calls", readings)
    assert record.read(path, "told", Told) == scales
    assert record.read(path, "calls", Traffic) == readings


@pytest.mark.parametrize("role", [GATEWAY, EGRESS])
def test_what_proxies_are_told_is_whole_and_stays_so_through_every_change(role: str) -> None:
    assembly = Assembly()
    for part, resources in told.everything(role, 10):
        assembly.put(part, resources)
    assert not list(dangling(assembly.snapshot()))
    for step in told.changes(role, 10, 2):
        before = assembly.snapshot()
        assembly.put(step.part, step.resources)
        now = assembly.snapshot()
        assert now is not before, step.what
        own = {Reference(one.type_url, one.name) for one in step.resources}
        changed = {
            Reference(type_url, name)
            for type_url in now.types
            for name, entry in now.of(type_url).items()
            if before.of(type_url).get(name) is not entry
        }
        assert changed <= own, step.what
        assert not list(dangling(now)), step.what
        # A change is said in far fewer bytes than everything is.
        assert 0 < told.message_bytes(before, now) < told.message_bytes(EMPTY, now), step.what
    assert told.message_bytes(assembly.snapshot(), assembly.snapshot()) == 0


@pytest.mark.parametrize(
    "ports, files, expected",
    [
        pytest.param(5000, 20_000, 5000, id="all of them"),
        pytest.param(20_000, 24_096, 20_000, id="just so"),
        pytest.param(20_000, 20_000, 15_000, id="as many thousands as there is room for"),
    ],
)
def test_an_egress_is_told_of_no_more_ports_than_it_may_have_files(
    ports: int, files: int, expected: int
) -> None:
    assert fitting(ports, files) == expected


def test_the_servers_own_count_of_requests_is_read() -> None:
    status = (
        "Active connections: 258 \nserver accepts handled requests\n 513 513 90210 \n"
        "Reading: 0 Writing: 33 Waiting: 225 \n"
    )
    assert handled(status) == 90210
    with pytest.raises(Failed, match="says nothing about requests"):
        handled("<html>404</html>")


def test_every_setting_of_every_pair_is_filled_in(tmp_path: Path) -> None:
    running = pairs.Running(tmp_path)
    for pair in pairs.PAIRS:
        for name in (
            *(f"{pair.program}-{side}" for side, _ in pair.sides),
            *(["server"] * (pair == pairs.NGINX)),
        ):
            text = running.settings(f"{name}{pair.suffix}", pair)
            assert "@{" not in text
            assert str(tmp_path) in text


def test_a_program_that_is_not_there_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert pairs.missing(pairs.HAPROXY) == "haproxy is not installed (Debian: haproxy)"
