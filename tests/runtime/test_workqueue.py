"""No key is lost, none is held twice, and failures wait their turn."""

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.model.errors import Permanent, Transient
from isthmus.runtime.backoff import Backoff
from isthmus.runtime.clock import SystemClock
from isthmus.runtime.work import work
from isthmus.runtime.workqueue import Closed, Lane, WorkQueue
from tests.support.virtual import VirtualLoop


def queue_of(*keys: str) -> WorkQueue[str]:
    queue = WorkQueue[str](SystemClock(), random=Random(1))
    for key in keys:
        queue.add(key)
    return queue


async def drain(queue: WorkQueue[str]) -> list[str]:
    """Take and give back whatever waits now."""
    taken = []
    while queue.depth:
        key = await queue.take()
        queue.done(key)
        taken.append(key)
    return taken


async def test_keys_go_out_in_the_order_in_which_they_came_each_once() -> None:
    assert await drain(queue_of("a", "b", "a", "c", "b")) == ["a", "b", "c"]


async def test_a_key_added_while_held_is_handed_out_again_afterwards_once() -> None:
    queue = queue_of("a")
    assert await queue.take() == "a"
    queue.add("a")
    queue.add("a")
    queue.add("b")
    assert await queue.take() == "b"
    assert queue.depth == 1
    queue.done("a")
    assert await queue.take() == "a"
    queue.done("a")
    assert queue.depth == 0


async def test_a_key_that_is_added_all_the_time_does_not_starve_others() -> None:
    queue = queue_of("noisy", "quiet")
    order = []
    for _ in range(4):
        key = await queue.take()
        queue.add("noisy")
        queue.done(key)
        order.append(key)
    assert order == ["noisy", "quiet", "noisy", "noisy"]


async def test_single_changes_overtake_bulk_without_starving_it() -> None:
    queue = queue_of()
    for number in range(4):
        queue.add(f"bulk-{number}", Lane.BULK)
    for number in range(10):
        queue.add(f"single-{number}")
    lanes = "".join(key[0] for key in await drain(queue))
    assert lanes == "ssssbssssbssbb"


async def test_a_bulk_key_that_changes_moves_to_the_single_lane() -> None:
    queue = queue_of()
    for key in ("a", "b", "c"):
        queue.add(key, Lane.BULK)
    queue.add("c")
    queue.add("c", Lane.BULK)
    assert await drain(queue) == ["c", "a", "b"]


async def test_of_two_delays_the_earlier_one_counts() -> None:
    clock = SystemClock()
    queue = queue_of()
    queue.add_after("a", 10)
    queue.add_after("a", 3)
    queue.add_after("a", 20)
    assert await queue.take() == "a"
    assert clock.now() == pytest.approx(3, abs=0.01)
    queue.done("a")
    await clock.sleep(60)
    assert queue.depth == 0


async def test_a_direct_add_ends_a_delay() -> None:
    queue = queue_of()
    queue.add_after("a", 10)
    queue.add("a")
    queue.add_after("a", 5)
    assert (queue.depth, queue.delayed) == (1, 0)
    assert await drain(queue) == ["a"]
    await asyncio.sleep(60)
    assert queue.depth == 0


async def test_a_delayed_key_comes_after_fresh_ones_unless_it_is_said() -> None:
    queue = queue_of()
    queue.add_after("retried", 1)
    queue.add_after("resting", 1, Lane.SINGLE)
    await asyncio.sleep(2)
    queue.add("fresh")
    assert await drain(queue) == ["resting", "fresh", "retried"]


async def test_delayed_keys_come_in_the_order_of_their_deadlines() -> None:
    queue = queue_of()
    for delay in (5, 1, 3, 2, 4):
        queue.add_after(str(delay), delay)
    taken = [await queue.take() for _ in range(5)]
    assert taken == ["1", "2", "3", "4", "5"]


async def test_overtaken_deadlines_do_not_pile_up() -> None:
    queue = queue_of()
    for _ in range(10_000):
        queue.add_after("a", 60)
        queue.add("a")
        await drain(queue)
    assert len(queue._heap) < 100


async def test_waits_grow_to_the_cap_and_success_resets_them() -> None:
    clock = SystemClock()
    backoff = Backoff(first=1, cap=60)
    queue = WorkQueue[str](clock, backoff=backoff, random=Random(3))
    queue.add("a")
    for failures in range(1, 30):
        before = clock.now()
        assert await queue.take() == "a"
        assert clock.now() - before <= backoff.ceiling(failures - 1) + 0.01
        queue.retry("a")
    assert await queue.take() == "a"
    queue.done("a")
    queue.add("a")
    assert await queue.take() == "a"
    before = clock.now()
    queue.retry("a")
    await queue.take()
    assert clock.now() - before <= 1.01


