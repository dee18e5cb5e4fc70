"""Writes tables for a terminal, and into the document between the marks that a run may change."""

from pathlib import Path

from bench.tables import Table

OPENING = "<!-- bench:{name} -->"
CLOSING = "<!-- /bench -->"


def replace_section(path: Path, name: str, text: str) -> None:
    """Put ``text`` between the marks of ``name``; everything around them was written by people."""
    before, opening, rest = path.read_text().partition(OPENING.format(name=name))
    _, closing, after = rest.partition(CLOSING)
    if not (opening and closing):
        raise ValueError(f"{path.name} has no section {name}")
    path.write_text(f"{before}{opening}\n{text}\n{closing}{after}")


def aligned(table: Table) -> str:
    """Return a table for a terminal."""
    lines = [table.columns, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    note = [table.note] if table.note else []
    return "\n".join([table.title, *note, *texts])


def piped(table: Table) -> str:
    """Return a table for the document."""
    rule = ["---", *("---:" for _ in table.columns[1:])]
    lines = [table.columns, rule, *table.rows]
    note = [table.note, ""] if table.note else []
    return "\n".join(
        [f"#### {table.title}", "", *note, *("| " + " | ".join(line) + " |" for line in lines)]
    )
