"""Asks every test of the contract of every server, and counts the answers."""

import functools
import inspect
from collections import Counter
from collections.abc import Iterator

import pytest

from lab.controlplane import ControlPlane, control_plane
from lab.versions import CONTROL_PLANE
from tests.contract.backends import Backend, Http, InProcess, Real

IS_BUILT = all(binary.is_built for binary in CONTROL_PLANE)
HOW_TO_BUILD = "kube-apiserver is not built here; `make test-real` builds it and runs these"
BACKENDS = ("in-process", "http", "real")


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which servers were asked, how many cases each, and how to ask the missing one."""
    passed, failed = (
        Counter(_backend(report) for report in terminalreporter.getreports(outcome))
        for outcome in ("passed", "failed")
    )
    asked = [name for name in BACKENDS if passed[name] + failed[name]]
    if not asked and IS_BUILT:
        return
    terminalreporter.section("the contract of the Kubernetes API")
    for name in asked:
        broken = f", {failed[name]} broken" if failed[name] else ""
        terminalreporter.line(f"{name}: {passed[name]} cases hold{broken}")
    if not IS_BUILT:
        terminalreporter.line(f"real: {HOW_TO_BUILD}")


def _backend(report: pytest.TestReport) -> str | None:
    return str(dict(report.user_properties).get("backend")) if report.when == "call" else None
