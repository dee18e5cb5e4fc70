"""DNS messages (RFC 1035, and RFC 2782 for SRV), as far as a cluster's own names need them."""

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address

from isthmus.embedded.machine.records import Found, Zone

A, SRV, ANY_CLASS, INTERNET = 1, 33, 255, 1
TTL = 5  # seconds; the names move with the pods
SMALL = 512  # bytes that fit into a datagram for certain
_HEADER = struct.Struct("!HHHHHH")
_NOERROR, _FORMERR, _NXDOMAIN, _NOTIMP, _REFUSED = 0, 1, 3, 4, 5
_RESPONSE, _AUTHORITATIVE, _TRUNCATED, _RECURSION_DESIRED = 0x8000, 0x0400, 0x0200, 0x0100
_OPCODE = 0x7800
_QUESTION_NAME = b"\xc0\x0c"  # a pointer: the name that was asked for


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    type: int
    known_class: bool
    raw: bytes


def answer(zone: Zone, query: bytes, limit: int | None = None) -> bytes | None:
    """The answer to a query, cut short if it would be over ``limit`` bytes; None if it is none."""
    if len(query) < _HEADER.size:
        return None
    identity, flags, questions, *_ = _HEADER.unpack_from(query)
    if flags & _RESPONSE:
        return None
    kept = _RESPONSE | flags & (_OPCODE | _RECURSION_DESIRED)
    question = _question(query) if questions == 1 else None
    if flags & _OPCODE:
        return _HEADER.pack(identity, kept | _NOTIMP, 0, 0, 0, 0)
    if question is None:
        return _HEADER.pack(identity, kept | _FORMERR, 0, 0, 0, 0)
    if not zone.holds(question.name) or not question.known_class:
        return _HEADER.pack(identity, kept | _REFUSED, 1, 0, 0, 0) + question.raw
    found = zone.find(question.name)
    records = _records(found, question.type) if found else []
    kept |= _AUTHORITATIVE | (_NOERROR if found else _NXDOMAIN)
    body = question.raw + b"".join(records)
    if limit is not None and _HEADER.size + len(body) > limit:
        return _HEADER.pack(identity, kept | _TRUNCATED, 1, 0, 0, 0) + question.raw
    return _HEADER.pack(identity, kept, 1, len(records), 0, 0) + body


def _question(query: bytes) -> Question | None:
    labels: list[str] = []
    at = _HEADER.size
    while at < len(query) and query[at]:
        length = query[at]
        if length > 63 or at + 1 + length > len(query):
            return None
        labels.append(query[at + 1 : at + 1 + length].decode("latin-1").lower())
        at += 1 + length
    end = at + 5
    if end > len(query):
        return None
    asked, of_class = struct.unpack_from("!HH", query, at + 1)
    known = of_class in (INTERNET, ANY_CLASS)
    return Question(".".join(labels), asked, known, query[_HEADER.size : end])


def _records(found: Found, wanted: int) -> list[bytes]:
    if wanted == A:
        return [_record(A, IPv4Address(one).packed) for one in found.addresses]
    if wanted == SRV:
        return [
            _record(SRV, struct.pack("!HHH", 0, 100, one.port) + packed_name(one.name))
            for one in found.targets
        ]
    return []


def _record(kind: int, data: bytes) -> bytes:
    return _QUESTION_NAME + struct.pack("!HHIH", kind, INTERNET, TTL, len(data)) + data


def packed_name(name: str) -> bytes:
    labels = [label.encode("latin-1") for label in name.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
