"""What one part has to show: a head, tables, verdicts, curves of growth, and drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench import document
from bench.growth import Growth
from bench.plots import Plot
from bench.results import Machine
from bench.tables import Table
from bench.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that follows from one section of what was recorded."""

    head: str
    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    growths: tuple[Growth, ...] = ()
    plots: Mapping[str, Plot] = field(default_factory=dict)  # by the names of their files

    @property
    def remarks(self) -> list[str]:
        judged = [str(verdict) for verdict in self.verdicts]
        return judged + [f"not measured: {what}: {why}" for what, why in self.missing.items()]


def terminal(report: Report) -> str:
    """Return it aligned for a fixed-width font."""
    parts = [report.head, *map(document.aligned, report.tables), "\n".join(report.remarks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(report: Report, drawn: Sequence[str] = ()) -> str:
    """Return the same for the document, with the drawings of these names."""
    parts = [report.head, *map(document.piped, report.tables)]
    parts += [f"![{report.plots[name].title}](performance/{name}.svg)" for name in drawn]
    parts.append("\n".join(f"- {remark}" for remark in report.remarks))
    return "\n\n".join(part for part in parts if part)


def machines(found: Sequence[Machine]) -> str:
    """Say on what kind of machine it was, or on which kinds."""
    return " and ".join(dict.fromkeys(map(machine, found)))


def machine(found: Machine) -> str:
    said = [f"{found.cores} cores", f"{found.memory_gb} GB", f"Python {found.python}"]
    if found.kubernetes:
        said += [f"kube-apiserver {found.kubernetes}", f"etcd {found.etcd}"]
    return ", ".join(said)


def days(dates: Sequence[str]) -> str:
    """Say when, if it was at more than one time."""
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} … {last}"


def loads(figures: Sequence[float]) -> str:
    low, high = f"{min(figures):.1f}", f"{max(figures):.1f}"
    return f"load average {low if low == high else f'{low} … {high}'}"
