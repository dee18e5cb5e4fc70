"""Who we are to an API server: sources of the header that says so, and ways to renew it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from isthmus.kube.errors import BadConfig
from isthmus.runtime.clock import Clock

LARGEST_TOKEN = 64 * 1024  # bytes; no header carries more
REREAD = 60.0  # seconds: the kubelet rotates projected tokens long before they expire


class Credentials(Protocol):
    """A source of credentials; the client asks it before every request."""

    async def headers(self) -> Mapping[str, str]:
        """Return the headers that authenticate a request; raise ``BadConfig`` without any."""
        ...

    async def refresh(self) -> bool:
        """Read the credential again now, after a 401; tell whether it has changed."""
        ...


class Anonymous:
    """No header: a client certificate speaks for us, or nobody does."""

    async def headers(self) -> Mapping[str, str]:
        return {}

    async def refresh(self) -> bool:
        return False


class StaticToken:
    """A bearer token that cannot change."""

    def __init__(self, token: str) -> None:
        self._headers = bearer(token)

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    async def refresh(self) -> bool:
        return False


class FileToken:
    """A bearer token in a file that somebody else renews.

    A file that cannot be read for a moment does no harm: the last token stays in use until the
    server refuses it. The read is not worth a thread: such files are tiny and local.
    """

    def __init__(self, path: Path, clock: Clock, named: str | None = None) -> None:
        self._path = path
        self._clock = clock
        self._named = named or str(path)
        self._headers: Mapping[str, str] | None = None
        self._read_at = 0.0

    async def headers(self) -> Mapping[str, str]:
        if self._headers is None:
            self._read()
        elif self._clock.now() - self._read_at >= REREAD:
            await self.refresh()
        return self._headers or {}

    async def refresh(self) -> bool:
        before = self._headers
        try:
            self._read()
        except BadConfig:
            if before is None:
                raise
            self._read_at = self._clock.now()
        return self._headers != before

    def _read(self) -> None:
        self._headers = read_token(self._path, self._named)
        self._read_at = self._clock.now()


def read_token(path: Path, named: str) -> Mapping[str, str]:
    """Return the header for the token in ``path``; ``named`` is what errors call that file."""
    try:
        if not path.is_file():
            raise BadConfig(f"{named}: cannot read the token: not a regular file")
        with path.open("rb") as file:
            text = file.read(LARGEST_TOKEN + 1)
    except OSError as error:
        raise BadConfig(f"{named}: cannot read the token: {error.strerror}") from error
    if len(text) > LARGEST_TOKEN:
        raise BadConfig(f"{named}: larger than {LARGEST_TOKEN} bytes; a token is a few thousand")
    try:
        return bearer(text.decode("ascii"))
    except ValueError:
        # The text of a decoding error quotes the bytes, so it must not travel along.
        raise BadConfig(f"{named}: the file holds no usable bearer token") from None


def bearer(token: str) -> Mapping[str, str]:
    """Return the header for ``token``, trimmed; raise ValueError if no header can carry it."""
    token = token.strip()
    if not token or not token.isascii() or any(not "!" <= sign <= "~" for sign in token):
        raise ValueError("not a bearer token")
    return {"Authorization": f"Bearer {token}"}
