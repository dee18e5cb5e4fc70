"""Half of a round, kept until there is time for the other: ten thousand take a while."""

from pathlib import Path

import msgspec

from bench.mirroring.figures import Sync
from bench.mirroring.floor import Post
from bench.trial import Failed
from lab.versions import cache


class Half(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller has taken, and what it has written."""

    ours: Sync
    empty: Sync
    load: float
    groups: tuple[tuple[Post, ...], ...]


def write(count: int, half: Half) -> None:
    path = _path(count)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(half))


def read(count: int) -> Half:
    path = _path(count)
    if not path.exists():
        raise Failed(f"of {count:,} there is no first half yet: --side ours comes first")
    return msgspec.json.decode(path.read_bytes(), type=Half)


def _path(count: int) -> Path:
    return cache() / "bench" / f"half-of-{count}.json"
