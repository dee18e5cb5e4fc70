"""The front of an embedded cluster that needs no socket: a Transport straight into its API."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace

from isthmus.embedded.answers import Answer
from isthmus.embedded.faults import Faults
from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, seen by a client."""

    answer: Answer

    @property
    def status(self) -> int:
        return self.answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.answer.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        if self.answer.body:
            yield self.answer.body
        if self.answer.stream is not None:
            async for chunk in self.answer.stream:
                yield chunk


class InProcess:
    """Implements ``kube.transport.Transport``. Only bytes pass, so that nothing is shared."""

    def __init__(self, faults: Faults, token: str) -> None:
        self._faults = faults
        self._token = token
        self._closed = False

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Reply]:
        if self._closed:
            raise Unreachable("the transport is closed")
        # A call over a network gives others a turn, too.
        await asyncio.sleep(0)
        headers = {"authorization": f"Bearer {self._token}", **request.headers}
        answer = await self._faults.handle(replace(request, headers=headers))
        if isinstance(answer.stream, AsyncGenerator):
            async with aclosing(answer.stream):
                yield Reply(answer)
        else:
            yield Reply(answer)

    async def close(self) -> None:
        self._closed = True
