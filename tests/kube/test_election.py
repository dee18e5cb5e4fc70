"""Elections on virtual time, over a lease store that is slow, fails and forgets to answer."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.kube.election import Election, Overrun, identity
from isthmus.kube.errors import AlreadyExists, Conflict, Forbidden, Unreachable
from isthmus.kube.lease import Candidate, Timing
from isthmus.model.objects import Key, Lease
from isthmus.runtime.clock import SystemClock
from tests.support.virtual import VirtualLoop

T = TypeVar("T")

KEY = Key("isthmus", "controller")
TIMING = Timing()


class Server:
    """One Lease with a version."""

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self._version = 0

    def write(self, lease: Lease) -> Lease:
        current = self.lease.metadata.resource_version if self.lease is not None else ""
        if lease.metadata.resource_version != current:
            raise Conflict("somebody wrote first") if current else AlreadyExists("gone")
        self._version += 1
        metadata = msgspec.structs.replace(lease.metadata, resource_version=str(self._version))
        self.lease = Lease(metadata=metadata, spec=lease.spec)
        return self.lease


class Line:
    """One candidate's connection: delays before and after the server acts, failures of both."""

    def __init__(self, server: Server, random: Random, slowest: float = 0.0) -> None:
        self.server = server
        self.random = random
        self.slowest = slowest
        self.fails = 0.0  # how likely, before the server acts and after it did
        self.cut = False
        self.pause = 0.0  # seconds each way, without chance

    async def read(self) -> Lease | None:
        return await self._call(lambda: self.server.lease)

    async def create(self, lease: Lease) -> Lease:
        if self.server.lease is not None:
            raise AlreadyExists("taken")
        return await self._call(lambda: self.server.write(lease))

    async def replace(self, lease: Lease) -> Lease:
        return await self._call(lambda: self.server.write(lease))

    async def _call(self, act: Callable[[], T]) -> T:
        await self._travel()
        answer = act()
        await self._travel()
        return answer

    async def _travel(self) -> None:
        await asyncio.sleep(self.pause + self.random.uniform(0, self.slowest))
        if self.cut or self.random.random() < self.fails:
            raise Unreachable("cut")


class Diary:
    """Who worked from when to when."""

    def __init__(self) -> None:
        self.working: set[str] = set()
        self.terms: list[tuple[str, float]] = []
        self.overruns: list[float] = []

    def work(
        self, name: str, *, ends_after: float = 0.0, lasts: float = 1e9
    ) -> Callable[[], Awaitable[None]]:
        async def working() -> None:
            assert not self.working, f"{name} starts while {self.working} works"
            self.working.add(name)
            self.terms.append((name, asyncio.get_running_loop().time()))
            try:
                await asyncio.sleep(lasts)
            finally:
                try:
                    await asyncio.sleep(ends_after)
                finally:  # a second cancellation cuts the tidying up short
                    self.working.discard(name)

        return working


def election(line: Line, name: str, diary: Diary) -> Election:
    me = Candidate(key=KEY, identity=name, timing=TIMING)
    clock = SystemClock()
    return Election(line, me, clock, line.random, lambda: diary.overruns.append(clock.now()))


async def stand_for_ever(line: Line, name: str, diary: Diary, ends_after: float = 0.0) -> None:
    candidate = election(line, name, diary)
    while True:
        await candidate.lead(diary.work(name, ends_after=ends_after))


async def test_the_first_candidate_leads_and_renews_in_rhythm() -> None:
    server, diary = Server(), Diary()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(61):
            await stand_for_ever(Line(server, Random(1)), "a", diary)
    assert diary.terms == [("a", 0.0)]
    assert server.lease is not None
    assert server.lease.metadata.resource_version == "32"  # acquired, renewed 30 times, released
    assert server.lease.spec.holder_identity == ""
    assert server.lease.spec.lease_transitions == 0


async def test_a_release_lets_the_next_candidate_start_within_a_retry() -> None:
    server, diary = Server(), Diary()

    first = election(Line(server, Random(1)), "a", diary)
    async with asyncio.TaskGroup() as group:
        group.create_task(first.lead(diary.work("a", lasts=100)))
        await asyncio.sleep(1)
        second = group.create_task(stand_for_ever(Line(server, Random(2)), "b", diary))
        await asyncio.sleep(200)
        second.cancel()
    assert [name for name, _ in diary.terms] == ["a", "b"]
    assert 100 <= diary.terms[1][1] <= 100 + TIMING.retry * 2.2


