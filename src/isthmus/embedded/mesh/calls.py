"""Calls made as a pod makes them: by the names that it knows, from its own address."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from socket import AF_INET, AddressFamily

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.records import searched
from isthmus.embedded.mesh.lookups import NoNames, addresses
from isthmus.model.errors import Permanent
from isthmus.model.quoting import one_line
from isthmus.model.syntax import is_subdomain

PATIENCE = 20.0  # seconds
LARGEST = 1 << 20  # bytes of an answer that are shown
_LONGEST = 200


class Unanswered(Permanent):
    """A call that got no answer: no such name, nobody there, or broken off.

    ``code`` is what curl would end with.
    """

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Asked:
    """A page, and how it is asked for."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    patience: float = PATIENCE


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: str

    @property
    def head(self) -> str:
        """All but the body, as it came."""
        lines = (f"{name}: {value}" for name, value in self.headers)
        return "\n".join((f"HTTP/1.1 {self.status} {self.reason}".rstrip(), *lines))


@dataclass(frozen=True, slots=True)
class Caller:
    """A pod, whom it asks about names, and where ports are that this machine had to move."""

    address: str
    namespace: str
    domain: str
    name_server: tuple[str, int]
    ports: Ports

    async def resolve(self, host: str) -> tuple[str, ...]:
        """The addresses of a name, as a resolver in the pod finds them; none: no such name."""
        for name in searched(host.lower(), self.namespace, self.domain):
            if found := await addresses(self.name_server, self.address, name):
                return found
        return ()


async def call(who: Caller, asked: Asked) -> Answer:
    """Ask for a page; raises ``Unanswered``."""
    target = _page(asked.url)
    host = target.host or ""
    connector = aiohttp.TCPConnector(
        local_addr=(who.address, 0), resolver=_Resolver(who), family=AF_INET, force_close=True
    )
    timeout = aiohttp.ClientTimeout(total=asked.patience)
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            session.request(
                asked.method, target, headers=asked.headers, allow_redirects=False
            ) as answer,
        ):
            return await _taken(answer)
    except aiohttp.ClientConnectorDNSError as error:
        raise Unanswered(f"Could not resolve host: {host}", 6) from error
    except aiohttp.ClientConnectorError as error:
        why = (error.os_error.strerror or str(error.os_error)).rpartition("] ")[2]
        text = f"Failed to connect to {host} port {target.port}: {why}"
        raise Unanswered(one_line(text, _LONGEST), 7) from error
    except TimeoutError as error:
        raise Unanswered(f"Operation timed out after {asked.patience:g} seconds", 28) from error
    except aiohttp.ServerDisconnectedError as error:
        raise Unanswered("Empty reply from server", 52) from error
    except (aiohttp.ClientError, ValueError, OSError) as error:
        raise Unanswered(one_line(f"{host}: {error}", _LONGEST), 56) from error


async def _taken(answer: aiohttp.ClientResponse) -> Answer:
    body = b""
    async for chunk in answer.content.iter_any():
        body = (body + chunk)[:LARGEST]
        if len(body) == LARGEST:
            break
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.raw_headers
    )
    return Answer(answer.status, answer.reason or "", headers, body.decode(errors="replace"))


def _page(url: str) -> URL:
    """Read the address of a page that a pod can ask for: it knows names and IPv4 addresses."""
    try:
        found = URL(url if "://" in url else f"http://{url}")
        host = (found.raw_host or "").rstrip(".")
        if found.scheme in ("http", "https") and found.port and is_subdomain(host.lower()):
            return found
    except ValueError:
        pass
    shown = one_line(url, _LONGEST)
    raise Unanswered(f"{shown!r} is not the address of a page; one begins with http://", 3)


class _Resolver(AbstractResolver):
    def __init__(self, who: Caller) -> None:
        self._who = who

    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AF_INET
    ) -> list[ResolveResult]:
        try:
            found = await self._who.resolve(host)
        except NoNames as error:
            raise OSError(None, str(error)) from error
        if not found:
            raise OSError(None, "no such name")
        at = self._who.ports.at(port)
        return [
            ResolveResult(hostname=host, host=one, port=at, family=family, proto=0, flags=0)
            for one in found
        ]

    async def close(self) -> None:
        pass
