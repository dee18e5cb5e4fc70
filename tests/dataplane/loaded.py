"""Joined clusters under load: 200 requests each second, 50 connections that stay, and a few answers
that never end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from isthmus.model.wire import JsonObject
from tests.dataplane import load
from tests.dataplane.joined import Pair, Side
from tests.dataplane.load import Caller, Downloads, Line, Lines, Requests
from tests.dataplane.test_story import answered
from tests.support.machine import deployment, pod, service
from tests.support.waiting import eventually, until

RATE, LINES, DOWNLOADS = 200, 50, 5
OTHERS = [f"other-{number}" for number in range(20)]


EAST = (pod("curl", serviceAccountName="default"),)


def west(grace: int = 1) -> tuple[JsonObject, ...]:
    """What west runs; pods of ``web`` go on for so many seconds after they were told to end."""
    web = deployment("web", 3)
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": grace}}}}
    web["spec"]["template"]["spec"]["containers"][0] |= hook
    return (
        web,
        service("web", "web"),
        deployment("feed", 1),
        service("feed", "feed"),
        deployment("lines", 2, "isthmus.dev/greeter"),
        service("lines", "lines", ports=[{"name": "tcp", "port": 80, "targetPort": "http"}]),
        *(service(name, "web") for name in OTHERS),
    )


@dataclass
class Load:
    requests: Requests
    lines: Lines
    downloads: Downloads

    @property
    def is_up(self) -> bool:
        begun = self.requests.answers.total() > RATE / 4
        return begun and self.lines.are_up and self.downloads.are_up

    @property
    def lost(self) -> list[Line]:
        """What was meant to stay, and did not."""
        return [one for one in (*self.lines.lines, *self.downloads.lines) if one.end]

    async def goes_on(self, seconds: float = 1.0) -> None:
        """Let it run for a while, in which everything that is open has something to say."""
        heard = {id(one): one.words for one in (*self.lines.open, *self.downloads.open)}
        enough = self.requests.answers.total() + RATE * seconds * 0.8

        def is_heard() -> bool:
            still = (*self.lines.open, *self.downloads.open)
            return all(one.words > heard[id(one)] for one in still)

        patience = 20 + 2 * seconds
        await eventually(lambda: self.requests.answers.total() >= enough, within=patience)
        await eventually(is_heard, within=20)

    async def reaches_another_pod(self) -> None:
        before = len(self.requests.answers)
        await eventually(lambda: len(self.requests.answers) > before, within=30)


@asynccontextmanager
async def under_load(two: Pair) -> AsyncIterator[Load]:
    """Call all the time, and see that no request fails."""

    def caller(host: str) -> Caller:
        return Caller(machine=two.east.machine, pod="curl", host=host)

    for name in ("web", "feed", "lines"):
        await two.west.export(name)
    await answered(two, "http://web-west/")
    await answered(two, "http://feed-west/")
    await until(lambda: two.east.kubectl.slices("lines-west"), bool)
    made = Load(
        Requests(caller("web-west"), RATE),
        Lines(caller("lines-west"), LINES),
        Downloads(caller("feed-west"), DOWNLOADS),
    )
    parts = (made.requests.run(), made.lines.run(), made.downloads.run())
    async with load.running(*parts):
        await eventually(lambda: made.is_up, within=20)
        yield made
        await made.goes_on()
    assert not made.requests.failures, made.requests.failures


async def scale(side: Side, name: str, replicas: int) -> None:
    await side.kubectl.change("Deployment", name, {"spec": {"replicas": replicas}})
    await side.kubectl.until_served(name, replicas)
