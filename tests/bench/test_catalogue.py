"""From figures about the catalogue to tables and growth, and what is offered for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bench.catalogue.figures import Catalogue, Followed, Follower, Server
from bench.catalogue.following import read_only
from bench.catalogue.report import catalogue
from bench.catalogue.serving import offered, permit, seen
from bench.results import Machine
from bench.trial import Failed
from isthmus.catalogue.following import Chunks, Door
from isthmus.model.exports import Export

DOOR = Door(cluster="west", addresses=("127.0.0.1",), port=4143)


def server(cpu: float, kept: float) -> Server:
    return Server(cpu=cpu, kept=kept, envoy_cpu=0.1, envoy_kept=70.0)


def followed(exports: int, wall: float) -> Followed:
    return Followed(
        exports=exports,
        digest=exports / 10_000,
        empty=server(0.5, 60.0),
        filled=server(1.0, 60.0 + exports / 100),
        snapshot=Follower(wall=wall, cpu=exports / 50_000, kept=50.0 + exports / 500),
        snapshot_bytes=exports * 550,
        served=server(1.0 + exports / 100_000, 60.0 + exports / 100),
        bare=wall / 2,
        base=50.0,
        single=(0.001, 0.002, 0.009),
        single_bytes=560.0,
        burst=1000,
        burst_wall=0.5,
    )


def found(*each: Followed) -> Catalogue:
    return Catalogue(
        machine=Machine(cores=2, memory_gb=24, python="3.11"),
        date="2026-01-02",
        versions={"Envoy": "1.40.0"},
        load=0.5,
        followed=each,
    )


def test_rates_are_exports_by_the_time_until_all_are_known() -> None:
    snapshots, changes = catalogue(found(followed(1000, 0.5), followed(1000, 0.25))).tables
    row = dict(zip(snapshots.columns, snapshots.rows[0], strict=True))
    assert row["exports/s"] == "3,000 (2,000 … 4,000)"
    assert row["bytes/export"] == "550"
    assert changes.rows[0] == ("1,000", "6", "2.00", "9.00", "9.00", "9.00", "560", "2,000")


def test_costs_are_those_of_following_and_not_of_being_there() -> None:
    report = catalogue(found(followed(1000, 0.5), followed(10_000, 5.0)))
    growths = {one.what: one for one in report.growths}
    linear = [one.exponent for one in growths.values() if one.should_be == "linear"]
    assert linear == pytest.approx([1.0] * 5)
    assert growths["one change of the catalogue, p50"].exponent == pytest.approx(0.0)


def test_what_is_offered_is_what_the_controller_would_offer_and_may_be_seen() -> None:
    one = offered(seen(7), "12")
    assert isinstance(one.said, Export)
    assert (one.said.name, one.said.version) == ("payments-00007", "12")
    assert one.said.ready
    assert [port.port for port in one.said.ports] == [80, 9090]
    assert permit().covers(one.said.key, one.labels)


class Catalogues:
    """A catalogue that takes a while the first time somebody reads it, and ends as it is told."""

    def __init__(self, end: bytes) -> None:
        self._end = end
        self.reads = 0

    @asynccontextmanager
    async def open(self, _: Door) -> AsyncIterator[Chunks]:
        self.reads += 1
        yield self._chunks(60.0 if self.reads == 1 else 1.0)

    async def _chunks(self, seconds: float) -> Chunks:
        await asyncio.sleep(seconds)
        yield self._end[:9]
        yield self._end[9:]


async def test_the_first_read_counts_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr("bench.catalogue.following.time.perf_counter", loop.time)
    there = Catalogues(b'{"type":"complete"}')
    assert await read_only(there.open, DOOR) == pytest.approx(1.0)
    assert there.reads == 2


async def test_a_catalogue_that_breaks_off_was_not_read() -> None:
    with pytest.raises(Failed, match="broke off"):
        await read_only(Catalogues(b'{"type":"export"}').open, DOOR)
