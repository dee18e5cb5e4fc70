"""Writes tables for a terminal, and into the document between the marks that a run may change."""

from collections.abc import Sequence
from pathlib import Path

from bench import tables
from bench.results import Results
from bench.tables import Table
from bench.verdicts import verdicts

OPENING = "<!-- bench:{name} -->"
CLOSING = "<!-- /bench -->"


def terminal(results: Results) -> str:
    """Return everything a run has found, aligned for a fixed-width font."""
    parts = [aligned(table) for table in _tables(results)]
    parts.append("\n".join(_remarks(results)))
    return "\n\n".join(parts) + "\n"


def markdown(results: Results) -> str:
    """Return the same for the document."""
    machine = results.machine
    rounds = max(map(len, results.listings.values()), default=0)
    peers = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    head = (
        f"Measured on {results.date}: {machine.cores} cores, {machine.memory_gb} GB, "
        f"Python {machine.python}, kube-apiserver {machine.kubernetes}, etcd {machine.etcd}; "
        f"median of {rounds} interleaved runs (lowest … highest). Peers: {peers}."
    )
    parts = [head, *(piped(table) for table in _tables(results))]
    parts.append("\n".join(f"- {remark}" for remark in _remarks(results)))
    return "\n\n".join(parts)


def replace_section(path: Path, name: str, text: str) -> None:
    """Put ``text`` between the marks of ``name``; everything around them was written by people."""
    before, opening, rest = path.read_text().partition(OPENING.format(name=name))
    _, closing, after = rest.partition(CLOSING)
    if not (opening and closing):
        raise ValueError(f"{path.name} has no section {name}")
    path.write_text(f"{before}{opening}\n{text}\n{closing}{after}")


def _tables(results: Results) -> Sequence[Table]:
    return tables.listings(results), tables.watches(results), tables.imports(results)


def _remarks(results: Results) -> list[str]:
    remarks = [str(verdict) for verdict in verdicts(results)]
    return remarks + [f"not measured: {name}: {why}" for name, why in results.missing.items()]


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
    return "\n".join([table.title, *texts])


def piped(table: Table) -> str:
    """Return a table for the document."""
    rule = ["---", *("---:" for _ in table.columns[1:])]
    lines = [table.columns, rule, *table.rows]
    return "\n".join(
        [f"### {table.title}", "", *("| " + " | ".join(line) + " |" for line in lines)]
    )
