"""The front of an embedded cluster that needs no socket: a Transport straight into its API."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from isthmus.embedded.faults.rules import Faults
from isthmus.kube.errors import Unreachable
from isthmus.kube.transport import Request


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, seen by a client."""

    status: int
    headers: Mapping[str, str]
    parts: AsyncIterator[bytes]

    def chunks(self) -> AsyncIterator[bytes]:
        return self.parts


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
        async with aclosing(answer.parts()) as parts:
            yield Reply(answer.status, answer.headers, parts)

    async def close(self) -> None:
        self._closed = True
