"""Reads Kubernetes' protobuf bodies as JSON, since kubectl's typed clients send nothing else.

Everything inside the cluster is JSON, and so are all answers, which these clients accept.
"""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime

from isthmus.embedded.fronts.messages import MESSAGES, Field
from isthmus.model.errors import Permanent
from isthmus.model.quoting import one_line
from isthmus.model.times import second_time
from isthmus.model.wire import Json, JsonObject

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class Unreadable(Permanent):
    """Not a protobuf body, or one that says what we could not say in JSON."""


def object_of(body: bytes) -> JsonObject:
    """The object in a protobuf body."""
    if not body.startswith(_MAGIC):
        raise Unreadable("the body does not start like Kubernetes' protobuf")
    envelope = dict(_fields(body[len(_MAGIC) :]))
    type_meta = dict(_fields(_bytes(envelope.get(1, b""))))
    api_version, kind = (_bytes(type_meta.get(n, b"")).decode(errors="replace") for n in (1, 2))
    name = "meta.k8s.io/v1 DeleteOptions" if kind == "DeleteOptions" else f"{api_version} {kind}"
    if name not in MESSAGES:
        raise Unreadable(f"{one_line(name, 100)} is not read from protobuf")
    raw = _bytes(envelope.get(2, b""))
    return {"apiVersion": api_version, "kind": kind, **_message(name, raw)}


def _message(name: str, raw: bytes) -> JsonObject:
    known = MESSAGES[name]
    found: JsonObject = {}
    for number, value in _fields(raw):
        field = known.get(number)
        if field is None:
            if value:  # What is said must not get lost; what is empty can.
                raise Unreadable(f"field {number} of {name} is not read from protobuf")
            continue
        _put(found, field, value)
    return found


def _put(found: JsonObject, field: Field, value: int | bytes) -> None:
    match field.type:
        case "-":
            return
        case "map" | "bytemap":
            key, entry = _entry(_bytes(value))
            shown = _text(entry) if field.type == "map" else base64.b64encode(entry).decode()
            found.setdefault(field.name, {})[key] = shown
            return
    read = _value(field.type, value)
    if field.repeated:
        found.setdefault(field.name, []).append(read)
    elif read or field.kept:
        found[field.name] = read


def _value(kind: str, value: int | bytes) -> Json:
    match kind:
        case "string":
            return _text(value)
        case "int":
            number = _number(value)
            return number - (1 << 64) if number >= 1 << 63 else number
        case "bool":
            return bool(_number(value))
        case "intstr":
            parts = dict(_fields(_bytes(value)))
            return _text(parts.get(3, b"")) if parts.get(1) else _number(parts.get(2, 0))
        case "time":
            seconds = _number(dict(_fields(_bytes(value))).get(1, 0))
            return _moment(seconds) if seconds else None
        case _:
            return _message(kind, _bytes(value))


def _moment(seconds: int) -> str:
    try:
        return second_time(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        raise Unreadable("a time is out of range") from None


def _entry(raw: bytes) -> tuple[str, bytes]:
    parts = dict(_fields(raw))
    return _text(parts.get(1, b"")), _bytes(parts.get(2, b""))


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        raise Unreadable("a text is not UTF-8") from None


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise Unreadable("a number stands where a text or message was expected")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise Unreadable("a text or message stands where a number was expected")
    return value


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numbers and values of a message's fields, in the order in which they stand."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(raw, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(raw, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise Unreadable(f"wire type {wire} is not used by Kubernetes")
        if at + size > len(raw):
            raise Unreadable("the body ends in the middle of a field")
        yield number, raw[at : at + size]
        at += size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(raw[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise Unreadable("the body ends in the middle of a number")
