"""From figures about the data plane to tables and verdicts, and what proxies are told for them."""

import shutil
from pathlib import Path

import pytest

from bench.dataplane import figures, pairs, report, told
from bench.dataplane.figures import Change, Cost, Dataplane, Reading, Scale
from bench.dataplane.proxies import EGRESS, GATEWAY
from bench.dataplane.ways import BYTES, DIRECT, FLOOR, OURS, REQUESTS, named
from bench.results import Machine
from isthmus.xds.assembly import Assembly
from isthmus.xds.references import Reference
from isthmus.xds.snapshot import dangling

CALLS, UPLOADS = "32 calls at a time", "uploads"


def reading(
    path: str, calls: int = 1000, *, number: int = 0, load: str = CALLS, p50: float = 0.001
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
        cpu=0.1,
    )


def change(sent: int, own: int) -> Change:
    return Change(what="one service is exported", wall=0.005, sent=sent, own=own)


def scale(*changes: Change) -> Scale:
    return Scale(
        role=GATEWAY,
        ports=5000,
        build=Cost(wall=1.0, ours=1.0),
        deliver=Cost(wall=2.0, ours=0.5, envoy=3.0),
        ours_before=70.0,
        envoy_before=60.0,
        ours=120.0,
        envoy=260.0,
        changes=changes,
    )


def found(
    *readings: Reading, scales: tuple[Scale, ...] = (), missing: dict[str, str] | None = None
) -> Dataplane:
    return Dataplane(
        machine=Machine(cores=2, memory_gb=24, python="3.11"),
        date="2026-01-02",
        versions={"Envoy": "1.40.0"},
        load=0.5,
        scales=scales,
        readings=readings,
        missing=missing or {},
    )


def judged(run: Dataplane) -> dict[str, bool]:
    return {verdict.goal: verdict.met for verdict in report.verdicts(run)}


@pytest.mark.parametrize(
    "sent, own, met",
    [
        pytest.param(3, 3, True, id="all of the part"),
        pytest.param(1, 3, True, id="some of the part"),
        pytest.param(4, 3, False, id="one more than the part has"),
    ],
)
def test_a_change_that_sends_more_than_itself_is_noticed(sent: int, own: int, met: bool) -> None:
    run = found(scales=(scale(change(1, 3)), scale(change(sent, own))))
    assert judged(run) == {"one change sends nothing but what it changes": met}


@pytest.mark.parametrize(
    "ours, met",
    [
        pytest.param(950, True, id="level"),
        pytest.param(949, False, id="just below"),
        pytest.param(2000, True, id="ahead"),
    ],
)
def test_ours_is_compared_with_the_best_pair_of_the_same_kind(ours: int, met: bool) -> None:
    run = found(
        reading(named(OURS, BYTES), ours),
        reading(named("nginx", BYTES), 1000),
        reading(named("HAProxy", BYTES), 10),
        reading(named("nginx", REQUESTS), 9000),
        reading(named(FLOOR, BYTES), 9000),
        reading(DIRECT, 9000),
    )
    assert judged(run) == {"as bytes, 32 calls at a time: level with the best pair": met}


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
    assert "not measured: nginx pair: nginx is not installed" in report.terminal(run)


def test_what_a_way_adds_is_taken_within_a_round() -> None:
    run = found(
        reading(DIRECT, number=0, p50=0.001),
        reading(DIRECT, number=1, p50=0.005),
        reading(named(OURS, BYTES), number=0, p50=0.003),
        reading(named(OURS, BYTES), number=1, p50=0.007),
    )
    row = next(line for line in report.markdown(run).splitlines() if "isthmus" in line)
    assert row.split(" | ")[4] == "2.00"


def test_bytes_are_given_as_bits_a_second_and_their_cost() -> None:
    run = found(reading(named(OURS, BYTES), 250, load=UPLOADS))
    assert "| isthmus, as bytes | 2.00 | 0.40 |" in report.markdown(run)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = found(reading(DIRECT), scales=(scale(change(1, 3)),), missing={"a": "b"})
    figures.write(run, tmp_path / "run.json")
    again = figures.read(tmp_path / "run.json")
    assert again == run
    assert report.markdown(again) == report.markdown(run)


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


def test_every_setting_of_every_pair_is_filled_in(tmp_path: Path) -> None:
    running = pairs.Running(tmp_path)
    for pair in pairs.PAIRS:
        sides = ["egress", "gateway"]
        for name in (
            *(f"{pair.program}-{side}" for side in sides),
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
