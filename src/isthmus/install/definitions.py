"""The CustomResourceDefinitions of our kinds, which ship with Isthmus wherever it is installed."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec
import yaml

import isthmus
from isthmus.model.wire import JsonObject


def definitions() -> Iterator[JsonObject]:
    """Yield the CustomResourceDefinitions of our kinds, whoever asks objects of their own."""
    yield from map(msgspec.json.decode, _read())


@cache  # YAML takes a hundred times as long to read as JSON
def _read() -> tuple[bytes, ...]:
    files = sorted(_folder().iterdir(), key=lambda each: each.name)
    texts = (one.read_text(encoding="utf-8") for one in files if one.name.endswith(".yaml"))
    return tuple(msgspec.json.encode(yaml.safe_load(text)) for text in texts)


def _folder() -> Traversable:
    """Return the folder inside the wheel, or that of the checkout we run from."""
    shipped = files("isthmus") / "manifests" / "crds"
    if shipped.is_dir():
        return shipped
    return Path(isthmus.__file__).parents[2] / "deploy" / "crds"