async def test_a_change_during_a_failing_pass_does_not_wait_for_the_backoff() -> None:
    queue = queue_of("a")
    await queue.take()
    queue.add("a")
    queue.retry("a")
    assert (queue.depth, queue.delayed) == (1, 0)


async def test_depth_and_age_tell_how_far_behind_the_workers_are() -> None:
    queue = queue_of("a")
    await asyncio.sleep(5)
    queue.add("b", Lane.BULK)
    queue.add("a")
    assert (queue.depth, queue.oldest_age) == (2, 5)
    await queue.take()
    await asyncio.sleep(1)
    assert (queue.depth, queue.oldest_age, queue.held) == (1, 1, 1)
    await queue.take()
    assert (queue.depth, queue.oldest_age) == (0, 0)


async def test_closing_ends_the_workers_after_the_key_they_hold() -> None:
    queue = queue_of("a", "b")
    finished = []

    async def reconcile(key: str) -> None:
        await asyncio.sleep(10)
        finished.append(key)

    async with asyncio.TaskGroup() as group:
        group.create_task(work(queue, reconcile, workers=1))
        await asyncio.sleep(1)
        queue.add_after("c", 100)
        queue.close()
        queue.add("d")
    assert finished == ["a"]
    assert queue.held == 0
    with pytest.raises(Closed):
        await queue.take()


async def test_the_kind_of_failure_decides_whether_a_key_comes_back() -> None:
    queue = queue_of("flaky", "broken", "fine")
    passes: list[str] = []

    async def reconcile(key: str) -> None:
        passes.append(key)
        if key == "flaky" and passes.count(key) < 4:
            raise Transient("not yet")
        if key == "broken":
            raise Permanent("never")

    async with asyncio.TaskGroup() as group:
        group.create_task(work(queue, reconcile, workers=2))
        await asyncio.sleep(600)
        queue.close()
    assert {key: passes.count(key) for key in passes} == {"flaky": 4, "broken": 1, "fine": 1}


async def test_workers_that_are_cancelled_leave_their_keys_to_the_next_ones() -> None:
    queue = queue_of("a")
    passes = 0

    async def reconcile(_: str) -> None:
        nonlocal passes
        passes += 1
        await asyncio.sleep(100)

    for _ in range(2):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await work(queue, reconcile)
    assert (passes, queue.held, queue.depth) == (2, 0, 1)


async def test_a_bug_in_reconcile_ends_the_workers() -> None:
    async def reconcile(_: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        await work(queue_of("a"), reconcile)
    assert raised.group_contains(ZeroDivisionError)


CHANGES = st.lists(
    st.tuples(
        st.floats(0, 3),  # seconds after the change before
        st.integers(0, 4),  # key
        st.sampled_from((None, *Lane)),  # None: a delayed add
        st.floats(0, 10),  # that delay
    ),
    max_size=40,
)


@settings(max_examples=80, deadline=None)
@given(changes=CHANGES, seed=st.integers(0, 2**32), workers=st.integers(1, 3))
def test_no_change_is_lost_and_no_key_has_two_holders(
    changes: list[tuple[float, int, Lane | None, float]], seed: int, workers: int
) -> None:
    """Each pass reads the newest version; in the end every key's last version was applied."""
    random = Random(seed)
    wanted: dict[int, int] = {}
    applied: dict[int, int] = {}
    holders: set[int] = set()

    async def reconcile(key: int) -> None:
        assert key not in holders
        holders.add(key)
        version = wanted[key]
        await asyncio.sleep(random.uniform(0, 2))
        holders.discard(key)
        if random.random() < 0.3:
            raise Transient("again")
        applied[key] = version

    async def story() -> None:
        queue = WorkQueue[int](SystemClock(), random=random)
        async with asyncio.TaskGroup() as group:
            group.create_task(work(queue, reconcile, workers))
            for version, (pause, key, lane, delay) in enumerate(changes):
                await asyncio.sleep(pause)
                wanted[key] = version
                if lane is None:
                    queue.add_after(key, delay)
                else:
                    queue.add(key, lane)
            await asyncio.sleep(3600)
            assert (queue.depth, queue.delayed, queue.held) == (0, 0, 0)
            queue.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story())
    assert applied == wanted
