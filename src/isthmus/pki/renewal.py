"""When a certificate is renewed: early enough to survive an outage, and not all at once."""

from datetime import datetime

# Around two thirds of the lifetime: of 24 hours, eight remain to get another.
_EARLIEST = 0.6
_SPREAD = 2 / 15


def renew_at(made_at: datetime, not_after: datetime, jitter: float) -> datetime:
    """Return when to renew, ``jitter`` from 0 to 1 choosing a point around two thirds."""
    return made_at + (not_after - made_at) * (_EARLIEST + _SPREAD * jitter)
