"""A resolver written by hand, so that what it understands is what the standard says."""

import asyncio
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address

A, SRV, AAAA, TXT = 1, 33, 28, 16
NOERROR, FORMERR, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 3, 4, 5


@dataclass(frozen=True, slots=True)
class Reply:
    identity: int
    rcode: int
    authoritative: bool
    truncated: bool
    answers: tuple[str, ...]


def query(name: str, kind: int = A, *, identity: int = 7, of_class: int = 1) -> bytes:
    head = struct.pack("!HHHHHH", identity, 0x0100, 1, 0, 0, 0)
    labels = b"".join(bytes([len(one)]) + one.encode() for one in name.rstrip(".").split("."))
    return head + labels + b"\0" + struct.pack("!HH", kind, of_class)


def read(message: bytes) -> Reply:
    identity, flags, questions, answers, authorities, more = struct.unpack_from("!6H", message)
    assert flags & 0x8000, "not an answer"
    assert (authorities, more) == (0, 0)
    at = 12
    for _ in range(questions):
        at = _name(message, at)[1] + 4
    found: list[str] = []
    for _ in range(answers):
        at = _name(message, at)[1]
        kind, of_class, ttl, size = struct.unpack_from("!HHIH", message, at)
        assert (of_class, ttl) == (1, 5)
        at += 10
        if kind == A:
            found.append(str(IPv4Address(message[at : at + size])))
        else:
            assert kind == SRV
            port = struct.unpack_from("!HHH", message, at)[2]
            target, end = _name(message, at + 6)
            assert end == at + size
            found.append(f"{target}:{port}")
        at += size
    assert at == len(message)
    return Reply(identity, flags & 15, bool(flags & 0x400), bool(flags & 0x200), tuple(found))


def _name(message: bytes, at: int) -> tuple[str, int]:
    labels: list[str] = []
    while message[at]:
        if message[at] >= 0xC0:
            pointed = struct.unpack_from("!H", message, at)[0] & 0x3FFF
            return ".".join([*labels, _name(message, pointed)[0]]), at + 2
        labels.append(message[at + 1 : at + 1 + message[at]].decode())
        at += 1 + message[at]
    return ".".join(labels), at + 1


class _Once(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:  # noqa: ARG002
        self.answer.set_result(data)


async def ask(server: tuple[str, int], message: bytes) -> Reply:
    """Ask by UDP."""
    loop = asyncio.get_running_loop()
    transport, waiting = await loop.create_datagram_endpoint(_Once, remote_addr=server)
    try:
        transport.sendto(message)
        async with asyncio.timeout(5):
            return read(await waiting.answer)
    finally:
        transport.close()


async def ask_at_length(server: tuple[str, int], *messages: bytes) -> list[Reply]:
    """Ask by TCP, all on one connection."""
    reader, writer = await asyncio.open_connection(*server)
    replies: list[Reply] = []
    async with asyncio.timeout(5):
        for message in messages:
            writer.write(len(message).to_bytes(2) + message)
            size = int.from_bytes(await reader.readexactly(2))
            replies.append(read(await reader.readexactly(size)))
    writer.close()
    await writer.wait_closed()
    return replies
