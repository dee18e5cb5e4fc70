"""Label selectors as people type them: ``app=web,tier in (a, b),!internal``."""

import re
from collections.abc import Iterable, Iterator

from isthmus.model.errors import Misused
from isthmus.model.quoting import one_line
from isthmus.model.selectors import Requirement, Selector
from isthmus.model.syntax import is_qualified_name

_WORD = r"[^\s=!(),]+"
_TERM = re.compile(
    rf"\s*(?:(?P<absent>!\s*{_WORD})"
    rf"|(?P<key>{_WORD})\s*(?:(?P<sign>==?|!=)\s*(?P<value>[^\s=!(),]*)"
    rf"|\s(?P<verb>in|notin)\s*\((?P<values>[^()]*)\))?)\s*(?:,|$)"
)


class BadSelector(Misused):
    """A text that selects nothing, because it is no selector."""


def selector(texts: Iterable[str]) -> Selector | None:
    """Return the selector for which all of ``texts`` hold; None if there are none."""
    requirements = [_requirement(found) for text in texts for found in _terms(text)]
    for one in requirements:
        if not is_qualified_name(one.key):
            raise BadSelector(
                f"{one_line(one.key, 120)!r} cannot be the key of a label, such as app or "
                "example.com/tier"
            )
    labels: dict[str, str] = {}
    others: list[Requirement] = []
    for one in requirements:
        if one.operator == "In" and len(one.values) == 1 and one.key not in labels:
            labels[one.key] = one.values[0]
        else:
            others.append(one)
    if not requirements:
        return None
    return Selector(match_labels=labels, match_expressions=tuple(others))


def _terms(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text) or at == 0:
        found = _TERM.match(text, at)
        if found is None or found.end() == at:
            raise BadSelector(
                f"{one_line(text, 120)!r} is not a selector, such as app=web or tier in (a, b)"
            )
        yield found
        at = found.end()


def _requirement(found: re.Match[str]) -> Requirement:
    if found["absent"]:
        return Requirement(key=found["absent"][1:].strip(), operator="DoesNotExist")
    key = found["key"]
    if found["sign"]:
        values: tuple[str, ...] = (found["value"],)
    elif found["verb"]:
        values = tuple(one.strip() for one in found["values"].split(","))
    else:
        return Requirement(key=key, operator="Exists")
    if found["sign"] == "!=" or found["verb"] == "notin":
        return Requirement(key=key, operator="NotIn", values=values)
    return Requirement(key=key, operator="In", values=values)
