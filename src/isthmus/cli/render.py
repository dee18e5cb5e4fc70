"""Turns results into text: for people, for scripts, with and without colour."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

import msgspec
import yaml

from isthmus.model.quoting import one_line
from isthmus.model.wire import Json, JsonObject

LONGEST_CELL = 200  # characters
_GAP = 3  # spaces between the columns of kubectl's tables


@dataclass(frozen=True, slots=True)
class Style:
    """How text may be marked; without colour every mark is the text itself."""

    colour: bool = False

    def paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def bold(self, text: str) -> str:
        return self.paint("1", text)

    def faint(self, text: str) -> str:
        return self.paint("2", text)


def style(stream: TextIO) -> Style:
    """Colour only where a person looks at it and has not declined (https://no-color.org)."""
    declined = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Style(stream.isatty() and not declined)


def document(value: Json, output: str) -> str:
    """``value`` as JSON or YAML, with a newline at its end."""
    if output == "json":
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)


def manifests(objects: Sequence[JsonObject], output: str) -> str:
    """Objects as kubectl reads them: one after another, or a list if JSON has to hold many."""
    if output == "yaml":
        return yaml.safe_dump_all(
            objects, sort_keys=False, allow_unicode=True, explicit_start=len(objects) > 1
        )
    if len(objects) == 1:
        return document(objects[0], output)
    return document({"apiVersion": "v1", "kind": "List", "items": list(objects)}, output)


def table(answer: JsonObject) -> str:
    """A Table of the API, laid out as kubectl does it."""
    shown = [
        index
        for index, column in enumerate(answer["columnDefinitions"])
        if column.get("priority", 0) == 0
    ]
    head = [answer["columnDefinitions"][index]["name"] for index in shown]
    cells = [[_cell(row["cells"][index]) for index in shown] for row in answer["rows"] or ()]
    return _laid_out(head, cells)


def rows(head: Sequence[str], rows: Iterable[Sequence[Json]]) -> str:
    """A table of our own, laid out as kubectl does it; an empty cell is a dash."""
    # What another cluster says of itself must not reach the terminal as it is.
    cells = ([one_line(_cell(cell), LONGEST_CELL) or "-" for cell in row] for row in rows)
    return _laid_out(head, cells)


def _laid_out(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [[name.upper() for name in head], *rows]
    widths = [max(map(len, column)) + _GAP for column in zip(*lines, strict=True)]
    padded = (
        "".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def _cell(value: Json) -> str:
    return "" if value is None else str(value)
