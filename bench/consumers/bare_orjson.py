"""The floor with the fastest decoder into dictionaries: what leaving objects untyped costs."""

from collections.abc import Callable, Sequence, Sized

import orjson

from bench.consumers import bare
from bench.target import Target


def _items(body: bytes) -> list[object]:
    found: list[object] = orjson.loads(body)["items"]
    return found


DECODERS = bare.Decoders(services=_items, slices=_items, event=orjson.loads)


def listing(target: Target, _variant: str) -> Sequence[Sized]:
    return bare.listing(target, DECODERS)


def watching(target: Target, seen: Callable[[], bool]) -> None:
    bare.watching(target, DECODERS, seen)
