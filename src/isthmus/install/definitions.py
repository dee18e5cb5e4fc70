"""The CustomResourceDefinitions of our kinds, which ship with Isthmus wherever it is installed."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import yaml

import isthmus
from isthmus.model.wire import JsonObject


def definitions() -> Iterator[JsonObject]:
    """Yield the CustomResourceDefinitions of our kinds."""
    for file in sorted(_folder().iterdir(), key=lambda each: each.name):
        if file.name.endswith(".yaml"):
            yield yaml.safe_load(file.read_text(encoding="utf-8"))


def _folder() -> Traversable:
    """Return the folder inside the wheel, or that of the checkout we run from."""
    shipped = files("isthmus") / "manifests" / "crds"
    if shipped.is_dir():
        return shipped
    return Path(isthmus.__file__).parents[2] / "deploy" / "crds"
