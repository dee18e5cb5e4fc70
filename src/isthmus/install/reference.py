"""Everything that can be chosen, written down for others: the chart's values, and their schema."""

from collections.abc import Iterator
from textwrap import wrap

import msgspec
import yaml

from isthmus.install import keys
from isthmus.install.values import Values
from isthmus.model.wire import Json, JsonObject

_WIDTH = 100
_HEAD = """\
# Everything that can be chosen. `isthmus install --keys` shows the same, and takes the same keys.
"""


def values_yaml() -> str:
    """The default of every key, with its description above it."""
    return _HEAD + "".join(f"{line}\n" for line in _lines())


def schema() -> JsonObject:
    """What the values are held to, as JSON Schema. ``global`` is what Helm gives to every chart."""
    _, definitions = msgspec.json.schema_components([Values], ref_template="#/definitions/{name}")
    whole = definitions.pop("Values")
    whole["properties"]["global"] = {"type": "object"}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **whole,
        "definitions": definitions,
    }


def _lines() -> Iterator[str]:
    before: list[str] = []
    for one in keys.entries(Values):
        *groups, name = one.path.split(".")
        for depth, group in enumerate(groups):
            if before[: depth + 1] != groups[: depth + 1]:
                if not depth:
                    yield ""
                yield f"{'  ' * depth}{group}:"
        before = groups
        margin = "  " * len(groups)
        yield from wrap(
            one.text, _WIDTH, initial_indent=f"{margin}# ", subsequent_indent=f"{margin}# "
        )
        yield f"{margin}{name}: {_written(one.plain_default)}"


def _written(value: Json) -> str:
    """A value in one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, width=_WIDTH * 10)
    return text.removesuffix("\n").removesuffix("...").strip()
