"""All that was ever recorded, in one file: each part has a section, and is replaced alone."""

from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def read(path: Path, name: str, shape: type[T]) -> T | None:
    """Return one section; None if it was not recorded."""
    found = _sections(path).get(name)
    return None if found is None else msgspec.json.decode(found, type=shape)


def write(path: Path, name: str, section: msgspec.Struct) -> None:
    """Put one section in the place of the former one; all others stay as they are."""
    sections = _sections(path) | {name: msgspec.Raw(msgspec.json.encode(section))}
    whole = msgspec.json.encode(dict(sorted(sections.items())))
    path.parent.mkdir(exist_ok=True)
    waiting = path.with_suffix(".new")  # whoever is interrupted here loses nothing
    waiting.write_bytes(msgspec.json.format(whole, indent=1) + b"\n")
    waiting.replace(path)


def _sections(path: Path) -> dict[str, msgspec.Raw]:
    if not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[str, msgspec.Raw])
