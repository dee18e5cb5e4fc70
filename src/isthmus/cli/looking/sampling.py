"""Reads the proxies of a cluster, once or twice, and says what they carry."""

from collections.abc import Callable
from dataclasses import dataclass

from isthmus.cli.looking import golden, known, ours
from isthmus.cli.looking.exposition import Numbers
from isthmus.cli.looking.golden import ANY, Denial, Line, Traffic
from isthmus.cli.looking.ours import Page, Readings
from isthmus.install.parts import METRICS
from isthmus.kube.client import Client
from isthmus.model.errors import IsthmusError
from isthmus.runtime.clock import Clock

PAGE = Page(METRICS, "/stats/prometheus", golden.NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the proxies of a cluster carry. No ``seconds``: since they have started."""

    seconds: float | None
    traffic: tuple[Traffic, ...]
    denials: tuple[Denial, ...]
    unread: tuple[IsthmusError, ...]  # why a proxy is missing in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be read: of which Isthmus, for how long, and in which form."""

    namespace: str
    seconds: float | None
    only: Line = ANY
    by_link: bool = False


async def sampled(
    client: Client, wanted: Wanted, clock: Clock, waiting: Callable[[float], None]
) -> Sample:
    """Read all proxies, and again after a while; ``waiting`` hears how long that is."""
    proxies = await ours.running(client, wanted.namespace, "egress", "gateway")
    first = _some(await ours.read(client, proxies, PAGE, clock))
    counted = {line for one in first.readings for line in golden.lines(one.numbers)}
    await known.require(client, wanted.only, counted)
    if wanted.seconds is None:
        numbers = golden.summed(one.numbers for one in first.readings)
        return _sample(numbers, wanted, first.unread)
    waiting(wanted.seconds)
    await clock.sleep(wanted.seconds)
    before = {one.pod: one for one in first.readings}
    second = _some(await ours.read(client, tuple(before), PAGE, clock))
    numbers = golden.summed(
        golden.rates(before[one.pod].numbers, one.numbers, one.at - before[one.pod].at)
        for one in second.readings
    )
    return _sample(numbers, wanted, (*first.unread, *second.unread))


def _some(found: Readings) -> Readings:
    """Return what was found, which one proxy is enough for."""
    if not found.readings:
        raise found.unread[0]
    return found


def _sample(numbers: Numbers, wanted: Wanted, unread: tuple[IsthmusError, ...]) -> Sample:
    return Sample(
        seconds=wanted.seconds,
        traffic=golden.traffic(numbers, wanted.only, by_link=wanted.by_link),
        denials=golden.denials(numbers, wanted.only),
        unread=unread,
    )
