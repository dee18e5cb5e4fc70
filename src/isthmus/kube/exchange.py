"""One request and its answer: credentials, deadlines, size limits, pauses and counts.

Nothing is retried here but a refused credential, once. Whoever asks has a work queue or a loop
that knows better when to try again; a server's wish to be left alone for a while is obeyed
here, because it concerns everyone who asks.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from msgspec.structs import replace

from isthmus import __version__
from isthmus.kube.credentials import Credentials
from isthmus.kube.dates import http_date
from isthmus.kube.errors import Garbled, Unauthorized, Unavailable, Unreachable, Untrusted
from isthmus.kube.failures import failure
from isthmus.kube.requests import Call
from isthmus.kube.transport import Response, Transport
from isthmus.model.errors import IsthmusError
from isthmus.runtime.clock import Clock

T = TypeVar("T")

log = logging.getLogger(__name__)

MIB = 1024 * 1024
OF_TRANSPORTS = (Unreachable, Garbled, Untrusted, Unauthorized)  # errors, which know no call
REFUSAL_BYTES = MIB  # of the body that explains a refusal

HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": f"isthmus/{__version__}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long we wait, how much we read and how much we ask for at once."""

    first_byte: float = 30.0  # seconds until an answer begins
    total: float = 60.0  # seconds until it has been read
    silence: float = 90.0  # seconds without a byte after which a watch is dead
    concurrency: int = 16  # requests under way; watches are not counted
    page: int = 500  # objects of a list asked for at once
    pages: int = 2000
    object_bytes: int = 4 * MIB
    page_bytes: int = 64 * MIB
    list_bytes: int = 512 * MIB
    line_bytes: int = 8 * MIB  # of a watch


class Exchange:
    """The way to one API server, shared by all who talk to it."""

    def __init__(
        self,
        transport: Transport,
        credentials: Credentials,
        limits: Limits,
        clock: Clock,
        random: Random,
    ) -> None:
        self.clock_skew: float | None = None  # seconds by which the server's clock is ahead
        self.answers: Counter[tuple[str, str, str]] = Counter()  # by verb, resource and outcome
        self._transport = transport
        self._credentials = credentials
        self._limits = limits
        self._clock = clock
        self._random = random
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._date = ""  # as the server gave it in its last answer
        self._pause = 0.0
        self._pause_ends = 0.0

    def apart(self) -> "Exchange":
        """Return the same way, on which nobody waits for those who share this one."""
        other = Exchange(
            self._transport, self._credentials, self._limits, self._clock, self._random
        )
        other.answers = self.answers
        return other

    async def close(self) -> None:
        await self._transport.close()

    async def fetch(self, call: Call[T], cap: int) -> bytes:
        """Return the whole body of a good answer, which may be ``cap`` bytes long."""
        async with self._slots:
            await self._wait_out_pause()
            try:
                async with asyncio.timeout(self._limits.total), AsyncExitStack() as stack:
                    return await _read(call, await self._open(call, stack), cap)
            except TimeoutError as error:
                text = f"{call}: not answered within {self._limits.total:g} s"
                raise Unreachable(text) from error

    @asynccontextmanager
    async def stream(self, call: Call[T]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Hand out the body of a good answer as it comes; silence ends it."""
        await self._wait_out_pause()
        async with AsyncExitStack() as stack:
            response = await self._open(call, stack)
            yield _UntilSilent(call, response, self._limits.silence)

    async def _open(self, call: Call[T], stack: AsyncExitStack) -> Response:
        """Send ``call``, with a renewed credential if need be, until an answer is good."""
        sent = await self._credentials.headers()
        try:
            return await self._send(call, sent, stack)
        except Unauthorized:
            await self._credentials.refresh()
            renewed = await self._credentials.headers()
            if renewed == sent:
                raise
        return await self._send(call, renewed, stack)

    async def _send(
        self, call: Call[T], credential: Mapping[str, str], stack: AsyncExitStack
    ) -> Response:
        request = replace(call.request, headers={**HEADERS, **call.request.headers, **credential})
        began = self._clock.now()
        try:
            async with asyncio.timeout(self._limits.first_byte):
                with _About(call):
                    response = await stack.enter_async_context(self._transport.send(request))
                self._note_time(response.headers)
                is_good = 200 <= response.status < 300 and not _is_html(response)
                body = b"" if is_good else await _read(call, response, REFUSAL_BYTES)
        except TimeoutError as error:
            self._count(call, Unreachable.__name__, began)
            text = f"{call}: no answer within {self._limits.first_byte:g} s"
            raise Unreachable(text) from error
        except IsthmusError as error:
            self._count(call, type(error).__name__, began)
            raise
        self._count(call, str(response.status), began)
        if is_good:
            return response
        refused = failure(
            response.status,
            {name.lower(): _without(credential, value) for name, value in response.headers.items()},
            _without(credential, body.decode("utf-8", "replace")).encode(),
            call,
            secret=call.resource.secret,
        )
        if isinstance(refused, Unavailable) and refused.retry_after:
            self._pause = refused.retry_after
            self._pause_ends = max(self._pause_ends, self._clock.now() + refused.retry_after)
        raise refused

    def _count(self, call: Call[T], outcome: str, began: float) -> None:
        """Note how a request ended; one that we have given up ourselves is nobody's fault."""
        self.answers[call.verb, call.resource.plural, outcome] += 1
        if log.isEnabledFor(logging.DEBUG):  # far too many to write down for nobody
            took = round((self._clock.now() - began) * 1000, 1)
            extra = {"call": str(call), "outcome": outcome, "milliseconds": took}
            log.debug("asked", extra=extra)

    async def _wait_out_pause(self) -> None:
        """Wait until the server wants to hear from us again, and then not all at once."""
        while (left := self._pause_ends - self._clock.now()) > 0:
            await self._clock.sleep(left + self._random.random() * self._pause)

    def _note_time(self, headers: Mapping[str, str]) -> None:
        date = headers.get("date", "")
        if date == self._date:
            return  # of all answers of one second, the first is the nearest to its beginning
        self._date = date
        there = http_date(date)
        if there is not None:
            self.clock_skew = (there - self._clock.utc()).total_seconds()


async def _read(call: Call[T], response: Response, cap: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    with _About(call):
        async for chunk in response.chunks():
            size += len(chunk)
            if size > cap:
                raise Garbled(f"the answer is larger than {cap} bytes")
            parts.append(chunk)
    return b"".join(parts)


class _UntilSilent:
    """The body of an answer as it comes, for as long as it does."""

    def __init__(self, what: object, response: Response, silence: float) -> None:
        self._what = what
        self._chunks = response.chunks()
        self._silence = silence

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            with _About(self._what):
                async with asyncio.timeout(self._silence):
                    return await anext(self._chunks)
        except TimeoutError as error:
            raise Unreachable(f"{self._what}: silent for {self._silence:g} s") from error


class _About:
    """Says in errors of the transport what they have kept from happening."""

    def __init__(self, what: object) -> None:
        self._what = what

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OF_TRANSPORTS):
            raise type(error)(f"{self._what}: {error}") from error


def _is_html(response: Response) -> bool:
    return response.headers.get("content-type", "").lower().startswith("text/html")


def _without(credential: Mapping[str, str], text: str) -> str:
    """Remove our own credential from an answer that echoes it."""
    for value in credential.values():
        text = text.replace(value.rpartition(" ")[2], "<hidden>")
    return text
