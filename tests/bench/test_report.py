"""The path from figures to a document: wrong arithmetic here would be believed."""

from pathlib import Path

import pytest

from bench import document, edge, record, report, tables
from bench.edge_goals import verdicts
from bench.lineup import OURS
from bench.meter import Import, Listing, Watching
from bench.results import Machine, Results
from bench.trial import in_turn

RIVAL = "kubernetes_asyncio"


def listing(cpu: float, peak: float = 100.0) -> Listing:
    return Listing(wall=2 * cpu, cpu=cpu, base=40.0, peak=peak, kept=60.0, count=10_000)


def run(**listings: list[Listing]) -> Results:
    return Results(
        machine=Machine(cores=2, memory_gb=24, python="3.11", kubernetes="v1", etcd="v3"),
        date="2026-01-02",
        objects=5000,
        events=11,
        versions={RIVAL: "1.2"},
        listings=listings,
        watches={OURS: [Watching(wall=0.5, cpu=0.001, count=10)]},
        imports={"isthmus.kube.client": [Import(wall=0.1, resident=24.0)]},
        missing={"kr8s": "could not be installed"},
    )


def test_every_round_lets_everyone_have_a_turn_in_another_order() -> None:
    turns = list(in_turn("abcd", 2))
    assert sorted(turns[:4]) == sorted(turns[4:]) == list("abcd")
    assert turns[:4] != turns[4:]


@pytest.mark.parametrize(
    "figures, expected",
    [
        pytest.param([3.0, 1.0, 2.0], "2.0 (1.0 … 3.0)", id="the median and both ends"),
        pytest.param([1.0, 3.0], "2.0 (1.0 … 3.0)", id="an even number of figures"),
        pytest.param([2.04, 2.01], "2.0", id="no range that rounding has closed"),
        pytest.param([12345.0], "12,345.0", id="one figure"),
    ],
)
def test_spread(figures: list[float], expected: str) -> None:
    assert tables.spread(figures, 1) == expected


@pytest.mark.parametrize(
    "share, expected",
    [
        pytest.param(0.5, 2, id="p50"),
        pytest.param(0.99, 4, id="p99"),
        pytest.param(1.0, 4, id="all"),
    ],
)
def test_percentile(share: float, expected: float) -> None:
    assert tables.percentile([4, 1, 3, 2], share) == expected


def test_memory_per_object_is_what_the_list_added_to_the_process() -> None:
    table = tables.listings(run(isthmus=[listing(1.0)]))
    assert table.rows[0][-1] == "2.00"


@pytest.mark.parametrize(
    "ours, theirs, met",
    [
        pytest.param(listing(1.0, 50), listing(10.0, 100), True, id="exactly the share"),
        pytest.param(listing(1.1, 51), listing(10.0, 100), False, id="just above it"),
    ],
)
def test_the_shares_of_the_rival_are_judged_by_the_medians(
    ours: Listing, theirs: Listing, met: bool
) -> None:
    judged = verdicts(run(isthmus=[ours] * 3, kubernetes_asyncio=[theirs] * 3))
    assert {verdict.met for verdict in judged if RIVAL in verdict.goal} == {met}


def test_the_better_of_the_rivals_rows_counts() -> None:
    found = run(isthmus=[listing(1.0)], kubernetes_asyncio=[listing(20.0)])
    found.listings[f"{RIVAL}, pages of 500"] = [listing(5.0)]
    judged = {verdict.goal: verdict.met for verdict in verdicts(found)}
    assert not judged[f"CPU of a list ≤ 1/10 of {RIVAL}"]


def test_a_peer_that_is_better_is_named() -> None:
    judged = verdicts(run(isthmus=[listing(1.0)], kopf=[listing(0.5)]))
    assert "MISSED: the list with the least CPU (1 s; next is kopf with 0.5)" in map(str, judged)


def test_without_a_peer_nothing_is_claimed() -> None:
    assert verdicts(run(isthmus=[listing(1.0)])) == ()


def test_what_was_not_measured_is_said() -> None:
    found = edge.report(run(isthmus=[listing(1.0)]))
    assert "not measured: kr8s: could not be installed" in report.terminal(found)
    assert "- not measured: kr8s: could not be installed" in report.markdown(found)


def test_only_the_text_between_the_marks_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "performance.md"
    path.write_text("before\n<!-- bench:one -->\nold\n<!-- /bench -->\nafter\n")
    document.replace_section(path, "one", "new")
    assert path.read_text() == "before\n<!-- bench:one -->\nnew\n<!-- /bench -->\nafter\n"


def test_a_recorded_run_reads_back_as_it_was(tmp_path: Path) -> None:
    found = run(isthmus=[listing(1.0), listing(2.0)])
    record.write(tmp_path / "run.json", "edge", found)
    assert record.read(tmp_path / "run.json", "edge", Results) == found
