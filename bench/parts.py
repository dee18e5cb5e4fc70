"""The parts of the suite: what each measures, in how long, and how it is recorded and shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from bench import edge
from bench.catalogue import report as catalogue_report
from bench.catalogue import run as catalogue
from bench.catalogue.figures import Catalogue
from bench.dataplane import load, telling
from bench.dataplane import report as dataplane_report
from bench.dataplane import run as dataplane
from bench.dataplane.figures import Told, Traffic
from bench.dataplane.load import Load
from bench.firstcall import report as firstcall_report
from bench.firstcall import run as firstcall
from bench.firstcall.figures import FirstCalls
from bench.mirroring import settled, settled_report, starts, starts_report
from bench.mirroring.figures import Growing, Latency, Restarts, merged, merged_restarts
from bench.mirroring.peer import Peer
from bench.mirroring.plan import Plan
from bench.report import Report
from bench.results import Results

S = TypeVar("S", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a part is to be measured; what is not given, it chooses itself."""

    quick: bool = False
    runs: int | None = None
    sizes: tuple[int, ...] = ()
    peers: tuple[Peer, ...] = ()
    contenders: tuple[str, ...] = ()  # of the Kubernetes edge
    side: str = ""  # of one round of a cold start, if its sides are to be measured apart

    def chosen(self, whole: tuple[int, ...], quick: tuple[int, ...]) -> tuple[int, ...]:
        return self.sizes or (quick if self.quick else whole)

    def rounds(self, whole: int) -> int:
        return self.runs or (1 if self.quick else whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[S]):
    """One part. A later section replaces the former one, unless both can be ``merged``."""

    name: str
    about: str
    minutes: float  # that it takes on a machine at rest, about
    shape: type[S]
    measure: Callable[[Options], S | None]  # None if there is nothing to record yet
    report: Callable[[S], Report]
    merged: Callable[[S | None, S], S] = lambda _, now: now
    is_extra: bool = False  # only measured where it is asked for, because it needs a whole lab


def _edge(options: Options) -> Results:
    objects = 1000 if options.quick else 10000
    plan = edge.Plan(objects=objects, rounds=options.rounds(3), only=options.contenders)
    return edge.run(plan)


def _cold(options: Options) -> Growing | None:
    sizes = options.chosen((100, 1000, 5000, 10000), (50, 200))
    if options.side == "ours":
        starts.first_half(sizes[-1])
        return None
    if options.side == "floor":
        return starts.second_half(sizes[-1])
    return starts.cold(_starts(options, sizes, options.peers))


def _pods(options: Options) -> Growing:
    return starts.pods(_starts(options, options.chosen((10, 100, 1000), (10, 100)), small=3))


def _links(options: Options) -> Growing:
    return starts.links(_starts(options, options.chosen((1, 10, 50), (1, 5)), small=3))


def _starts(
    options: Options, sizes: tuple[int, ...], peers: tuple[Peer, ...] = (), small: int = 7
) -> Plan:
    """Plan cold starts, ``small`` rounds of those that are done in seconds."""
    return Plan(
        sizes=sizes,
        # What takes minutes is not as noisy as what takes seconds.
        rounds={size: options.rounds(small if size <= 1000 else 1) for size in sizes},
        peers=peers,
    )


def _changes(options: Options) -> Latency:
    (mirrors, *_) = options.chosen((1000,), (200,))
    return settled.changing(
        Plan(
            sizes=(mirrors,),
            rounds={mirrors: options.rounds(3)},
            samples=20 if options.quick else 200,
            peers=options.peers,
        )
    )


def _restart(options: Options) -> Restarts:
    sizes = options.chosen((1000,), (100,))
    return settled.restarting(Plan(sizes=sizes, rest=15.0 if options.quick else 60.0))


def _catalogue(options: Options) -> Catalogue:
    sizes = options.chosen((1000, 5000, 20000), (200, 1000))
    return catalogue.run(catalogue.Plan(sizes=sizes, rounds=options.rounds(5)))


