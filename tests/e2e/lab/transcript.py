"""Reads what a page lets its readers type and see, and writes what was really seen."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# What differs from run to run, and what stands for it in a comparison.
MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "<day>"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b"), "<address>"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"-[a-z0-9]{8,10}-[a-z0-9]{5}(?![a-z0-9])"), "-<pod>"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "<key>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|µs|us)\b"), "<while>"),
    (re.compile(r"\b\d+(\.\d+)?[KMG]?i?B\b"), "<bytes>"),
    (re.compile(r"\b\d+(\.\d+)?(s|m|h|d)(\d+(s|m|h))?(?=\s|$|,|\))"), "<age>"),
    (re.compile(r" {2,}"), " "),  # columns are as wide as what is in them
    (re.compile(r"pod \"[\w-]+\" deleted.*"), ""),  # what kubectl says of a pod that was to go
)


@dataclass(frozen=True, slots=True)
class Step:
    """Something typed, and what the page says is seen then; often it says nothing."""

    section: str
    command: str
    shown: tuple[str, ...]


def steps(page: str) -> Iterator[Step]:
    """All commands of a page's ``console`` blocks, in order."""
    section = ""
    for part in re.split(r"^(## [^\n]*|```console\n.*?^```)$", page, flags=re.M | re.S):
        if part.startswith("## "):
            section = part.removeprefix("## ")
        elif part.startswith("```console"):
            yield from _typed(section, part.splitlines()[1:-1])


def _typed(section: str, lines: Sequence[str]) -> Iterator[Step]:
    command: list[str] = []
    shown: list[str] = []
    for line in lines:
        if command and _goes_on(command):
            command.append(line)
        elif line.startswith("$ "):
            if command:
                yield Step(section, "\n".join(command), tuple(shown))
            command, shown = [line.removeprefix("$ ")], []
        else:
            shown.append(line)
    yield Step(section, "\n".join(command), tuple(shown))


def _goes_on(command: Sequence[str]) -> bool:
    """Whether the next line still belongs to what is typed: a here-document, or a loop."""
    document = re.search(r"<<'?(\w+)'?", command[0])
    if document:
        return command[-1] != document[1]
    return command[-1].endswith("\\") or (
        command[0].endswith("do") and command[-1].strip() != "done"
    )


def masked(text: str) -> list[str]:
    """Lines without what differs from run to run."""
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def agrees(shown: Sequence[str], seen: str) -> bool:
    """Whether what was seen is what the page shows.

    A page that leaves something out says so by a "…": then what it shows has to be there, in that
    order.
    """
    if not shown:
        return True
    promised = [line for line in masked("\n".join(shown)) if line != "…"]
    there = masked(seen)
    if "…" not in shown:
        return promised == there
    rest = iter(there)
    return all(line in rest for line in promised)
