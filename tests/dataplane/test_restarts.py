"""What is restarted, and what callers notice of it: nothing."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from tests.dataplane.joined import Pair, pair
from tests.dataplane.test_story import CURL, WEB, answered, greeting
from tests.support.machine import pod
from tests.support.waiting import until

pytestmark = [pytest.mark.sockets, pytest.mark.e2e]

URL = "http://web-west/"


@asynccontextmanager
async def calling(two: Pair, callers: int = 4) -> AsyncIterator[Counter[str]]:
    """Call all the time; the result counts who answered, or what came instead."""
    found: Counter[str] = Counter()

    async def call() -> None:
        while True:
            found[await greeting(two, URL)] += 1

    tasks = {asyncio.create_task(call()) for _ in range(callers)}
    try:
        yield found
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def more(found: Counter[str], count: int = 50) -> None:
    """Wait for so many more answers."""
    enough = found.total() + count

    async def total() -> int:
        return found.total()

    await until(total, lambda seen: seen >= enough)


async def test_callers_do_not_notice_that_both_controllers_are_restarted() -> None:
    async with pair(east=(CURL,), west=WEB) as two:
        await two.west.export("web")
        await answered(two, URL)
        async with calling(two) as found:
            await more(found)
            for one in (two.east, two.west):
                await one.stop("isthmus-controller")
                await more(found)
                await one.start("isthmus-controller")
                await more(found)
        assert not [name for name in found if name.startswith("[")], found
        # Both are at work again: what changes from now on arrives.
        await two.west.export("web", None)
        await until(lambda: greeting(two, URL), lambda seen: seen.startswith("["), within=30)


async def test_a_pod_that_comes_late_may_call_as_soon_as_it_runs() -> None:
    async with pair(east=(CURL,), west=WEB) as two:
        await two.west.export("web")
        await answered(two, URL)
        await two.east.kubectl.create(pod("late"))
        await two.east.kubectl.until_ready("late", app="late")
        late = partial(greeting, two, URL, "late")
        await until(late, lambda seen: not seen.startswith("["), within=2)
