"""Calls made as a pod makes them: by the names that it knows, from its own address."""

from dataclasses import dataclass
from socket import AF_INET, AddressFamily

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from isthmus.embedded.machine.machine import DNS_PORT
from isthmus.embedded.machine.objects import PODS
from isthmus.embedded.machine.ports import Ports
from isthmus.embedded.machine.records import searched
from isthmus.embedded.mesh.installed import NAME_SERVER
from isthmus.embedded.mesh.lookups import addresses
from isthmus.kube.client import Client
from isthmus.kube.errors import NotFound
from isthmus.kube.resources import SERVICES
from isthmus.model.errors import Permanent
from isthmus.model.objects import Key
from isthmus.model.quoting import one_line
from isthmus.model.syntax import is_subdomain

TIMEOUT = aiohttp.ClientTimeout(total=20)
LARGEST = 1 << 20  # bytes of an answer that are shown
_LONGEST = 200


class NoCaller(Permanent):
    """There is no such pod to call from."""


class Unanswered(Permanent):
    """A call that got no answer: no such name, nobody there, or broken off."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    reason: str
    body: str

    def __str__(self) -> str:
        return f"HTTP {self.status} {self.reason}\n{self.body.rstrip()}".rstrip()


@dataclass(frozen=True, slots=True)
class Caller:
    """A pod, and whom it asks about names."""

    address: str
    namespace: str
    domain: str
    name_server: tuple[str, int]


async def caller(client: Client, pod: Key, domain: str, ports: Ports) -> Caller:
    """Find a pod of the cluster that ``client`` talks to."""
    try:
        found = await client.get(PODS, pod)
        names = await client.get(SERVICES, Key("kube-system", NAME_SERVER))
    except NotFound as error:
        raise NoCaller(f"{pod}: {error}") from error
    if not found.status.pod_ip:
        raise NoCaller(f"pod {pod} does not run yet")
    server = (names.spec.cluster_ip, ports.at(DNS_PORT))
    return Caller(found.status.pod_ip, pod.namespace, domain, server)


async def call(who: Caller, url: str) -> Answer:
    """Get ``url``; raises ``Unanswered``."""
    target = _page(url)
    connector = aiohttp.TCPConnector(
        local_addr=(who.address, 0), resolver=_Resolver(who), family=AF_INET, force_close=True
    )
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=TIMEOUT) as session,
            session.get(target, allow_redirects=False) as answer,
        ):
            body = b""
            async for chunk in answer.content.iter_any():
                body = (body + chunk)[:LARGEST]
                if len(body) == LARGEST:
                    break
            return Answer(answer.status, answer.reason or "", body.decode(errors="replace"))
    except aiohttp.ClientConnectorDNSError as error:
        raise Unanswered(f"{target.host}: no such name in {who.domain}") from error
    except aiohttp.InvalidURL as error:
        raise Unanswered(f"{url[:_LONGEST]!r} is not the address of a page") from error
    except (aiohttp.ClientError, OSError) as error:
        raise Unanswered(f"{target.host}: {one_line(str(error), _LONGEST)}") from error


def _page(url: str) -> URL:
    """Read the address of a page that a pod can ask for: it knows names and IPv4 addresses."""
    try:
        found = URL(url)
        host = (found.raw_host or "").rstrip(".")
        if found.scheme in ("http", "https") and found.port and is_subdomain(host.lower()):
            return found
    except ValueError:
        pass
    shown = one_line(url, _LONGEST)
    raise Unanswered(f"{shown!r} is not the address of a page; one begins with http:// and a name")


class _Resolver(AbstractResolver):
    def __init__(self, who: Caller) -> None:
        self._who = who

    async def resolve(
        self, host: str, port: int = 0, family: AddressFamily = AF_INET
    ) -> list[ResolveResult]:
        who = self._who
        for name in searched(host.lower(), who.namespace, who.domain):
            found = await addresses(who.name_server, who.address, name)
            if found:
                return [
                    ResolveResult(
                        hostname=host, host=one, port=port, family=family, proto=0, flags=0
                    )
                    for one in found
                ]
        raise OSError(None, "no such name")

    async def close(self) -> None:
        pass
