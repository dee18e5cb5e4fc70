"""What probes conclude, and what counts as an answer."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from isthmus.embedded.machine.objects import Container, ContainerPort, HttpGet, Probe, TcpSocket
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.probes import Asked, Verdict, passes

ANY = Ports(1)


def verdicts(probe: Probe, start: bool, answers: str) -> str:
    """What counts after each of the answers, both written as + and -."""

    def each() -> Iterator[bool]:
        verdict = Verdict(start)
        for answer in answers:
            verdict = verdict.after(probe, answer == "+")
            yield verdict.passes

    return "".join("+" if one else "-" for one in each())


@pytest.mark.parametrize(
    "start, answers, expected",
    [
        pytest.param(False, "+", "+", id="one yes is enough"),
        pytest.param(True, "--", "++", id="two failures of three change nothing"),
        pytest.param(True, "---", "++-", id="the third one does"),
        pytest.param(True, "--+--+---", "+" * 8 + "-", id="only failures in a row count"),
        pytest.param(False, "--+---+", "--+++-+", id="and it may come back"),
    ],
)
def test_it_takes_as_many_answers_as_the_probe_says(
    start: bool, answers: str, expected: str
) -> None:
    assert verdicts(Probe(failure_threshold=3), start, answers) == expected


@given(st.booleans(), st.text("+-"), st.integers(1, 4), st.integers(1, 4))
def test_what_counts_changes_only_after_a_full_row_of_the_contrary(
    start: bool, answers: str, successes: int, failures: int
) -> None:
    probe = Probe(success_threshold=successes, failure_threshold=failures)
    found = ("+" if start else "-") + verdicts(probe, start, answers)
    for at, answer in enumerate(answers, 1):
        if found[at] != found[at - 1]:
            enough = successes if answer == "+" else failures
            assert answers[:at].endswith(answer * enough)
            assert found[at] == answer


@asynccontextmanager
async def answering(status: int) -> AsyncIterator[int]:
    """A server that says the same on every page; the result is its port."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=status)

    application = web.Application()
    application.router.add_get("/healthy", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.mark.sockets
@pytest.mark.parametrize(
    "status, path, expected",
    [(200, "/healthy", True), (302, "healthy", True), (503, "/healthy", False), (200, "/", False)],
)
async def test_a_page_passes_if_it_is_there_and_not_an_error(
    status: int, path: str, expected: bool
) -> None:
    async with answering(status) as port:
        named = Container(name="main", ports=(ContainerPort(container_port=port, name="admin"),))
        for said in (port, "admin"):
            probe = Probe(http_get=HttpGet(port=said, path=path))
            assert await passes(probe, Asked(named, "127.0.0.1", ANY)) is expected
        nowhere = Probe(http_get=HttpGet(port="none", path=path))
        assert not await passes(nowhere, Asked(named, "127.0.0.1", ANY))


@pytest.mark.sockets
async def test_a_port_passes_if_somebody_listens_there() -> None:
    nobody = Container(name="main")
    async with answering(503) as port:
        probe = Probe(tcp_socket=TcpSocket(port=port))
        assert await passes(probe, Asked(nobody, "127.0.0.1", ANY))
    assert not await passes(probe, Asked(nobody, "127.0.0.1", ANY))


async def test_means_that_are_not_here_are_taken_to_pass() -> None:
    assert await passes(Probe(), Asked(Container(name="main"), "127.0.0.1", ANY))
