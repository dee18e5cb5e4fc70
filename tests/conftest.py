"""Runs coroutine tests: on virtual time, or on real time for those marked ``sockets``.

And golden files: what is generated is compared with what somebody has read and kept.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

import hypothesis
import pytest

from tests.contract.summary import pytest_terminal_summary as pytest_terminal_summary
from tests.support.sockets import SocketLoop
from tests.support.virtual import VirtualLoop

# Shared machines pause for longer than any sensible deadline for one example.
hypothesis.settings.register_profile("isthmus", deadline=None)
hypothesis.settings.register_profile("written", deadline=None, phases=[hypothesis.Phase.explicit])
hypothesis.settings.load_profile("isthmus")

GOLDEN = "golden"  # the folder beside the tests that ask for it
LONGEST = 120.0  # seconds a test with sockets may take before it fails instead of hanging


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="keep what is generated as what is expected"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare with a golden file, or write it."""
    update = request.config.getoption("--update-golden", default=False)

    def compare(name: str, text: str) -> None:
        path = request.path.parent / GOLDEN / name
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        assert text == (path.read_text() if path.exists() else "")

    return compare


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in wanted}
    sockets = pyfuncitem.get_closest_marker("sockets") is not None
    factory = SocketLoop if sockets else VirtualLoop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(_leaving_nothing_behind(pyfuncitem.obj, arguments, sockets))
    return True


async def _leaving_nothing_behind(
    test: Callable[..., Awaitable[None]], arguments: dict[str, object], sockets: bool
) -> None:
    async with asyncio.timeout(LONGEST if sockets else None):
        await test(**arguments)
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert not left, f"the test left tasks behind: {left}"
