"""Asks every test of the contract of every server."""

import functools
import inspect
from collections.abc import Iterator

import pytest

from lab.controlplane import ControlPlane, control_plane
from tests.contract.backends import Backend, Http, InProcess, Real
from tests.contract.summary import HOW_TO_BUILD, IS_BUILT


@pytest.fixture(
    params=[
        pytest.param("in-process"),
        pytest.param("http", marks=pytest.mark.sockets),
        pytest.param(
            "real",
            marks=[
                pytest.mark.sockets,
                pytest.mark.real,
                pytest.mark.skipif(not IS_BUILT, reason=HOW_TO_BUILD),
            ],
        ),
    ]
)
def server(request: pytest.FixtureRequest) -> Backend:
    """Each of the servers in turn; the hook below opens it before the test runs."""
    match request.param:
        case "in-process":
            return InProcess()
        case "http":
            return Http()
        case _:
            return Real(request.getfixturevalue("plane"))


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    with control_plane() as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Open the server inside the event loop that the test will run in."""
    if "server" not in pyfuncitem.fixturenames:
        return
    assert inspect.iscoroutinefunction(pyfuncitem.obj), "a test of the contract is a coroutine"
    test = pyfuncitem.obj
    backend: Backend = pyfuncitem.funcargs["server"]  # type: ignore[assignment]  # see above

    @functools.wraps(test)
    async def opened(**arguments: object) -> None:
        async with backend.open() as server:
            await test(**{**arguments, "server": server})

    pyfuncitem.obj = opened
    pyfuncitem.user_properties.append(("backend", backend.name))