async def test_a_leader_without_an_api_stops_working_at_the_renew_deadline() -> None:
    diary = Diary()
    line = Line(Server(), Random(1))
    candidate = election(line, "a", diary)
    async with asyncio.TaskGroup() as group:
        leading = group.create_task(candidate.lead(diary.work("a", ends_after=3)))
        await asyncio.sleep(5)
        line.cut = True
        assert candidate.still_leading()
        await asyncio.sleep(4 + TIMING.renew - 5 - 0.1)  # the last renewal was at 4
        assert candidate.still_leading()
        await asyncio.sleep(0.2)
        assert not candidate.still_leading()
        await leading
    assert not diary.working
    assert asyncio.get_running_loop().time() < 4 + TIMING.duration


async def test_the_deadline_counts_from_when_a_renewal_was_sent_not_from_its_answer() -> None:
    diary = Diary()
    line = Line(Server(), Random(1))
    candidate = election(line, "a", diary)
    async with asyncio.TaskGroup() as group:
        leading = group.create_task(candidate.lead(diary.work("a")))
        await asyncio.sleep(1)
        line.pause = 1.5  # on the way there and on the way back: sent at 2, answered at 5
        await asyncio.sleep(4.5)
        line.cut = True
        await asyncio.sleep(2 + TIMING.renew - 5.5 + 0.1)
        assert not candidate.still_leading()
        await leading


async def test_after_a_crash_somebody_leads_again_within_lease_and_retry() -> None:
    server, diary = Server(), Diary()
    lines = [Line(server, Random(seed)) for seed in range(3)]
    crashed = None
    async with asyncio.TaskGroup() as group:
        first = group.create_task(stand_for_ever(lines[0], "0", diary))
        await asyncio.sleep(1)
        rest = [
            group.create_task(stand_for_ever(lines[number], str(number), diary))
            for number in (1, 2)
        ]
        await asyncio.sleep(30)
        lines[0].cut = True
        first.cancel()
        crashed = asyncio.get_running_loop().time()
        await asyncio.sleep(60)
        for task in rest:
            task.cancel()
    assert (diary.terms[0][0], len(diary.terms)) == ("0", 2)
    assert diary.terms[1][1] - crashed <= TIMING.duration + TIMING.retry * 2.2 + TIMING.retry / 4


async def test_a_leader_whose_lease_was_taken_stops_at_its_next_renewal() -> None:
    server, diary = Server(), Diary()
    candidate = election(Line(server, Random(1)), "a", diary)
    async with asyncio.TaskGroup() as group:
        leading = group.create_task(candidate.lead(diary.work("a")))
        await asyncio.sleep(9)
        assert server.lease is not None
        thief = msgspec.structs.replace(server.lease.spec, holder_identity="thief")
        server.write(Lease(metadata=server.lease.metadata, spec=thief))
        await leading
    assert asyncio.get_running_loop().time() <= 9 + TIMING.retry
    assert candidate.holder == "thief"
    assert server.lease.spec.holder_identity == "thief"


async def test_work_that_does_not_end_before_the_lease_ends_the_process() -> None:
    line, diary = Line(Server(), Random(1)), Diary()
    candidate = election(line, "a", diary)

    async def lose_the_api() -> None:
        await asyncio.sleep(5)
        line.cut = True

    async with asyncio.TaskGroup() as group:
        group.create_task(lose_the_api())
        with pytest.raises(Overrun, match="lease isthmus/controller: the work had not ended"):
            await candidate.lead(diary.work("a", ends_after=60))
    assert diary.overruns == [pytest.approx(4 + TIMING.duration - TIMING.margin)]


async def test_a_shutdown_that_takes_too_long_ends_the_process_too() -> None:
    diary = Diary()
    candidate = election(Line(Server(), Random(1)), "a", diary)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await candidate.lead(diary.work("a", ends_after=60))
    assert diary.overruns == [pytest.approx(4 + TIMING.duration - TIMING.margin)]


async def test_a_failure_of_the_work_ends_the_leadership_and_is_told() -> None:
    server = Server()

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        await election(Line(server, Random(1)), "a", Diary()).lead(broken)
    assert raised.group_contains(ZeroDivisionError)
    assert server.lease is not None
    assert server.lease.spec.holder_identity == ""


class JumpingClock(SystemClock):
    """A clock that the process wakes up to after a pause."""

    def __init__(self) -> None:
        self.monotonic = 0.0
        self.wall = 0.0

    def now(self) -> float:
        return super().now() + self.monotonic

    def utc(self) -> datetime:
        start = datetime(2030, 1, 1, tzinfo=UTC)
        return start + timedelta(seconds=super().now() + self.wall)


