"""The admin interface of an Envoy of ours, over the socket that only its own user can open."""

from pathlib import Path

import aiohttp

from isthmus.model.errors import Transient

TIMEOUT = aiohttp.ClientTimeout(total=10)


class NoAnswer(Transient):
    """Envoy does not answer: it is starting, ending, or stuck."""


class Admin:
    """Asks one question at a time, each on a connection of its own."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def ready(self) -> bool:
        """Tell whether it has all that it needs to serve."""
        try:
            return (await self.get("/ready")).strip() == "LIVE"
        except NoAnswer:
            return False

    async def get(self, path: str) -> str:
        return await self._ask("GET", path)

    async def post(self, path: str) -> str:
        """Have something done."""
        return await self._ask("POST", path)

    async def _ask(self, method: str, path: str) -> str:
        try:
            async with (
                aiohttp.ClientSession(
                    connector=aiohttp.UnixConnector(str(self._socket)), timeout=TIMEOUT
                ) as session,
                session.request(method, f"http://envoy{path}") as answer,
            ):
                return await answer.text(errors="replace")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise NoAnswer(f"Envoy: {method} {path}: {type(error).__name__}") from None
