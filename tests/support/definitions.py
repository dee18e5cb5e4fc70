"""The definitions of our own kinds, as they are shipped."""

from functools import cache
from pathlib import Path

import yaml

from isthmus.model.wire import JsonObject

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
PLURALS = tuple(sorted(path.stem for path in CRDS.glob("*.yaml")))


@cache  # hundreds of tests furnish a cluster with them
def definition(plural: str) -> JsonObject:
    found: JsonObject = yaml.safe_load((CRDS / f"{plural}.yaml").read_text())
    return found


def schema(plural: str) -> JsonObject:
    """What the newest version of a kind says about its objects."""
    found: JsonObject = definition(plural)["spec"]["versions"][-1]["schema"]["openAPIV3Schema"]
    return found
