"""The seam between our client and whatever carries its requests.

An HTTPS connection and the embedded API server implement the same protocol, so that every
test, and the simulation, can run the production client without a socket.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call to an API server; ``path`` is percent-encoded, ``query`` values are not."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Response(Protocol):
    """An answer whose body has not been read yet. Headers are found under their names in lower
    case; who goes through all of them may see another."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the (decompressed) body as it arrives; raise ``Unreachable`` if it breaks off."""
        ...


class Transport(Protocol):
    """Carries requests. Raises only :mod:`isthmus.kube.errors`; never follows a redirect."""

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """Send ``request``; leaving the context releases (or aborts) the connection."""
        ...

    async def close(self) -> None: ...
