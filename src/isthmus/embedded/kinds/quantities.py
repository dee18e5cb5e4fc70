"""Quantities ("500m", "1Gi") in the one spelling in which the API stores each of them."""

import re
from fractions import Fraction

_SPELLING = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
)
_BINARY = {f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {
    suffix: Fraction(1000) ** power
    for power, suffix in enumerate(("n", "u", "m", "", *"kMGTPE"), -3)
}
LONGEST = 256  # characters; whatever has more is no amount of anything
_WRONG = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


def canonical(text: str) -> str:
    """The stored spelling of a quantity; raises ValueError if it is none."""
    match = _SPELLING.fullmatch(text)
    if match is None:
        raise ValueError(_WRONG)
    if len(text) > LONGEST:
        raise ValueError("unable to parse numeric part of quantity")
    number, suffix = Fraction(match[1]), match[2] or ""
    if suffix in _BINARY:
        return _spelled(number * _BINARY[suffix], {**_BINARY, "": Fraction(1)})
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        power = int(suffix[1:])
        return f"{match[1]}e{power}" if power else match[1]
    return _spelled(number * _DECIMAL[suffix], _DECIMAL)


def _spelled(value: Fraction, units: dict[str, Fraction]) -> str:
    """The largest unit in which the value is whole; finer than the finest is rounded up."""
    if not value:
        return "0"
    for suffix, unit in sorted(units.items(), key=lambda one: -one[1]):
        if (value / unit).denominator == 1:
            return f"{value / unit}{suffix}"
    return _spelled(Fraction(-(-value // Fraction(1, 1000))) / 1000, _DECIMAL)
