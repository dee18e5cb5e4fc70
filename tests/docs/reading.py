"""What documents show: the commands to be typed, and the places that they lead to."""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^\s*```(\w*)$")
_SEPARATORS = set("|&;<>()")
_UNFINISHED = ("\\", "|", "&&")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")
_LOOP = re.compile(r"^(for|while) ")


class Typed(NamedTuple):
    """A command that is shown, and the line where it begins."""

    line: int
    words: tuple[str, ...]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def commands(text: str, program: str = "isthmus") -> list[Typed]:
    """Return every call of ``program`` in the ``console`` blocks of a document."""
    found = []
    for number, line in _typed_lines(text):
        found += [Typed(number, words) for words in calls(line, program)]
    return found


def calls(line: str, program: str = "isthmus") -> Iterator[tuple[str, ...]]:
    """Yield the arguments of each call of ``program`` in a line of shell."""
    words: list[str] = []
    for one in (*_words(line), ";"):
        if set(one) <= _SEPARATORS or one == "do":
            if words[:1] == [program]:
                yield tuple(words[1:])
            words = []
        else:
            words.append(one)


def _words(line: str) -> list[str]:
    found = shlex.shlex(line, posix=True, punctuation_chars="".join(sorted(_SEPARATORS)))
    found.whitespace_split = True
    return list(found)


def _typed_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield what stands behind each prompt, with the lines that it goes on in."""
    lines = blocks(text, "console")
    for number, line in lines:
        if line.startswith("$ "):
            yield number, _whole(line.removeprefix("$ "), lines)


def _whole(first: str, rest: Iterator[tuple[int, str]]) -> str:
    """Take as many lines of ``rest`` as the first one needs."""
    if end := _HEREDOC.search(first):
        for _, line in rest:
            if line.strip() == end[1]:
                return first[: end.start()]
    typed = first
    while (goes_on := typed.endswith(_UNFINISHED)) or _is_open(typed):
        _, line = next(rest)
        typed = typed.removesuffix("\\") + (" " if goes_on else "; ") + line.strip()
    return typed


def _is_open(typed: str) -> bool:
    """Whether a loop has begun and not ended."""
    return bool(_LOOP.match(typed)) and not typed.endswith("done")


def blocks(text: str, wanted: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of all blocks in a language, with their numbers."""
    language = None
    for number, line in enumerate(text.splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence:
            language = fence[1] if language is None else None
        elif language == wanted:
            yield number, line


def links(text: str) -> Iterable[str]:
    """Return where the links of a document lead, those in code apart."""
    prose, fenced = [], False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            prose.append(re.sub(r"`[^`]*`", "", line))
    return re.findall(r"\]\(([^)\s]+)\)", "\n".join(prose))


def anchors(text: str) -> set[str]:
    """Return the anchors that a document's headings have, as GitHub makes them."""
    headings = [line.lstrip("#") for line in text.splitlines() if re.match(r"#{1,6} ", line)]
    bare = [re.sub(r"\]\([^)]*\)|[^\w\- ]", "", one.strip()) for one in headings]
    return {one.lower().replace(" ", "-") for one in bare}
