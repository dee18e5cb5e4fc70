"""Times as the API writes them: whole seconds in most places, microseconds in leases and events."""

from datetime import UTC, datetime


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
    return moment.astimezone(UTC)


def _utc(moment: datetime, precision: str) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"
