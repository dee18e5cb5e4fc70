"""Label selectors: the grammar of ``a=b,c in (d,e),!f``, with the real parser's complaints."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isthmus.embedded.kinds import causes, formats
from isthmus.embedded.kinds.refusals import bad_request
from isthmus.embedded.status import Cause

Requirement = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")
_SYMBOLS = frozenset(("", "==", "!=", *"=!<>(),"))
_OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")  # more do not fit into 64 bits


def requirements(text: str) -> list[Requirement]:
    """What a selector demands of labels; refuses with 400 what is not a selector."""
    tokens = _Tokens(_TOKEN.findall(text))
    found: list[Requirement] = []
    while tokens.next:
        if tokens.next in _SYMBOLS and tokens.next != "!":
            raise bad_request(f"found '{tokens.next}', expected: !, identifier, or 'end of string'")
        found.append(_requirement(tokens))
        if not tokens.next:
            break
        if (comma := tokens.take()) != ",":
            raise bad_request(f"found '{comma}', expected: ',' or 'end of string'")
        if tokens.next in _SYMBOLS and tokens.next != "!":
            raise bad_request(f"found '{tokens.next}', expected: identifier after ','")
    return found


@dataclass(slots=True)
class _Tokens:
    items: list[str]
    position: int = 0

    @property
    def next(self) -> str:
        """The next token; empty at the end."""
        return self.items[self.position] if self.position < len(self.items) else ""

    def take(self) -> str:
        token = self.next
        self.position += 1
        return token


def _requirement(tokens: _Tokens) -> Requirement:
    absent = tokens.next == "!"
    if absent:
        tokens.take()
    key = tokens.take()
    if key in _SYMBOLS:
        raise _unparsed(f"found '{key}', expected: identifier")
    _check(
        [causes.invalid("<nil>", key, "; ".join(formats.qualified(key)))]
        if formats.qualified(key)
        else []
    )
    if tokens.next in ("", ","):
        return (lambda labels: key not in labels) if absent else (lambda labels: key in labels)
    operator = tokens.take()
    match operator:
        case "in" | "notin":
            values = _values(tokens)
        case "=" | "==" | "!=" | ">" | "<":
            values = [tokens.take() if tokens.next not in _SYMBOLS else ""]
        case _:
            raise _unparsed(f"found '{operator}', expected: {', '.join(_OPERATORS)}")
    return _compared(key, operator, sorted(set(values)))


def _values(tokens: _Tokens) -> list[str]:
    if (opening := tokens.take()) != "(":
        raise _unparsed(f"found '{opening}' expected: '('")
    values: list[str] = []
    while True:
        values.append("" if tokens.next in (",", ")") else tokens.take())
        if values[-1] in _SYMBOLS - {""}:
            raise _unparsed(f"found '{values[-1]}', expected: ',', or identifier")
        match tokens.take():
            case ",":
                continue
            case ")":
                return values
            case other:
                raise _unparsed(f"found '{other}', expected: ',' or ')'")


def _compared(key: str, operator: str, values: list[str]) -> Requirement:
    if operator in "<>":
        limit = _integer(values[0])
        if limit is None:
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _wrong([causes.invalid("values[0]", values[0], why)])
        return _ordered(key, operator, limit)
    _check(
        [
            causes.invalid(f"values[{index}][{key}]", value, why)
            for index, value in enumerate(values)
            for why in formats.label_value(value)
        ]
    )
    allowed = frozenset(values)
    if operator in ("!=", "notin"):
        return lambda labels: labels.get(key) not in allowed
    return lambda labels: labels.get(key) in allowed


def _ordered(key: str, operator: str, limit: int) -> Requirement:
    def matches(labels: Mapping[str, str]) -> bool:
        held = _integer(labels.get(key, ""))
        if held is None:
            return False
        return held > limit if operator == ">" else held < limit

    return matches


def _integer(text: str) -> int | None:
    """The number that a text is, if it has at most 64 bits."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _check(wrong: list[Cause]) -> None:
    if wrong:
        raise _wrong(wrong)


def _wrong(found: list[Cause]) -> Exception:
    return _unparsed(", ".join(f"{cause.field}: {cause.message}" for cause in found))


def _unparsed(why: str) -> Exception:
    return bad_request(f"unable to parse requirement: {why}")
