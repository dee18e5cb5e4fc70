"""The part of kubectl's JSONPath that printer columns use.

``.spec.a``, ``['a.b']``, ``[0]``, ``[*]`` and ``[?(@.type=="Ready")]``, in any order.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from isthmus.model.wire import Json, JsonObject

Step: TypeAlias = Callable[[Json], Iterator[Json]]

_TOKEN = re.compile(
    r"""\.(?P<name>(?:[\w-]|\\\.|/)+)|\[(?P<index>-?\d+)\]|\[(?P<all>\*)\]|\.(?P<every>\*)"""
    r"""|\[(?P<quote>['"])(?P<key>.+?)(?P=quote)\]"""
    r"""|\[\?\(\s*@\.(?P<field>[\w.-]+)\s*(?P<sign>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[\w.-]+)\s*\)\]"""
)


class Unsupported(ValueError):
    """A path that is not of the kind printer columns may use."""


def compiled(path: str) -> Callable[[JsonObject], list[Json]]:
    """A function that finds everything at ``path``; raises Unsupported."""
    text = path.removeprefix("{").removesuffix("}")
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unsupported(path)
        steps.append(_step(match))
        at = match.end()
    if not text.startswith((".", "[")):
        raise Unsupported(path)
    return partial(_found, tuple(steps))


def _found(steps: tuple[Step, ...], obj: JsonObject) -> list[Json]:
    values: list[Json] = [obj]
    for step in steps:
        values = [inner for value in values for inner in step(value)]
    return values


def _step(match: re.Match[str]) -> Step:
    if match["name"] is not None:
        return partial(_member, match["name"].replace("\\.", "."))
    if match["key"] is not None:
        return partial(_member, match["key"])
    if match["index"] is not None:
        return partial(_element, int(match["index"]))
    if match["field"] is not None:
        wanted = _literal(match["value"])
        return partial(_filtered, match["field"].split("."), wanted, match["sign"] == "==")
    return _all


def _literal(text: str) -> Json:
    if text[0] in "'\"":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _member(name: str, value: Json) -> Iterator[Json]:
    if isinstance(value, dict) and name in value:
        yield value[name]


def _element(index: int, value: Json) -> Iterator[Json]:
    if isinstance(value, list) and -len(value) <= index < len(value):
        yield value[index]


def _all(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _filtered(way: list[str], wanted: Json, equal: bool, value: Json) -> Iterator[Json]:
    for item in value if isinstance(value, list) else []:
        inner = item
        for name in way:
            inner = inner.get(name) if isinstance(inner, dict) else None
        if inner is not None and (inner == wanted) is equal:
            yield item
