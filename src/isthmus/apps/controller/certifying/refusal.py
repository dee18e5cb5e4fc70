"""Why somebody gets no certificate: a status and a reason for machines, a sentence for people."""

from enum import Enum

from isthmus.model.errors import Permanent


class Reason(Enum):
    """What is counted; the value is the status of the answer."""

    MALFORMED = 400
    UNAUTHENTICATED = 401
    FORBIDDEN = 403
    SLOW = 408
    TOO_LARGE = 413
    TOO_MANY = 429
    UNAVAILABLE = 503


class Refused(Permanent):
    """An answer without a certificate. Its text never repeats anything of the request."""

    def __init__(self, reason: Reason, text: str, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.reason = reason
        self.retry_after = retry_after
