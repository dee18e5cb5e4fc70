"""Times as the API writes them: whole seconds in most places, microseconds in leases and events."""

import re
from datetime import UTC, datetime

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
DURATION = re.compile(r"(?:[0-9]+(?:ms|s|m|h))+")
PART = re.compile(r"([0-9]+)(ms|s|m|h)")


def second_time(moment: datetime) -> str:
    """Return ``moment`` as the API's Time, cut to whole seconds."""
    return _utc(moment, "seconds")


def micro_time(moment: datetime) -> str:
    """Return ``moment`` as the API's MicroTime, which insists on six decimals."""
    return _utc(moment, "microseconds")


def parsed(text: str) -> datetime:
    """Return the moment that either form names; raise ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without a time zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time before the first or after the last year") from None


def _utc(moment: datetime, precision: str) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def seconds(text: str) -> float:
    """Return how long a duration such as "1m30s" is; raise ValueError if it is none."""
    if not DURATION.fullmatch(text):
        raise ValueError("not a duration")
    try:
        return sum(int(number) * UNITS[unit] for number, unit in PART.findall(text))
    except OverflowError:
        raise ValueError("a duration without end") from None
