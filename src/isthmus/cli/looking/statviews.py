"""Traffic and denials, as tables or as data. Pure."""

from isthmus.cli import render
from isthmus.cli.looking import units
from isthmus.cli.looking.golden import QUANTILES, REASONS, Denial, Traffic
from isthmus.cli.looking.sampling import Sample
from isthmus.model.wire import JsonObject

_WHO = ("Direction", "Link", "Namespace", "Service")
_PER_SECOND = ("Success", "Req/s", *QUANTILES, "Conn/s", "In/s", "Out/s")
_IN_ALL = ("Success", "Requests", *QUANTILES, "Conns", "In", "Out")


def rendered(found: Sample, output: str) -> str:
    if output != "table":
        return render.document(_document(found), output)
    numbers = _IN_ALL if found.seconds is None else _PER_SECOND
    parts = [render.rows((*_WHO, *numbers), map(_row, found.traffic))]
    if found.denials:
        count = "Denied" if found.seconds is None else "Denied/s"
        parts.append(render.rows((*_WHO, count, "Reason", "Means"), map(_denied, found.denials)))
    return "\n\n".join(parts) + "\n"


def _row(one: Traffic) -> tuple[str, ...]:
    return (
        *one.line,
        units.share(one.success),
        units.amount(one.requests),
        *(units.milliseconds(value) for value in one.latency.values()),
        units.amount(one.connections),
        units.size(one.received),
        units.size(one.sent),
    )


def _denied(one: Denial) -> tuple[str, ...]:
    return (*one.line, units.amount(one.count), one.reason, REASONS[one.reason])


def _document(found: Sample) -> JsonObject:
    return {
        "window": found.seconds,
        "traffic": [_traffic(one) for one in found.traffic],
        "denials": [
            {**one.line._asdict(), "reason": one.reason, "count": one.count}
            for one in found.denials
        ],
        "unread": [str(error) for error in found.unread],
    }


def _traffic(one: Traffic) -> JsonObject:
    return {
        **one.line._asdict(),
        "requests": one.requests,
        "success": one.success,
        "latencyMs": dict(one.latency),
        "connections": one.connections,
        "openConnections": one.open,
        "bytesIn": one.received,
        "bytesOut": one.sent,
    }
