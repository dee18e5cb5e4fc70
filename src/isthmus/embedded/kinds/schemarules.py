"""Judging a value by its structural schema, in the sentences of the real server.

``x-kubernetes-validations`` (CEL rules) are stored with the schema and not evaluated here: the
embedded server accepts what only such a rule would refuse.
"""

import base64
import binascii
import ipaddress
import json
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Final
from urllib.parse import urlsplit

from isthmus.embedded.kinds import formats, patterns
from isthmus.embedded.kinds.causes import (
    duplicate,
    invalid,
    mistyped,
    required,
    too_long,
    too_many,
    unsupported,
)
from isthmus.embedded.kinds.schema import EMBEDDED, INT_OR_STRING, LIST_TYPE, MAP_KEYS
from isthmus.embedded.status import Cause
from isthmus.model.wire import Json, JsonObject

_DURATION = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h|d|w)")
_NOWHERE = "<nil>"  # how the real server names the place of errors about whole values


def judged(schema: JsonObject, value: Json, path: str = "") -> Iterator[Cause]:
    """What is wrong with ``value`` at ``path``."""
    allowed = _types(schema)
    found = _type(value)
    if value is None and (schema.get("nullable") or not allowed):
        return
    if allowed and not _fits(found, allowed):
        text = f'{path} in body must be of type {",".join(allowed)}: "{found}"'
        yield mistyped(path, found, text)
        if found == "number" and allowed == ("integer",):
            text = f"Checked value must be of type integer (default format) in {path}"
            yield invalid(_NOWHERE, "", text)
        return
    yield from _enumerated(schema, value, path)
    match value:
        case bool():
            pass
        case int() | float():
            yield from _number(schema, value, path)
        case str():
            yield from _string(schema, value, path)
        case list():
            yield from _list(schema, value, path)
        case dict():
            yield from _object(schema, value, path)
    yield from _combined(schema, value, path)


