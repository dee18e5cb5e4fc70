"""Readers get the newest value, each at its own pace."""

import asyncio

from isthmus.runtime.latest import Latest


async def test_a_reader_gets_the_newest_value_and_skips_the_ones_before() -> None:
    cell = Latest[int]()
    seen: list[int] = []

    async def read() -> None:
        async for value in cell.follow():
            seen.append(value)
            if value == 5:
                return

    async with asyncio.TaskGroup() as group:
        group.create_task(read())
        await asyncio.sleep(1)
        for value in (1, 2, 3):
            cell.publish(value)
        await asyncio.sleep(1)
        cell.publish(4)
        await asyncio.sleep(1)
        cell.publish(5)
    assert seen == [3, 4, 5]


async def test_a_late_reader_starts_with_the_value_that_is_there() -> None:
    cell = Latest[str]()
    cell.publish("old")
    cell.publish("new")
    async for value in cell.follow():
        assert value == "new"
        break


async def test_every_reader_sees_every_pause_of_the_publisher() -> None:
    cell = Latest[int]()
    seen: dict[int, list[int]] = {0: [], 1: []}

    async def read(reader: int) -> None:
        async for value in cell.follow():
            seen[reader].append(value)
            if value == 2:
                return

    async with asyncio.TaskGroup() as group:
        group.create_task(read(0))
        group.create_task(read(1))
        for value in range(3):
            await asyncio.sleep(0.1)
            cell.publish(value)
    assert seen == {0: [0, 1, 2], 1: [0, 1, 2]}


async def test_the_same_value_published_again_is_news() -> None:
    cell = Latest[int]()
    cell.publish(1)
    readings = cell.follow()
    assert await anext(readings) == 1
    cell.publish(1)
    assert await anext(readings) == 1
