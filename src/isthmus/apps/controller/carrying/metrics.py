"""What a controller measures of what it tells proxies, read at the moment of a scrape."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from isthmus.apps.controller.carrying.plane import DataPlane

ROLE, TYPE = "role", "type"


def collect(plane: DataPlane) -> Iterator[Metric]:
    yield from _snapshots(plane)
    yield from _answers(plane)
    yield from _callers(plane)


def _snapshots(plane: DataPlane) -> Iterator[Metric]:
    snapshots = CounterMetricFamily(
        "isthmus_snapshots", "Snapshots published for proxies.", labels=(ROLE,)
    )
    resources = GaugeMetricFamily(
        "isthmus_resources", "Resources that proxies should hold.", labels=(ROLE, TYPE)
    )
    for role, assembly in plane.proxies.assemblies.items():
        snapshots.add_metric([role], plane.proxies.published[role])
        for type_url, entries in assembly.snapshot().types.items():
            resources.add_metric([role, _kind(type_url)], len(entries))
    yield from (snapshots, resources)


def _answers(plane: DataPlane) -> Iterator[Metric]:
    ads = plane.ads
    for name, text, counted in (
        ("isthmus_resources_sent", "Resources and removals sent to proxies.", ads.sent),
        ("isthmus_acknowledged", "Responses that proxies have acknowledged.", ads.acknowledged),
        ("isthmus_proxy_refused", "Responses that proxies have refused.", ads.refused),
    ):
        family = CounterMetricFamily(name, text, labels=(TYPE,))
        for type_url, count in counted.items():
            family.add_metric([_kind(type_url)], count)
        yield family
    away = CounterMetricFamily(
        "isthmus_proxies_turned_away", "Streams that were not served.", labels=("reason",)
    )
    for reason, count in ads.turned_away.items():
        away.add_metric([reason], count)
    connected = GaugeMetricFamily("isthmus_proxies_connected", "Proxies by role.", labels=(ROLE,))
    pending = GaugeMetricFamily(
        "isthmus_resources_pending", "Resources on their way to proxies.", labels=(ROLE,)
    )
    refused = GaugeMetricFamily(
        "isthmus_resources_refused", "Resources that a proxy does not take.", labels=(ROLE,)
    )
    for role in plane.proxies.assemblies:
        here = [one for one in ads.connected if one.role == role]
        connected.add_metric([role], len(here))
        pending.add_metric([role], sum(one.session.pending for one in here))
        refused.add_metric([role], sum(len(one.session.refused) for one in here))
    yield from (away, connected, pending, refused)


def _callers(plane: DataPlane) -> Iterator[Metric]:
    for name, text, value in (
        ("isthmus_callers", "Addresses of pods that may call.", len(plane.calling.callers)),
        ("isthmus_accounts", "Accounts that they call under.", len(plane.calling.accounts)),
        (
            "isthmus_callers_shared",
            "Addresses that several accounts claim, and nobody may call from.",
            plane.calling.shared,
        ),
    ):
        yield GaugeMetricFamily(name, text, value=value)


def _kind(type_url: str) -> str:
    return type_url.rpartition(".")[2]
