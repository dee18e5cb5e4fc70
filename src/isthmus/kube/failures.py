"""An answer that is not the one we wanted, turned into the error that says what to do next.

Whatever a server sends is quoted shortened, on one line and without control characters: it ends
in logs, and not every server is ours.
"""

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import msgspec

from isthmus.kube.codec import decoder
from isthmus.kube.dates import http_date
from isthmus.kube.errors import (
    Ahead,
    AlreadyExists,
    Conflict,
    Expired,
    Forbidden,
    Garbled,
    NotFound,
    Rejected,
    Throttled,
    Unauthorized,
    Unavailable,
)
from isthmus.model.errors import IsthmusError
from isthmus.model.quoting import one_line
from isthmus.model.wire import UNREADABLE

LONGEST_PAUSE = 60.0  # seconds; a server that wishes for more is asked again after this
LONGEST_QUOTE = 300  # characters of a server's own message
NOTHING = (b"{}", b"[]", b"null", b'""')  # bodies in JSON that say as much as none
FIRST_WORDS = 60  # characters of an answer that is not the API's


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    causes: tuple[_Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """The API's way to say no, in a body or in an ERROR event of a watch."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None

    @property
    def causes(self) -> tuple[_Cause, ...]:
        return self.details.causes if self.details else ()


def failure(
    status: int, headers: Mapping[str, str], body: bytes, what: object, *, secret: bool = False
) -> IsthmusError:
    """Return the error for an answer; ``secret`` if a refusal may quote what we have sent."""
    if 300 <= status < 400:
        return _redirect(headers, what)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    found = _status(body)
    if found is None and (status < 400 or _is_html(kind, body)) and not _asks_to_wait(status):
        return Garbled(f"{what}: {_foreign(status, kind, body)}")
    if found is None:
        found = Status(
            message=_foreign(status, kind, body) if _is_html(kind, body) else _quote(body)
        )
    if secret and status in (400, 422):
        found = msgspec.structs.replace(found, message=_fields(found))
    return refusal(found, what, status=status, pause=_retry_after(headers, found))


def refusal(
    found: Status, what: object, *, status: int = 0, pause: float | None = None
) -> IsthmusError:
    """Return the error that a Status object stands for."""
    code = status or found.code
    said = one_line(found.message, LONGEST_QUOTE) or one_line(found.reason, LONGEST_QUOTE)
    numbered = f"{what}: {said or _phrase(code)} ({code})"
    message = f"{what}: {said}" if said else numbered
    reasons = {cause.reason for cause in found.causes}
    if code == 409 and found.reason == "AlreadyExists":
        return AlreadyExists(message)
    if code == 403:
        return Forbidden(message, terminating="NamespaceTerminating" in reasons)
    if code == 429:
        return Throttled(message, pause)
    if code == 504 and "ResourceVersionTooLarge" in reasons:
        return Ahead(message, pause)
    if code in (408, 425) or code >= 500:
        return Unavailable(numbered, pause)
    plain = {401: Unauthorized, 404: NotFound, 409: Conflict, 410: Expired}
    if code in plain:
        return plain[code](message)
    if 400 <= code < 500:
        return Rejected(numbered)
    return Garbled(f"{what}: the server failed without saying how")


def _status(body: bytes) -> Status | None:
    try:
        found = decoder(Status).decode(body)
    except UNREADABLE:
        return None
    return found if found.kind == "Status" else None


def _redirect(headers: Mapping[str, str], what: object) -> IsthmusError:
    try:
        host = urlsplit(headers.get("location", "")).netloc.rpartition("@")[2]
    except ValueError:
        host = ""
    to = f"to {one_line(host, FIRST_WORDS)}" if host else "elsewhere"
    return Rejected(f"{what}: the server redirects {to}; not followed. Is its address right?")


def _asks_to_wait(status: int) -> bool:
    """A load balancer in front of the API says these in HTML, and means them."""
    return status == 429 or status >= 500


def _is_html(kind: str, body: bytes) -> bool:
    return kind in ("text/html", "application/xhtml+xml") or body[:1].strip() == b"<"


def _foreign(status: int, kind: str, body: bytes) -> str:
    words = one_line(body[: 4 * FIRST_WORDS].decode("utf-8", "replace"), FIRST_WORDS)
    return (
        f"the answer ({status}) is not the Kubernetes API's but {one_line(kind, 40) or 'untyped'}"
        f" beginning with {words!r}"
    )


def _fields(found: Status) -> str:
    named = ", ".join(f"{cause.field} ({cause.reason})" for cause in found.causes)
    return f"refused: {named}" if named else f"refused ({found.reason})"


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "no reason given"


def _quote(body: bytes) -> str:
    if body.strip() in NOTHING:
        return ""
    return body[: 4 * LONGEST_QUOTE].decode("utf-8", "replace")


def _retry_after(headers: Mapping[str, str], found: Status) -> float | None:
    """Return the wish for a pause: seconds, or a date seen from the server's own clock."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LONGEST_PAUSE)
    until, now = http_date(text), http_date(headers.get("date", ""))
    if until is not None and now is not None:
        return min(max((until - now).total_seconds(), 0.0), LONGEST_PAUSE)
    seconds = found.details.retry_after_seconds if found.details else 0
    return min(float(seconds), LONGEST_PAUSE) if seconds > 0 else None