def _told(options: Options) -> Told:
    sizes = options.chosen((1000, 5000, 20000), (100, 400))
    return dataplane.tell(dataplane.Plan(sizes=sizes, rounds=options.rounds(2)))


def _traffic(loads: tuple[Load, ...], rounds: int) -> Callable[[Options], Traffic]:
    def measure(options: Options) -> Traffic:
        seconds = 1.0 if options.quick else 3.0
        plan = dataplane.Plan(rounds=options.rounds(rounds), seconds=seconds, loads=loads)
        return dataplane.carry(plan)

    return measure


def _first_calls(options: Options) -> FirstCalls:
    (services, *_) = options.chosen((50,), (5,))
    return firstcall.run(services)


def _shown(by: str) -> Callable[[Growing], Report]:
    return lambda found: starts_report.growing(found, by)


def _carried(name: str) -> Callable[[Traffic], Report]:
    return lambda found: dataplane_report.traffic(found, name)


PARTS: tuple[
    Part[Results]
    | Part[Growing]
    | Part[Latency]
    | Part[Restarts]
    | Part[Catalogue]
    | Part[Told]
    | Part[Traffic]
    | Part[FirstCalls],
    ...,
] = (
    Part(
        name="kube-edge",
        about="lists, watches and imports beside other Kubernetes clients",
        minutes=9,
        shape=Results,
        measure=_edge,
        report=edge.report,
    ),
    Part(
        name="cold",
        about="from nothing to everything mirrored, by the number of exports",
        minutes=30,
        shape=Growing,
        measure=_cold,
        report=_shown(starts_report.SERVICES),
        merged=merged,
    ),
    Part(
        name="changes",
        about="single changes: idle, in a storm, in a cold start",
        minutes=4,
        shape=Latency,
        measure=_changes,
        report=settled_report.latency,
    ),
    Part(
        name="restart",
        about="a controller that finds everything in place, and rest",
        minutes=3,
        shape=Restarts,
        measure=_restart,
        report=settled_report.restarts,
        merged=merged_restarts,
    ),
    Part(
        name="pods",
        about="cold starts, by the number of pods of one headless Service",
        minutes=5,
        shape=Growing,
        measure=_pods,
        report=_shown(starts_report.PODS),
        merged=merged,
    ),
    Part(
        name="links",
        about="cold starts, by the number of links",
        minutes=5,
        shape=Growing,
        measure=_links,
        report=_shown(starts_report.LINKS),
        merged=merged,
    ),
    Part(
        name="catalogue",
        about="exports told through a gateway and heard of",
        minutes=2,
        shape=Catalogue,
        measure=_catalogue,
        report=catalogue_report.catalogue,
    ),
    Part(
        name="told",
        about="how much an Envoy can be told, and how fast",
        minutes=8,
        shape=Told,
        measure=_told,
        report=telling.told,
    ),
    Part(
        name="calls",
        about="answers of 1 KB on every way",
        minutes=9,
        shape=Traffic,
        measure=_traffic(load.CALLS, 3),
        report=_carried("calls"),
    ),
    Part(
        name="large",
        about="answers of 100 KB on every way",
        minutes=6,
        shape=Traffic,
        measure=_traffic(load.LARGE, 2),
        report=_carried("large"),
    ),
    Part(
        name="streams",
        about="new connections, and 1 MB up and down, on every way",
        minutes=5,
        shape=Traffic,
        measure=_traffic(load.STREAMS, 2),
        report=_carried("streams"),
    ),
    Part(
        name="first-call",
        about="from a label to the first call from another cluster, on the lab (root)",
        minutes=8,
        shape=FirstCalls,
        measure=_first_calls,
        report=firstcall_report.first_calls,
        is_extra=True,
    ),
)
# Names for several of them together.
GROUPS = {
    "mirroring": ("cold", "changes", "restart", "pods", "links"),
    "dataplane": ("told", "calls", "large", "streams"),
}
