"""What can go wrong between us and an API server, translated once, at the border.

The base class says what to do next (see :mod:`isthmus.model.errors`); the subclasses exist
because someone catches them.
"""

from isthmus.model.errors import Permanent, Transient


class Unreachable(Transient):
    """No usable answer came: refused, reset, timed out, or the body broke off."""


class Garbled(Transient):
    """An answer came that is not the API's: HTML, broken JSON, another kind, or too large."""


class Unavailable(Transient):
    """The server cannot serve now (5xx). ``retry_after`` is its wish, in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Throttled(Unavailable):
    """429: the server asks us to slow down."""


class Ahead(Unavailable):
    """504: the server has not seen the resource version we name, or no longer. List again."""


class Unauthorized(Transient):
    """401: the credential is not accepted (any more); a rotated one may be."""


class Expired(Transient):
    """410: the resource version or continue token is too old. List again."""


class Conflict(Transient):
    """409 on a write with a precondition: someone else wrote first. Read and plan again."""


class AlreadyExists(Transient):
    """409 on a create: the name is taken. Read it and plan again."""


class NotFound(Permanent):
    """404: the object, or the kind, does not exist."""


class Forbidden(Permanent):
    """403: our credential may not do this. ``terminating``: the namespace is going away."""

    def __init__(self, message: str, *, terminating: bool = False) -> None:
        super().__init__(message)
        self.terminating = terminating


class Rejected(Permanent):
    """The server understood the request and refused it (400, 405, 413, 415, 422, redirects)."""


class BadConfig(Permanent):
    """A kubeconfig or credential that cannot be used. Names the file and the field."""


class UnknownContext(BadConfig):
    """The kubeconfig can be read, but has no context of that name."""


class Untrusted(Permanent):
    """TLS: the server's certificate does not prove that it is the server we asked for."""
