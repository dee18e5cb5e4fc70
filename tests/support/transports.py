"""Transports around transports: one shows a token, one lets connections fall silent; and what a
request is about."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request, Response, Transport


def aim(request: Request) -> str:
    """Return the path of what a request is about: what is to be made has its name in the body."""
    if request.method != "POST":
        return request.path
    metadata = msgspec.json.decode(request.body).get("metadata", {})
    return f"{request.path}/{metadata.get('name', '')}"


@dataclass(frozen=True, slots=True)
class Bearer:
    """Shows one bearer token with every request; "" shows none."""

    inner: Transport
    token: str = field(repr=False)

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        shown: Mapping[str, str] = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return self.inner.send(replace(request, headers={**request.headers, **shown}))

    async def close(self) -> None:
        await self.inner.close()


class Nowhere:
    """Leads nowhere, for those who have a client and need no answer."""

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        raise Unreachable(f"{request.method} {request.path}: nobody is there")
        yield

    async def close(self) -> None:
        pass


@dataclass(slots=True)
class Mute:
    """Lets open answers fall silent without ending, as a lost route does."""

    _open: list["Muted"] = field(default_factory=list)

    def around(self, inner: Transport) -> Transport:
        return Muting(inner, self._open)

    def silence(self) -> None:
        for response in self._open:
            response.silent.set()


@dataclass(frozen=True, slots=True)
class Muting:
    inner: Transport
    open: list["Muted"]

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        async with self.inner.send(request) as response:
            muted = Muted(response)
            self.open.append(muted)
            try:
                yield muted
            finally:
                self.open.remove(muted)

    async def close(self) -> None:
        await self.inner.close()


@dataclass(slots=True, eq=False)
class Muted:
    inner: Response
    silent: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def status(self) -> int:
        return self.inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self.inner.chunks():
            if self.silent.is_set():
                await asyncio.Event().wait()  # nothing comes, ever; the reader must give up
            yield chunk


@dataclass(frozen=True, slots=True)
class Canned:
    """An answer that no server has given."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body


@dataclass(frozen=True, slots=True)
class Intercepting:
    """Looks at every request first, and may answer it instead of the server."""

    inner: Transport
    answer: Callable[[Request], Awaitable[Response | None]]

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        ours = await self.answer(request)
        if ours is not None:
            yield ours
            return
        async with self.inner.send(request) as response:
            yield response

    async def close(self) -> None:
        await self.inner.close()
