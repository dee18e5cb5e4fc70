"""Decoding of built-in kinds, as the API server's own types decode them.

``shapes.txt`` lists the fields of every type (from the public Go types of Kubernetes 1.36): a
line is a type, a field is ``name:shape``, where ``*`` marks a pointer, ``[]`` a list, ``{}`` an
object with free keys, and ``!`` a field that is written even when it is empty. Decoding drops
unknown and empty fields, refuses wrong types, and so gives every object its one stored form.
"""

import base64
import binascii
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from isthmus.embedded.kinds.quantities import canonical
from isthmus.model.wire import Json, JsonObject

_RANGES: Final = {"int32": 2**31, "int64": 2**63}
_JSON_NAMES: Final = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}
_EMPTY: Final[dict[str, Json]] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "float64": 0,
    "IntOrString": 0,
    "Quantity": "0",
    "bytes": "",
}
_TOP: Final = frozenset({"apiVersion", "kind"})
_SCHEMA: Final = "crd.JSONSchemaProps"
_OR: Final = {"SchemaOrBool": bool, "SchemaOrList": list}
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")


class Misshapen(ValueError):
    """A value that does not fit its field; the text is the decoder's sentence."""


class Mistyped(Misshapen):
    """A value of another JSON type than its field's."""


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    shape: str
    always: bool


@dataclass(slots=True)
class _Decoder:
    unknown: list[str] = field(default_factory=list)

    def struct(self, shape: str, value: Json, at: "_Place") -> JsonObject:
        if not isinstance(value, dict):
            raise at.mismatch(value, shape)
        known = _names(shape)
        top = _TOP if not at.path else ()
        self.unknown += [at.inside(name) for name in value if name not in known and name not in top]
        done = {
            name: self.value("string", value[name], at.member(shape, name))
            for name in ("kind", "apiVersion")
            if name in value and top
        }
        for one in _types()[shape]:
            given = value.get(one.name)
            if given is None and not one.always:
                continue
            if one.shape == "string" and type(given) is str:
                result: Json = given  # most are, and need no place for a sentence
            else:
                result = self.value(one.shape, given, at.member(shape, one.name))
            if one.always or not _is_empty(one.shape, result):
                done[one.name] = result
        return done

    def value(self, shape: str, value: Json, at: "_Place") -> Json:
        if shape.startswith("*"):
            return None if value is None else self.value(shape[1:], value, at)
        if shape.startswith("[]"):
            return self.items(shape, value, at)
        if shape.startswith("{}"):
            return self.entries(shape, value, at)
        if shape in _types():
            return self.struct(shape, {} if value is None else value, at)
        if shape in _OR:
            # Whether anything but a schema makes sense here is judged later.
            return value if isinstance(value, _OR[shape]) else self.value(_SCHEMA, value, at)
        return _leaf(shape, value, at)

    def items(self, shape: str, value: Json, at: "_Place") -> Json:
        if value is None or value == []:
            return None
        if not isinstance(value, list):
            raise at.mismatch(value, shape)
        return [self.value(shape[2:], item, at.item(index)) for index, item in enumerate(value)]

    def entries(self, shape: str, value: Json, at: "_Place") -> Json:
        if value is None or value == {}:
            return None
        if not isinstance(value, dict):
            raise at.mismatch(value, shape)
        if shape == "{}string" and all(type(item) is str for item in value.values()):
            return dict(value)
        return {name: self.value(shape[2:], item, at) for name, item in value.items()}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the decoder is: the type and field for its sentences, the path for strictness."""

    owner: str = ""
    fields: str = ""  # without indices, as Go's decoder writes it
    path: str = ""

    def member(self, owner: str, name: str) -> "_Place":
        fields = f"{self.fields}.{name}" if self.fields else name
        return _Place(owner.rpartition(".")[2], fields, self.inside(name))

    def item(self, index: int) -> "_Place":
        return _Place(self.owner, self.fields, f"{self.path}[{index}]")

    def inside(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def mismatch(self, value: Json, shape: str, detail: str = "") -> Misshapen:
        found = _JSON_NAMES.get(type(value), "object") + detail
        target = f"Go struct field {self.owner}.{self.fields}" if self.owner else "Go value"
        text = f"json: cannot unmarshal {found} into {target} of type {_go(shape)}"
        return Misshapen(text) if detail else Mistyped(text)


def decoded(shape: str, value: JsonObject) -> JsonObject:
    """The stored form of ``value``; raises Misshapen."""
    return _Decoder().struct(shape, value, _Place())


def unknown(shape: str, value: JsonObject) -> list[str]:
    """The paths in ``value`` that its type does not have; none if it cannot be decoded."""
    decoder = _Decoder()
    try:
        decoder.struct(shape, value, _Place())
    except Misshapen:
        return []
    return decoder.unknown


def fields(shape: str) -> tuple[Field, ...]:
    """The fields of a type; none if it has no fields."""
    return _types().get(shape, ())


def zero(shape: str) -> JsonObject:
    """What the type looks like when nothing is set."""
    return decoded(shape, {})


@cache
def _types() -> dict[str, tuple[Field, ...]]:
    text = files("isthmus.embedded.kinds").joinpath("shapes.txt").read_text(encoding="utf-8")
    return {
        name: tuple(map(_field, fields))
        for name, *fields in (line.split() for line in text.splitlines())
    }


@cache
def _names(shape: str) -> frozenset[str]:
    return frozenset(one.name for one in _types()[shape])


def _field(text: str) -> Field:
    name, _, shape = text.partition(":")
    return Field(name, shape.removesuffix("!"), shape.endswith("!"))


def _is_empty(shape: str, value: Json) -> bool:
    return value is None or (not shape.startswith("*") and value in ("", 0, False))


def _go(shape: str) -> str:
    """A shape in Go's words."""
    if shape.startswith("*"):
        return _go(shape[1:])
    if shape.startswith("[]"):
        return f"[]{_go(shape[2:])}"
    if shape.startswith("{}"):
        return f"map[string]{_go(shape[2:])}"
    return f"v1.{shape.rpartition('.')[2]}" if shape in _types() else shape


