"""The keys that a structure of values has, each with its type, default and description."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta

from isthmus.model.wire import Json

_WORDS = {str: "a text", int: "a whole number", bool: "true or false"}
_MAPS = (dict, Mapping)


class Entry(NamedTuple):
    """One key. ``type`` is what its value must be, without what only describes it."""

    path: str
    type: Json
    default: Json
    text: str

    @property
    def is_map(self) -> bool:
        return _is_map(self.type)

    @property
    def is_list(self) -> bool:
        return _origin(self.type) is tuple

    @property
    def plain_default(self) -> Json:
        return msgspec.to_builtins(self.default)

    @property
    def shown_default(self) -> str:
        """The default as it would be written."""
        return msgspec.json.encode(self.default).decode()

    @property
    def takes(self) -> str:
        """What can stand there, in words."""
        return _words(self.type)


@cache
def entries(kind: type[msgspec.Struct]) -> tuple[Entry, ...]:
    """Return every key of ``kind`` in the order in which they are written."""
    return tuple(_entries(kind, ""))


def _entries(kind: type[msgspec.Struct], prefix: str) -> Iterator[Entry]:
    for one in msgspec.structs.fields(kind):
        path = f"{prefix}{one.encode_name}"
        bare, text = _described(one.type)
        if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
            yield from _entries(bare, f"{path}.")
        else:
            made = one.default_factory
            default = one.default if made is NODEFAULT else made()
            yield Entry(path, bare, default, text)


def found(kind: type[msgspec.Struct], path: str) -> Entry | None:
    """Return the key that ``path`` names, or of which it names a part: annotations have keys of
    their own, with dots in them."""
    for one in entries(kind):
        if path == one.path or (one.is_map and path.startswith(f"{one.path}.")):
            return one
    return None


def nearest(kind: type[msgspec.Struct], path: str) -> tuple[str, ...]:
    """Return the known keys that ``path`` was most likely meant to be; none if none is like it."""
    known = [one.path for one in entries(kind)]
    last = path.rpartition(".")[2]
    if same := [one for one in known if one.rpartition(".")[2] == last]:
        return tuple(same)
    groups = sorted({one.rpartition(".")[0] for one in known} - {""})
    return tuple(get_close_matches(path, [*known, *groups], n=1))


def _described(found: Json) -> tuple[Json, str]:
    """Return a type without, and the text of, its description."""
    if _origin(found) is not Annotated:
        return found, ""
    bare, *notes = get_args(found)
    texts = [one.description for one in notes if isinstance(one, Meta) and one.description]
    limits = [one for one in notes if isinstance(one, Meta) and one.ge is not None]
    inner, text = _described(bare)
    return (Annotated[inner, limits[0]] if limits else inner), next(iter(texts), text)


def _origin(found: Json) -> Json:
    return get_origin(found)  # typeshed knows of no answer that could be compared


def _is_map(found: Json) -> bool:
    return isinstance(origin := _origin(found), type) and issubclass(origin, _MAPS)


def _words(found: Json) -> str:
    origin = _origin(found)
    if origin is Annotated:
        bare, limits = get_args(found)[:2]
        until = "" if limits.le is None else f" to {limits.le}"
        return f"{_words(bare)} from {limits.ge}{until}"
    if origin is Literal:
        return f"one of {', '.join(get_args(found))}"
    if origin in (Union, UnionType):
        given = [_words(one) for one in get_args(found) if one is not type(None)]
        return " or ".join([*given, *(["null"] if type(None) in get_args(found) else [])])
    if origin is tuple:
        return "a list of texts" if get_args(found)[0] is str else "a list"
    if _is_map(found):
        return "keys with texts"
    return _WORDS.get(found, "something else")