@pytest.mark.parametrize(
    "monotonic, wall",
    [
        pytest.param(60.0, 60.0, id="a stopped process"),
        pytest.param(0.0, 60.0, id="a suspended machine, whose monotonic clock stood still"),
    ],
)
async def test_a_process_that_was_paused_knows_before_its_next_write(
    monotonic: float, wall: float
) -> None:
    clock = JumpingClock()
    me = Candidate(key=KEY, identity="a", timing=TIMING)
    candidate = Election(Line(Server(), Random(1)), me, clock, Random(1), lambda: None)
    seen: list[bool] = []

    async def work() -> None:
        seen.append(candidate.still_leading())
        clock.monotonic, clock.wall = monotonic, wall  # no await in between: like SIGSTOP
        seen.append(candidate.still_leading())

    await candidate.lead(work)
    assert seen == [True, False]
    assert not candidate.still_leading()


def test_every_process_has_an_identity_of_its_own() -> None:
    assert identity() != identity()


FAULTS = st.lists(
    st.tuples(
        st.floats(0.1, 30),  # seconds until this happens
        st.integers(0, 2),  # to whom
        st.sampled_from(("cut", "heal", "slow", "fast", "flaky", "restart")),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(faults=FAULTS, seed=st.integers(0, 2**32), ends_after=st.floats(0, 3.5))
def test_no_two_candidates_ever_work_at_the_same_time(
    faults: list[tuple[float, int, str]], seed: int, ends_after: float
) -> None:
    """And once the faults are over, somebody leads again soon."""
    server, diary, random = Server(), Diary(), Random(seed)
    lines = [Line(server, random, slowest=0.2) for _ in range(3)]

    async def story() -> None:
        async with asyncio.TaskGroup() as group:

            def start(number: int) -> asyncio.Task[None]:
                standing = stand_for_ever(lines[number], str(number), diary, ends_after)
                return group.create_task(standing)

            tasks = [start(number) for number in range(3)]
            for pause, number, fault in faults:
                await asyncio.sleep(pause)
                line = lines[number]
                match fault:
                    case "cut":
                        line.cut = True
                    case "heal":
                        line.cut, line.fails = False, 0.0
                    case "slow":
                        line.slowest = 8.0
                    case "fast":
                        line.slowest = 0.2
                    case "flaky":
                        line.fails = 0.3
                    case _:
                        tasks[number].cancel()
                        await asyncio.wait({tasks[number]})
                        tasks[number] = start(number)
            for line in lines:
                line.cut, line.fails, line.slowest = False, 0.0, 0.2
            await asyncio.sleep(TIMING.duration + 3 * TIMING.retry + ends_after + TIMING.attempt)
            assert diary.working
            for task in tasks:
                task.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story())
    assert not diary.overruns


class Contended(Line):
    """Somebody else is always quicker, by a moment."""

    async def replace(self, lease: Lease) -> Lease:
        raise Conflict(f"somebody has written {lease.metadata.name} meanwhile")


async def test_a_candidate_who_is_always_too_late_looks_again_and_never_leads() -> None:
    diary, server = Diary(), Server()
    first = asyncio.create_task(stand_for_ever(Line(server, Random(1)), "first", diary))
    await asyncio.sleep(1)
    first.cancel()
    await asyncio.wait({first})
    late = asyncio.create_task(stand_for_ever(Contended(server, Random(2)), "late", diary))
    await asyncio.sleep(120)
    late.cancel()
    await asyncio.wait({late})
    assert [name for name, _ in diary.terms] == ["first"]


class Forbidding(Line):
    """The API answers, and does not let anybody near the lease."""

    async def read(self) -> Lease | None:
        raise Forbidden("you may not read leases")


async def test_a_lease_that_may_not_be_read_is_warned_of_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    diary = Diary()
    standing = asyncio.create_task(stand_for_ever(Forbidding(Server(), Random(1)), "a", diary))
    await asyncio.sleep(60)
    standing.cancel()
    await asyncio.wait({standing})
    assert diary.terms == []
    warned = [one for one in caplog.records if one.levelname == "WARNING"]
    assert len(warned) > 10
    assert vars(warned[0])["error"] == "you may not read leases"


class Withdrawing(Line):
    """Lets a candidate take the lease that nobody had, and afterwards not write it."""

    async def replace(self, lease: Lease) -> Lease:
        raise Forbidden(f"you may not write {lease.metadata.name}")


async def test_a_lease_that_may_not_be_released_is_left_to_expire(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, diary = Server(), Diary()
    with caplog.at_level(logging.INFO):
        leading = election(Withdrawing(server, Random(1)), "a", diary)
        await leading.lead(diary.work("a", lasts=0.0))
    told = [one for one in caplog.records if one.message == "lease not released"]
    assert [vars(one)["error"] for one in told] == [f"you may not write {KEY.name}"]
    assert server.lease is not None
    assert server.lease.spec.holder_identity == "a"