def _types(schema: JsonObject) -> tuple[str, ...]:
    if schema.get(INT_OR_STRING):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _type(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _fits(found: str, allowed: tuple[str, ...]) -> bool:
    return found in allowed or (found == "integer" and "number" in allowed)


def _enumerated(schema: JsonObject, value: Json, path: str) -> Iterator[Cause]:
    options = schema.get("enum")
    if options and value not in options:
        yield unsupported(
            path, value, (one if isinstance(one, str) else _shown(one) for one in options)
        )


def _shown(number: Json) -> str:
    return json.dumps(number)


def _number(schema: JsonObject, value: float, path: str) -> Iterator[Cause]:
    form = schema.get("format")
    limit = {"int32": 2**31, "int64": 2**63}.get(form or "")
    if limit and not -limit <= value < limit:
        text = f"Checked value must be of type integer with format {form} in {path}"
        yield invalid(_NOWHERE, "", text)
    step = schema.get("multipleOf")
    if step and (value / step) % 1:
        yield invalid(path, value, f"{path} in body should be a multiple of {_shown(step)}")
    most, least = schema.get("maximum"), schema.get("minimum")
    if most is not None and (value > most or (value == most and schema.get("exclusiveMaximum"))):
        bound = "less than" if schema.get("exclusiveMaximum") else "less than or equal to"
        yield invalid(path, value, f"{path} in body should be {bound} {_shown(most)}")
    if least is not None and (value < least or (value == least and schema.get("exclusiveMinimum"))):
        bound = "greater than" if schema.get("exclusiveMinimum") else "greater than or equal to"
        yield invalid(path, value, f"{path} in body should be {bound} {_shown(least)}")


def _string(schema: JsonObject, value: str, path: str) -> Iterator[Cause]:
    most, least, pattern = (schema.get(key) for key in ("maxLength", "minLength", "pattern"))
    if most is not None and len(value) > most:
        yield too_long(path, most)
    elif least is not None and len(value) < least:
        yield invalid(path, value, f"{path} in body should be at least {least} chars long")
    elif pattern and not _has(pattern, value):
        yield invalid(path, value, f"{path} in body should match '{pattern}'")
    form = schema.get("format")
    if form in FORMATS and not FORMATS[form](value):
        yield mistyped(path, value, f'{path} in body must be of type {form}: "{value}"')


def _list(schema: JsonObject, value: list[Json], path: str) -> Iterator[Cause]:
    most, least = schema.get("maxItems"), schema.get("minItems")
    if most is not None and len(value) > most:
        yield too_many(path, len(value), most)
    if least is not None and len(value) < least:
        yield invalid(path, len(value), f"{path} in body should have at least {least} items")
    items = schema.get("items")
    if isinstance(items, dict):
        for index, item in enumerate(value):
            yield from judged(items, item, f"{path}[{index}]")
    match schema.get(LIST_TYPE):
        case "set":
            seen = value
        case "map":
            keys = schema.get(MAP_KEYS) or []
            maps = [item if isinstance(item, dict) else {} for item in value]
            seen = [{key: item[key] for key in keys if key in item} for item in maps]
        case _:
            return
    for index, item in enumerate(seen):
        if item and item in seen[:index]:
            yield duplicate(f"{path}[{index}]", item)


def _object(schema: JsonObject, value: JsonObject, path: str) -> Iterator[Cause]:
    most, least = schema.get("maxProperties"), schema.get("minProperties")
    if most is not None and len(value) > most:
        yield too_many(path, len(value), most)
    if least is not None and len(value) < least:
        yield invalid(path, len(value), f"{path} in body should have at least {least} properties")
    needed = [
        *(schema.get("required") or []),
        *(("apiVersion", "kind") if schema.get(EMBEDDED) else ()),
    ]
    properties = schema.get("properties") or {}
    extra = schema.get("additionalProperties")
    for name, member in value.items():
        known = properties.get(name, extra)
        if isinstance(known, dict):
            yield from judged(known, member, _inside(path, name))
    for name in needed:
        if name not in value:
            yield required(_inside(path, name))


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _combined(schema: JsonObject, value: Json, path: str) -> Iterator[Cause]:
    every = [list(judged(one, value, path)) for one in schema.get("allOf") or []]
    if any(every):
        yield from (cause for causes in every for cause in causes)
        yield invalid(_NOWHERE, "", f'"{path}" must validate all the schemas (allOf)')
    some = [list(judged(one, value, path)) for one in schema.get("anyOf") or []]
    if some and all(some):
        yield invalid(_NOWHERE, "", f'"{path}" must validate at least one schema (anyOf)')
        yield from some[0]
    one_of = [list(judged(one, value, path)) for one in schema.get("oneOf") or []]
    valid = one_of.count([])
    if one_of and valid != 1:
        count = f"{valid} valid alternatives" if valid else "none valid"
        text = f'"{path}" must validate one and only one schema (oneOf). Found {count}'
        yield invalid(_NOWHERE, "", text)
        if not valid:
            yield from one_of[0]
    if "not" in schema and not list(judged(schema["not"], value, path)):
        yield invalid(_NOWHERE, "", f'"{path}" must not validate the schema (not)')


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def holds(value: str) -> bool:
        try:
            parse(value)
        except (ValueError, binascii.Error):
            return False
        return True

    return holds


def _is_moment(value: str) -> bool:
    shaped = re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", value)
    return bool(shaped) and _parses(datetime.fromisoformat)(value.upper())


def _is_duration(value: str) -> bool:
    return bool(value) and (value == "0" or not _DURATION.sub("", value.replace(" ", "")))


def _is_uri(value: str) -> bool:
    return not re.search(r"\s", value) and bool(urlsplit(value).scheme or value.startswith("/"))


def _has(pattern: str, value: str) -> bool:
    try:
        return patterns.compiled(pattern).is_in(value)
    except patterns.TooMuchWork:
        return False


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda value: re.fullmatch(pattern, value) is not None


_HEX = "[0-9a-fA-F]"
FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "byte": _parses(lambda value: base64.b64decode(value, validate=True)),
    "cidr": lambda value: not formats.cidr(value),
    "date": _parses(date.fromisoformat),
    "date-time": _is_moment,
    "duration": _is_duration,
    "email": _matches(r"[^@\s]+@[^@\s]+"),
    "hostname": _matches(r"(?i)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.?"),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "uri": _is_uri,
    "uuid": _matches(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
}
