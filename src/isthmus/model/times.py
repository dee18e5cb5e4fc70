"""Times as the API writes them: whole seconds in most places, microseconds in leases and events."""

from datetime import UTC, datetime


def second_time(moment: datetime) -> str:
    """Return ``moment`` as the API's Time, cut to whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(moment: datetime) -> str:
    """Return ``moment`` as the API's MicroTime, which insists on six decimals."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parsed(text: str) -> datetime:
    """Return the moment that either form names; raise ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without a time zone")
    return moment.astimezone(UTC)
