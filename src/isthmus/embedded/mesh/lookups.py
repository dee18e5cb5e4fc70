"""Asks a cluster's name server, as the resolver of a pod does (RFC 1035)."""

import asyncio
import secrets
import struct
from ipaddress import IPv4Address, IPv4Network

from isthmus.embedded.machine.dns import INTERNET, A, packed_name
from isthmus.embedded.machine.machine import DNS_OFFSET, DNS_PORT
from isthmus.model.errors import Transient
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject

NAME_SERVER = Key("kube-system", "kube-dns")  # as its Service is called in every cluster
PATIENCE = 5.0  # seconds
_HEADER = struct.Struct("!HHHHHH")
_RECORD = struct.Struct("!HHHIH")  # a pointer to the name, then type, class, TTL and length
_RECURSION_DESIRED = 0x0100
_CODE = 0x000F


class NoNames(Transient):
    """The name server does not answer."""


def name_server(service_range: str) -> JsonObject:
    """The Service by which a cluster's name server is found."""
    protocols = (("dns", "UDP"), ("dns-tcp", "TCP"))
    ports = [{"name": name, "port": DNS_PORT, "protocol": one} for name, one in protocols]
    return {
        "metadata": {"name": NAME_SERVER.name, "namespace": NAME_SERVER.namespace},
        "spec": {"clusterIP": str(IPv4Network(service_range)[DNS_OFFSET]), "ports": ports},
    }


class _Asked(asyncio.DatagramProtocol):
    def __init__(self, identity: int) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._identity = identity

    def datagram_received(self, data: bytes, _addr: object) -> None:
        is_ours = len(data) >= _HEADER.size and data[:2] == self._identity.to_bytes(2)
        if is_ours and not self.answer.done():
            self.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


async def addresses(server: tuple[str, int], source: str, name: str) -> tuple[str, ...]:
    """Return the addresses of exactly this name, asked for from ``source``; none: no such name."""
    identity = secrets.randbelow(1 << 16)
    question = packed_name(name) + struct.pack("!HH", A, INTERNET)
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(
        lambda: _Asked(identity), local_addr=(source, 0), remote_addr=server
    )
    try:
        transport.sendto(_HEADER.pack(identity, _RECURSION_DESIRED, 1, 0, 0, 0) + question)
        async with asyncio.timeout(PATIENCE):
            answer = await protocol.answer
    except OSError as error:  # TimeoutError is one
        raise NoNames(f"the name server at {server[0]}:{server[1]} does not answer") from error
    finally:
        transport.close()
    return _read(answer, _HEADER.size + len(question))


def _read(answer: bytes, at: int) -> tuple[str, ...]:
    """Read the records that begin after the question; ours all name it by a pointer."""
    _, flags, _, count, _, _ = _HEADER.unpack_from(answer)
    found: list[str] = []
    for _ in range(0 if flags & _CODE else count):
        _, kind, _, _, size = _RECORD.unpack_from(answer, at)
        at += _RECORD.size + size
        if kind == A:
            found.append(str(IPv4Address(answer[at - size : at])))
    return tuple(found)
