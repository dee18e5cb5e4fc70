"""Joined clusters that the tests of a module share: each test goes on where the last one left."""

import asyncio
import inspect
from collections.abc import Iterator

import pytest

from tests.support.sockets import SocketLoop

LONGEST = 240.0  # seconds


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of all tests of a module that ask for it, or for what depends on it."""
    with asyncio.Runner(loop_factory=SocketLoop) as made:
        yield made


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    shared = pyfuncitem.funcargs.get("runner")
    if not isinstance(shared, asyncio.Runner) or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in wanted}
    shared.run(asyncio.wait_for(pyfuncitem.obj(**arguments), LONGEST))
    return True
