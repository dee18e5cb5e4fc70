"""What a scrape is told about certificates: how long they hold, and how many were asked for."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.refusal import Reason
from isthmus.apps.controller.certifying.signing import Signing
from isthmus.runtime.clock import Clock


def certificates(authority: Authority, signing: Signing, clock: Clock) -> Iterator[Metric]:
    """Yield what is measured of the authority. Labels are ours: no name is among them."""
    now = clock.utc()
    expiry = GaugeMetricFamily(
        "isthmus_certificate_expiry_seconds",
        "Until what this controller signs and proves itself with ends.",
        labels=("what",),
    )
    for what, when in authority.expiries.items():
        expiry.add_metric([what], (when - now).total_seconds())
    yield expiry
    problems = len(authority.problems)
    text = "What is wrong with the issuer and the anchors that this controller was given."
    yield GaugeMetricFamily("isthmus_trust_problems", text, value=problems)
    yield CounterMetricFamily(
        "isthmus_certificates_issued", "Certificates that were signed.", value=signing.issued
    )
    refused = CounterMetricFamily(
        "isthmus_certificates_refused",
        "Requests for a certificate that were refused.",
        labels=("reason",),
    )
    for reason in Reason:
        refused.add_metric([reason.name.lower()], signing.refused[reason])
    yield refused
