"""What proxies have counted, as traffic and denials of links and services. Pure.

``docs/metrics.md`` says what each name stands for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from isthmus.cli.looking.exposition import BOUND, Numbers, Series
from isthmus.cli.looking.quantiles import quantile

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
FAILED = "5xx"

_ANSWERS, _TIMES, _OPENED, _OPEN, _RECEIVED, _SENT = range(6)
_OUT = {
    "envoy_http_downstream_rq": _ANSWERS,
    "envoy_http_downstream_rq_time_bucket": _TIMES,
    "envoy_http_downstream_cx_total": _OPENED,
    "envoy_tcp_downstream_cx_total": _OPENED,
    "envoy_http_downstream_cx_active": _OPEN,
    "envoy_http_downstream_cx_rx_bytes_total": _RECEIVED,
    "envoy_tcp_downstream_cx_rx_bytes_total": _RECEIVED,
    "envoy_http_downstream_cx_tx_bytes_total": _SENT,
    "envoy_tcp_downstream_cx_tx_bytes_total": _SENT,
}
_IN = {
    "envoy_cluster_upstream_rq": _ANSWERS,
    "envoy_cluster_upstream_rq_time_bucket": _TIMES,
    "envoy_cluster_upstream_cx_total": _OPENED,
    "envoy_cluster_upstream_cx_active": _OPEN,
    "envoy_cluster_upstream_cx_tx_bytes_total": _RECEIVED,  # what a gateway sends to a pod …
    "envoy_cluster_upstream_cx_rx_bytes_total": _SENT,  # … is what it has received for it
}
_MEANING = {"out": _OUT, "in": _IN}
_DETAIL = {_ANSWERS: "isthmus_status_class", _TIMES: BOUND}

# Who is turned away, and by which side of the way.
DENIED = {
    "envoy_http_gateway_no_route": ("in", "NotExported"),
    "envoy_tcp_tunnels_downstream_cx_no_route": ("in", "NotExported"),
    "envoy_http_gateway_rbac_denied": ("in", "NoGrant"),
    "envoy_listener_doors_no_filter_chain_match": ("in", "NoGrant"),
    "envoy_listener_gateway_ssl_fail_verify_no_cert": ("in", "NoCertificate"),
    "envoy_listener_gateway_ssl_fail_verify_error": ("in", "Untrusted"),
    "envoy_listener_gateway_ssl_fail_verify_san": ("in", "NoIdentity"),
    "envoy_listener_gateway_ssl_connection_error": ("in", "NoTLS"),
    "envoy_connection_limit_gateway_limited_connections": ("in", "TooMany"),
    "envoy_connection_limit_tunnels_limited_connections": ("in", "TooMany"),
    "envoy_listener_gateway_downstream_cx_overload_reject": ("in", "TooMany"),
    "envoy_listener_out_downstream_cx_overload_reject": ("out", "TooMany"),
    "envoy_http_no_cluster": ("out", "NoPod"),
    "envoy_cluster_identify_upstream_cx_connect_attempts_exceeded": ("out", "NoPod"),
    "envoy_tcp_downstream_cx_no_route": ("out", "NotCertifiedYet"),
    "envoy_cluster_ssl_fail_verify_san": ("out", "WrongGateway"),
    "envoy_cluster_ssl_fail_verify_error": ("out", "UntrustedGateway"),
}
REASONS = {
    "NotExported": "asked for something that is not exported, or that nobody may call",
    "NoGrant": "the caller is not named by a Grant",
    "NoCertificate": "the caller showed no certificate",
    "Untrusted": "the caller's certificate is of another anchor, has expired, or is not its own",
    "NoIdentity": "the caller's certificate has no SPIFFE ID",
    "NoTLS": "the caller does not speak TLS 1.3",
    "TooMany": "there was no room for one more connection",
    "NoPod": "the call came from an address that is no pod's",
    "NotCertifiedYet": "the caller's account has no certificate yet",
    "WrongGateway": "who answered is not the gateway of that link",
    "UntrustedGateway": "who answered for the gateway has a certificate of another anchor",
}
_GAUGES = frozenset(
    name for names in _MEANING.values() for name, kind in names.items() if kind == _OPEN
)
NAMES = (*_OUT, *_IN, *DENIED)  # of all that is read here


class Line(NamedTuple):
    """Whose traffic; the name of a service at the egress is that of the mirror."""

    direction: str
    link: str
    namespace: str
    service: str


ANY = Line("", "", "", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What went through for one line: in a second, or since the proxies have started.

    Without ``requests`` it carries TCP, of which only connections and bytes are known.
    """

    line: Line
    requests: float | None
    success: float | None  # the share of requests that were not answered with 5xx
    latency: Mapping[str, float | None]  # milliseconds
    connections: float
    open: float | None  # connections, now
    received: float  # bytes from callers
    sent: float  # bytes to callers


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Who was turned away, and how often; the line says only what is known of it."""

    line: Line
    reason: str
    count: float


def rates(before: Numbers, after: Numbers, seconds: float) -> Numbers:
    """Return by how much a pod's counters grow in a second; what is no counter stays as it is.

    A counter that is smaller than before has started again from nothing, with its process.
    """
    return {
        series: value
        if series.name in _GAUGES
        else _grown(before.get(series, 0.0), value) / seconds
        for series, value in after.items()
    }


def summed(pods: Iterable[Numbers]) -> Numbers:
    """Return what all pods have counted together."""
    total: dict[Series, float] = {}
    for numbers in pods:
        for series, value in numbers.items():
            total[series] = total.get(series, 0.0) + value
    return total


def lines(numbers: Numbers) -> frozenset[Line]:
    """Return all that is counted for."""
    return frozenset(map(_line, numbers))


def traffic(numbers: Numbers, only: Line = ANY, *, by_link: bool = False) -> tuple[Traffic, ...]:
    """Return the traffic of services, or of links, in order; ``only`` of what it names."""
    found: dict[Line, dict[tuple[int, str], float]] = {}
    for series, value in numbers.items():
        line = _line(series)
        kind = _MEANING.get(line.direction, {}).get(series.name)
        if kind is None or not line.service or not _concerns(line, only):
            continue  # of something else, or of all services of a link together
        chosen = line._replace(namespace="", service="") if by_link else line
        detail = series.label(_DETAIL[kind]) if kind in _DETAIL else ""
        sums = found.setdefault(chosen, {})
        sums[kind, detail] = sums.get((kind, detail), 0.0) + value
    return tuple(_traffic(line, found[line]) for line in sorted(found, key=_order))


def denials(numbers: Numbers, only: Line = ANY) -> tuple[Denial, ...]:
    """Return what was denied, in order; ``only`` where it is known to be about what it names."""
    found: dict[tuple[Line, str], float] = {}
    for series, value in numbers.items():
        if series.name in DENIED and value > 0:
            direction, reason = DENIED[series.name]
            line = _line(series)._replace(direction=direction)
            if _concerns(line, only):
                found[line, reason] = found.get((line, reason), 0.0) + value
    ordered = sorted(found, key=lambda key: (_order(key[0]), key[1]))
    return tuple(Denial(line=line, reason=why, count=found[line, why]) for line, why in ordered)


def _grown(before: float, after: float) -> float:
    return after - before if after >= before else after


def _line(series: Series) -> Line:
    return Line(*(series.label(f"isthmus_{name}") for name in Line._fields))


def _concerns(line: Line, only: Line) -> bool:
    return all(wanted in ("", found) for wanted, found in zip(only, line, strict=True))


def _order(line: Line) -> tuple[bool, Line]:
    """What goes out comes first."""
    return line.direction == "in", line


def _traffic(line: Line, sums: Mapping[tuple[int, str], float]) -> Traffic:
    answers = {detail: value for (kind, detail), value in sums.items() if kind == _ANSWERS}
    below = {float(detail): value for (kind, detail), value in sums.items() if kind == _TIMES}
    requests = sum(answers.values()) if answers else None
    return Traffic(
        line=line,
        requests=requests,
        success=1 - answers.get(FAILED, 0.0) / requests if requests else None,
        latency={name: quantile(share, below) for name, share in QUANTILES.items()},
        connections=sums.get((_OPENED, ""), 0.0),
        open=sums.get((_OPEN, "")),
        received=sums.get((_RECEIVED, ""), 0.0),
        sent=sums.get((_SENT, ""), 0.0),
    )