def _leaf(shape: str, value: Json, at: _Place) -> Json:
    if value is None:
        return _EMPTY.get(shape)
    match shape:
        case "any":
            return value
        case "string" if isinstance(value, str):
            return value
        case "bool" if isinstance(value, bool):
            return value
        case "int32" | "int64" if isinstance(value, int) and not isinstance(value, bool):
            if -_RANGES[shape] <= value < _RANGES[shape]:
                return value
            raise at.mismatch(value, shape, f" {value}")
        case "int32" | "int64" if isinstance(value, float):
            raise at.mismatch(value, shape, f" {value}")
        case "float64" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        case "IntOrString" if isinstance(value, str):
            return value
        case "IntOrString":
            return _leaf("int32", value, at)
        case "Quantity" if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            try:
                return canonical(str(value))
            except ValueError as error:
                raise Misshapen(str(error)) from error
        case "bytes" if isinstance(value, str):
            return _bytes(value)
        case "Time" | "MicroTime" if isinstance(value, str):
            return _time(value, micro=shape == "MicroTime")
    raise at.mismatch(value, {"bytes": "[]uint8"}.get(shape, shape))


def _bytes(value: str) -> str:
    try:
        return base64.b64encode(base64.b64decode(value, validate=True)).decode()
    except binascii.Error as error:
        match = re.match(r"[A-Za-z0-9+/]*", value)
        at = match.end() if match else 0
        raise Misshapen(f"illegal base64 data at input byte {at // 4 * 4}") from error


@lru_cache(maxsize=4096)  # an object's times are decoded again at each of its changes
def _time(value: str, *, micro: bool) -> str:
    layout = "2006-01-02T15:04:05.000000Z07:00" if micro else "2006-01-02T15:04:05Z07:00"
    match = _TIME.fullmatch(value)
    wrong = f'parsing time "{value}" as "{layout}": cannot parse'
    if match is None:
        raise Misshapen(f'{wrong} "{value}" as "2006"')
    if micro and len(match[2] or "") != 7:
        rest = value[len(match[1]) :]
        raise Misshapen(f'{wrong} "{rest}" as ".000000"')
    try:
        moment = datetime.fromisoformat(match[1] + match[3]).astimezone(UTC)
    except ValueError as error:
        raise Misshapen(f'{wrong} "{value}" as "2006"') from error
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (match[2] if micro else "") + "Z"
