"""Whether a caller's certificate is such as controllers make, judged by its text.

Envoy's verifier asks neither whether a leaf is an authority nor whether it says what it is for at
all. But Envoy can search the PEM of the certificate that it has verified, and what controllers
write is always the same bytes: those for a leaf's purposes must be there, and those by which
a certificate calls itself an authority must not.
"""

from collections.abc import Sequence
from functools import cache

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ANY_LETTER = "[+-z]"  # a little more than all of them, and not the end of a line

# RFC 5280, 4.2.1.12, as our issuers write it: not critical, for clients and for servers.
PURPOSES = bytes.fromhex("0603551d25 0416 3014 06082b06010505070302 06082b06010505070301")

# RFC 5280, 4.2.1.9: DER leaves out what is false, so that whoever says anything about being an
# authority is one. What may be anything are two lengths, which depend on what else is said, and
# how critical this is: Envoy takes any number for true or false.
_CONSTRAINTS = tuple(bytes.fromhex("0603551d13"))
_YES = (0x04, None, 0x30, None, 0x01, 0x01)
AUTHORITY = ((*_CONSTRAINTS, *_YES), (*_CONSTRAINTS, 0x01, 0x01, None, *_YES))


def proper() -> str:
    """Say in CEL that the caller's certificate is such as controllers make."""
    return f"{_says(PURPOSES)} && !{_says(*AUTHORITY)}"


def spelled(found: Sequence[int | None]) -> tuple[str, str, str]:
    """Return three expressions, one of which matches any PEM that has these bytes in it.

    Three bytes are four letters in base64: what stands before decides which bytes share a letter.
    Lines end between such fours only. None is any byte.
    """
    first, second, third = (_spelled(before, found) for before in range(3))
    return first, second, third


def _says(*some: Sequence[int | None]) -> str:
    expressions = (each for found in some for each in spelled(found))
    tests = (f"connection.peer_certificate.matches(r'{each}')" for each in expressions)
    return f"({' || '.join(tests)})"


def _spelled(before: int, found: Sequence[int | None]) -> str:
    bits = "?" * 8 * before + "".join("?" * 8 if one is None else f"{one:08b}" for one in found)
    bits += "?" * (-len(bits) % 6)
    letters = [_letter(bits[start : start + 6]) for start in range(0, len(bits), 6)]
    letters[:before] = [""] * before  # they are others' alone
    fours = ("".join(letters[start : start + 4]) for start in range(0, len(letters), 4))
    return r"\n?".join(fours)


@cache
def _letter(bits: str) -> str:
    """Return what matches the letter for six bits, some of which may be anything."""
    possible = [
        letter
        for number, letter in enumerate(LETTERS)
        if all(bit in ("?", is_) for bit, is_ in zip(bits, f"{number:06b}", strict=True))
    ]
    if len(possible) == len(LETTERS):
        return _ANY_LETTER
    text = "".join(possible).replace("+", r"\+")
    return text if len(possible) == 1 else f"[{text}]"
