"""Turns results into text: for people, for scripts, with and without colour."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TextIO

import msgspec
import yaml

from isthmus.cli.checking.checks import Check, failed
from isthmus.model.quoting import one_line
from isthmus.model.wire import Json, JsonObject

_MARKS = {
    "ok": ("√", "32"),
    "warning": ("‼", "33"),
    "error": ("×", "31"),  # noqa: RUF001  # the sign that all checks of this family use
}
LONGEST_CELL = 200  # characters
LONGEST_DETAIL = 2000  # characters; two certificates side by side take half of it
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


def checks(found: Sequence[Check], output: str, style: Style) -> str:
    """The results of ``isthmus check``."""
    if output in ("json", "yaml"):
        return document(_as_document(found), output)
    if output == "short":
        lines = [line for check in found if check.outcome != "ok" for line in _lines(check, style)]
    else:
        lines = []
        for group, members in groupby(found, key=lambda check: check.group):
            title = one_line(group, LONGEST_CELL)
            lines += [style.bold(title), "-" * len(title)]
            lines += [line for check in members for line in _lines(check, style)]
            lines.append("")
    lines.append(f"Status check results are {_mark('error' if failed(found) else 'ok', style)}")
    return "\n".join(lines) + "\n"


def _as_document(found: Sequence[Check]) -> JsonObject:
    shown = [{key: value for key, value in asdict(check).items() if value} for check in found]
    return {"success": not failed(found), "checks": shown}


def _mark(outcome: str, style: Style) -> str:
    sign, code = _MARKS[outcome]
    return style.paint(code, sign)


def _lines(check: Check, style: Style) -> list[str]:
    # What a server says of itself must not reach the terminal as it is; names and hints quote it.
    name, detail, hint = (
        one_line(text, LONGEST_DETAIL) for text in (check.name, check.detail, check.hint)
    )
    said = f"{_mark(check.outcome, style)} {name}"
    if check.outcome == "ok":
        return [f"{said} {style.faint(f'({detail})')}" if detail else said]
    lines = [said, f"    {detail}"]
    return [*lines, f"    hint: {hint}"] if hint else lines


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
