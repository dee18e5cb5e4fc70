"""Names of servers that strangers choose: what a name leads to is judged like the name itself.

The judgement is made on the very addresses that the connection is then opened to. A name that was
judged beforehand could lead somewhere else a moment later.
"""

import socket
from collections.abc import Callable

from aiohttp.abc import AbstractResolver, ResolveResult

from isthmus.kube.errors import BadConfig


class JudgingResolver(AbstractResolver):
    """Resolves names, but none that leads, among others, to an address that is refused."""

    def __init__(self, inner: AbstractResolver, refusal: Callable[[str], str | None]) -> None:
        self._inner = inner
        self._refusal = refusal

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        for each in found:
            why = self._refusal(each["host"])
            if why is not None:
                raise BadConfig(
                    f"{host}: leads to {each['host']}, {why}; such an address is not allowed here"
                )
        return found

    async def close(self) -> None:
        await self._inner.close()
