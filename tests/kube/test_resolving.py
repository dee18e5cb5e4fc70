"""Where a stranger's server name leads: judged at every connection, before anything is sent."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
import yaml
from aiohttp.abc import AbstractResolver, ResolveResult

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.kubeconfigs import kubeconfig
from isthmus.embedded.fronts.server import serve
from isthmus.kube import restricted
from isthmus.kube.access import Access
from isthmus.kube.client import Client
from isthmus.kube.errors import BadConfig, Unreachable, Untrusted
from isthmus.kube.http import HttpTransport
from isthmus.kube.resolving import JudgingResolver
from isthmus.kube.resources import NAMESPACES
from isthmus.kube.restricted import Policy
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.support import kubeconfigs
from tests.support.certificates import self_signed
from tests.support.waiting import eventually

pytestmark = pytest.mark.sockets

NAME = "api.west.example"
LOOPBACK = Policy(allow_loopback=True)


class Names(AbstractResolver):
    """A name server that gives its answers in turn; the last one stays. None means silence."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        if not self._answers:
            await asyncio.Event().wait()
        found = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=_family(address), proto=0, flags=0
            )
            for address in found
            if family in (socket.AF_UNSPEC, _family(address))
        ]

    async def close(self) -> None: ...


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def access(policy: Policy | None = None, **cluster: str) -> Access:
    """What a Secret gives, whose server has a name."""
    fields = {"server": f"https://{NAME}:6443"} | {
        name.replace("_", "-"): value for name, value in cluster.items()
    }
    return _loaded(kubeconfigs.kubeconfig(cluster=fields), policy)


def _loaded(content: JsonObject, policy: Policy | None) -> Access:
    return restricted.load(yaml.safe_dump(content).encode(), "secret isthmus/west", policy)


async def identity(to: Access, names: AbstractResolver, connect: float = 5.0) -> str:
    transport = HttpTransport(to.server, connect=connect, resolver=names)
    client = Client(transport, to.credentials)
    try:
        return (await client.get(NAMESPACES, Key("", "kube-system"))).metadata.uid
    finally:
        await client.close()


@asynccontextmanager
async def embedded(**cluster: str) -> AsyncIterator[Access]:
    """An embedded cluster on loopback, called by a name; loopback is allowed."""
    before = len(asyncio.all_tasks())
    async with serve(Cluster("west")) as served:
        content = kubeconfig([served.entry()])
        fields = content["clusters"][0]["cluster"]
        port = urlsplit(fields["server"]).port
        fields |= {"server": f"https://{NAME}:{port}", "tls-server-name": "localhost"}
        fields |= {name.replace("_", "-"): value for name, value in cluster.items()}
        yield _loaded(content, LOOPBACK)
    # Connections that were refused half way take the server a moment to let go of.
    await eventually(lambda: len(asyncio.all_tasks()) == before)


@pytest.mark.parametrize(
    "policy, addresses, why",
    [
        pytest.param(None, ("127.0.0.1",), "127.0.0.1, a loopback address", id="loopback"),
        pytest.param(None, ("::1",), "::1, a loopback address", id="loopback over IPv6"),
        pytest.param(
            None, ("::ffff:127.0.0.1",), "::ffff:127.0.0.1, a loopback address", id="in disguise"
        ),
        pytest.param(None, ("fe80::1%2",), "fe80::1%2, a link-local address", id="link-local"),
        pytest.param(
            None,
            ("192.0.2.1", "169.254.169.254"),
            "169.254.169.254, a cloud's metadata service",
            id="one among others",
        ),
        pytest.param(
            LOOPBACK,
            ("169.254.169.254",),
            "169.254.169.254, a cloud's metadata service",
            id="where loopback is allowed",
        ),
    ],
)
async def test_a_name_that_leads_to_a_refused_address_is_refused(
    policy: Policy | None, addresses: tuple[str, ...], why: str
) -> None:
    with pytest.raises(BadConfig) as caught:
        await identity(access(policy), Names(addresses))
    assert str(caught.value) == f"{NAME}: leads to {why}; such an address is not allowed here"


async def test_a_proxy_is_judged_by_what_its_name_leads_to() -> None:
    names = Names(("127.0.0.1",))
    behind = access(Policy(allow_proxy=True), proxy_url="http://proxy.example:3128")
    with pytest.raises(BadConfig, match=r"proxy\.example: leads to 127\.0\.0\.1"):
        await identity(behind, names)
    assert names.asked == ["proxy.example"]


async def test_a_name_that_leads_to_loopback_serves_where_that_is_allowed() -> None:
    async with embedded() as west:
        assert await identity(west, Names(("127.0.0.1",)))


async def test_a_second_look_at_a_certificate_is_judged_like_the_first() -> None:
    """A name that leads elsewhere for the second time gets no connection there."""
    stranger = kubeconfigs.b64(self_signed("ca").certificate)
    async with embedded(certificate_authority_data=stranger) as west:
        with pytest.raises(Untrusted, match="; it shows "):
            await identity(west, Names(("127.0.0.1",)))
        turns = Names(("127.0.0.1",), ("0.0.0.0",))  # it would be reached, by the back door
        with pytest.raises(Untrusted) as caught:
            await identity(west, turns)
    assert "it shows" not in str(caught.value)
    assert turns.asked == [NAME, NAME]


async def test_a_name_that_is_never_resolved_is_given_up_in_time() -> None:
    with pytest.raises(Unreachable, match="no connection in time"):
        await identity(access(), Names(), connect=0.1)


async def test_whoever_closes_the_judge_closes_the_one_who_resolves() -> None:
    class Closing(Names):
        is_closed = False

        async def close(self) -> None:
            self.is_closed = True

    inner = Closing(("192.0.2.1",))
    await JudgingResolver(inner, lambda _: None).close()
    assert inner.is_closed
