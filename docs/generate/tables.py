"""Markdown, as far as a reference needs it. Pure."""

from collections.abc import Iterable, Sequence

NOTE = "<!-- Written by `make docs` from the code; edit that, not this file. -->"


def page(title: str, *parts: str) -> str:
    """Return a whole file."""
    return "\n\n".join((f"# {title}", NOTE, *(one for one in parts if one))) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; columns in which no row says anything are left out, none of them: nothing."""
    lines = list(rows)
    kept = [place for place in range(len(head)) if any(one[place] for one in lines)]
    if not kept:
        return ""
    picked = [[one[place] for place in kept] for one in ([*head], ["---"] * len(head), *lines)]
    return "\n".join(f"| {' | '.join(map(_cell, one))} |" for one in picked)


def code(text: str) -> str:
    """Return a word as it is typed; nothing if there is none."""
    return f"`{text}`" if text else ""


def block(text: str, language: str = "") -> str:
    return f"```{language}\n{text}\n```"


def _cell(text: str) -> str:
    # A bar ends a cell, be it in code or not.
    return " ".join(text.split()).replace("|", "\\|")
