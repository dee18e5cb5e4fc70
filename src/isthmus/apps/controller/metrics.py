"""Everything a controller measures, read from where it is kept at the moment of a scrape.

Names that Linkerd's mirror has are kept, so that dashboards go on to work. Labels come from Links
and from our own code only, never from what another cluster says.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from isthmus.apps.controller.carrying import metrics as dataplane_metrics
from isthmus.apps.controller.certifying.metrics import certificates
from isthmus.apps.controller.mirroring.facts import refusals
from isthmus.apps.controller.mirroring.probes import BUCKETS
from isthmus.model.times import parsed

if TYPE_CHECKING:
    from isthmus.apps.controller.run import Controller

LINK = ("target_cluster_name",)


def registry(controller: "Controller") -> CollectorRegistry:
    """Return a registry of this controller's own."""
    made = CollectorRegistry()
    made.register(Metrics(controller))
    return made


class Metrics(Collector):
    """Answers a scrape."""

    def __init__(self, controller: "Controller") -> None:
        self._controller = controller

    def describe(self) -> Iterable[Metric]:
        return ()  # nothing needs to be known before the first scrape

    def collect(self) -> Iterator[Metric]:
        yield from self._gateways()
        yield from self._links()
        yield from self._requests()
        yield from self._certificates()
        yield from self._process()
        yield from dataplane_metrics.collect(self._controller.dataplane)

    def _gateways(self) -> Iterator[Metric]:
        alive = GaugeMetricFamily(
            "gateway_alive", "Whether the gateway answers its probes.", labels=LINK
        )
        enabled = GaugeMetricFamily("gateway_enabled", "Whether it is probed.", labels=LINK)
        latency = GaugeMetricFamily(
            "gateway_latency", "Of the last probe that was answered, in ms.", labels=LINK
        )
        times = HistogramMetricFamily(
            "gateway_probe_latency_ms", "How long answers to probes took.", labels=LINK
        )
        # As Linkerd has it: without the suffix that counters have nowadays.
        probes = Metric("gateway_probes", "Probes by outcome.", "unknown")
        for target in self._controller.state.targets.values():
            cluster = target.link.cluster
            alive.add_metric([cluster], float(target.gateway_alive))
            enabled.add_metric([cluster], float(bool(target.link.spec.gateway.addresses)))
            probed = self._controller.sessions.probes.probed.get(cluster)
            if probed is None:
                continue
            latency.add_metric([cluster], probed.latency)
            buckets = [
                (str(limit), float(count))
                for limit, count in zip(BUCKETS, probed.buckets, strict=True)
            ]
            times.add_metric([cluster], [*buckets, ("+Inf", float(probed.answered))], probed.total)
            for outcome, count in (("true", probed.answered), ("false", probed.unanswered)):
                labels = {LINK[0]: cluster, "probe_successful": outcome}
                probes.add_sample("gateway_probes", labels, count)
        yield from (alive, enabled, latency, times, probes)

    def _links(self) -> Iterator[Metric]:
        state = self._controller.state
        mirrors = GaugeMetricFamily("isthmus_mirrors", "Mirrors of a target.", labels=LINK)
        refused = GaugeMetricFamily(
            "isthmus_refused", "Exports that are not mirrored.", labels=(*LINK, "reason")
        )
        lag = GaugeMetricFamily(
            "isthmus_sync_lag_seconds", "For how long the target was out of sight.", labels=LINK
        )
        connected = GaugeMetricFamily(
            "isthmus_link_connected", "Whether the target is being watched.", labels=LINK
        )
        for target in state.targets.values():
            cluster = target.link.cluster
            mirrors.add_metric([cluster], len(state.owned[target.uid]))
            for reason, count in Counter(one.reason for one in refusals(state, target)).items():
                refused.add_metric([cluster, reason], count)
            since = target.link.status.stale_since
            utc = self._controller.outside.clock.utc()
            stale = (utc - parsed(since)).total_seconds() if since else 0.0
            lag.add_metric([cluster], max(0.0, stale))
            connected.add_metric([cluster], float(target.contact.connected is True))
        yield from (mirrors, refused, lag, connected)

    def _requests(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "isthmus_api_requests",
            "Requests to API servers by outcome.",
            labels=("cluster", "verb", "resource", "code"),
        )
        lost = CounterMetricFamily(
            "isthmus_cache_divergence", "Objects that a watch had got wrong.", labels=LINK
        )
        answers = {self._controller.config.cluster_name: self._own_answers()}
        for cluster, session in self._controller.sessions.by_cluster.items():
            answers[cluster] = session.answers
            lost.add_metric([cluster], session.divergences)
        for cluster, counted in answers.items():
            for (verb, resource, code), count in counted.items():
                requests.add_metric([cluster, verb, resource, code], count)
        yield from (requests, lost)

    def _own_answers(self) -> Counter[tuple[str, str, str]]:
        return self._controller.outside.client.exchange.answers

    def _certificates(self) -> Iterator[Metric]:
        plane = self._controller.dataplane
        return certificates(plane.authority, plane.signing, self._controller.outside.clock)

    def _process(self) -> Iterator[Metric]:
        controller = self._controller
        leading = controller.election.still_leading()
        for name, text, value in (
            ("isthmus_leading", "Whether this replica writes.", float(leading)),
            ("isthmus_queue_depth", "Names that wait to be planned.", controller.queue.depth),
            ("isthmus_queue_age_seconds", "Of the oldest of them.", controller.queue.oldest_age),
            ("isthmus_loop_lag_seconds", "How late the event loop was.", controller.lag.seconds),
            ("isthmus_tasks", "Coroutines that are under way.", len(asyncio.all_tasks())),
            (
                "isthmus_held_objects",
                "Objects kept although a list lacked them, until another list does.",
                controller.held,
            ),
        ):
            yield GaugeMetricFamily(name, text, value=value)
