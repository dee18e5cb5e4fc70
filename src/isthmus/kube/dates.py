"""Dates in the headers of an answer (RFC 9110, 5.6.7), which any server may write."""

from datetime import datetime
from email.utils import parsedate_to_datetime


def http_date(text: str) -> datetime | None:
    """Return the moment that a header names; None if it names none that can be compared."""
    try:
        found = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    return found if found.tzinfo is not None else None
