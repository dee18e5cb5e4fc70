"""The index as documentation shows it; ``python -m tests.hostile.page`` writes it there."""

from collections.abc import Iterator
from pathlib import Path

from tests.hostile.index import PARTS
from tests.hostile.row import Part

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "hostile-inputs.md"
BEGIN = "<!-- written by `python -m tests.hostile.page`: -->"
END = "<!-- to here -->"


def tables() -> str:
    return "\n".join(line for part in PARTS for line in _table(part))


def written(text: str) -> str:
    """Return the page with the index as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def _table(part: Part) -> Iterator[str]:
    yield from ("", f"### {part.title}", "", "| input | tried on | tests |", "|---|---|---|")
    for row in part.rows:
        tests = "<br>".join(f"`{_shown(one)}`" for one in row.tests)
        note = f"<br>*{row.left_out}*" if row.left_out else ""
        yield f"| {row.name}{note} | {', '.join(row.layers)} | {tests} |"


def _shown(test: str) -> str:
    return test.replace(".py::test_", ": ")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
