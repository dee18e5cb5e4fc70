"""Turns: bounded, fair between keys, and none is lost."""

import asyncio
from collections import Counter
from random import Random

import pytest

from isthmus.runtime.turns import Crowded, Turns


async def test_a_crowd_of_one_key_does_not_delay_another() -> None:
    turns: Turns[str] = Turns(2, line=1000, waiting=1000)
    served: list[str] = []

    async def work(key: str) -> None:
        async with turns.turn(key):
            await asyncio.sleep(1)
            served.append(key)

    async with asyncio.TaskGroup() as group:
        for _ in range(500):
            group.create_task(work("crowd"))
        await asyncio.sleep(0.5)
        group.create_task(work("other"))
    assert served.index("other") <= 4
    assert Counter(served) == {"crowd": 500, "other": 1}


async def test_no_more_than_allowed_wait_or_run() -> None:
    turns: Turns[str] = Turns(1, line=2, waiting=3)
    running = 0

    async def work(key: str) -> None:
        nonlocal running
        async with turns.turn(key):
            running += 1
            assert running == 1
            await asyncio.sleep(1)
            running -= 1

    async with asyncio.TaskGroup() as group:
        for key in "aaab":
            group.create_task(work(key))
        await asyncio.sleep(0.1)
        for key in "ab":  # the line of a is full, then there is no room for a second b
            with pytest.raises(Crowded):
                await work(key)


async def test_whoever_has_many_waiting_gives_a_place_up_for_whoever_has_none() -> None:
    turns: Turns[str] = Turns(1, line=9, waiting=3)
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            async with turns.turn(name[0]):
                await asyncio.sleep(1)
                ended.append(name)
        except Crowded:
            ended.append(f"{name} was sent away")

    async with asyncio.TaskGroup() as group:
        for name in ("a1", "a2", "a3", "a4", "b1", "c1", "d1"):
            group.create_task(work(name))
            await asyncio.sleep(0.01)
    assert ended[:3] == ["a4 was sent away", "a3 was sent away", "d1 was sent away"]
    assert ended[3:] == ["a1", "a2", "b1", "c1"]


async def test_those_who_give_up_all_at_once_stop_nobody() -> None:
    turns: Turns[str] = Turns(1, line=9, waiting=9)

    async def brief() -> None:
        async with asyncio.timeout(1), turns.turn("a"):
            await asyncio.sleep(5)

    async with turns.turn("b"):
        tasks = [asyncio.create_task(brief()) for _ in range(5)]
        await asyncio.sleep(1)  # they are told at the same moment as we end
    await asyncio.wait(tasks)
    async with asyncio.timeout(1), turns.turn("c"):
        pass
    assert all(isinstance(task.exception(), TimeoutError) for task in tasks)


async def test_whoever_gives_up_loses_no_turn_for_others() -> None:
    random = Random(3)
    turns: Turns[int] = Turns(2, line=1000, waiting=1000)

    async def work(key: int) -> None:
        async with turns.turn(key):
            await asyncio.sleep(random.random())

    tasks = [asyncio.create_task(work(number % 5)) for number in range(200)]
    for task in random.sample(tasks, 150):
        await asyncio.sleep(random.choice([0.0, 0.1]))
        task.cancel()
    await asyncio.wait(tasks)
    # Both turns are free again, and nobody is thought to wait.
    async with turns.turn(1), turns.turn(1):
        pass
    assert not any(not task.cancelled() and task.exception() for task in tasks)


async def test_a_turn_that_comes_in_the_moment_of_giving_up_is_passed_on() -> None:
    turns: Turns[str] = Turns(1, line=9, waiting=9)
    async with turns.turn("a"):
        second = asyncio.create_task(turns.turn("b").__aenter__())
        await asyncio.sleep(0)
    second.cancel()  # its turn has come, but it does not know yet
    await asyncio.wait({second})
    assert second.cancelled()
    async with asyncio.timeout(1), turns.turn("c"):
        pass
