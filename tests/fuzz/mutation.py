"""Changes bytes into others that a parser has not seen yet, the same ones for the same dice.

Half of what parsers read here is JSON, which rarely survives the change of a byte: where bytes are
JSON, a value inside is changed as often as the bytes are.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeAlias

from isthmus.model.wire import Json

Place: TypeAlias = tuple[dict[str, Json] | list[Json], str | int]

# What tends to be read as something else, counted wrongly, or never expected.
WORDS = (
    *(b"\0", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\r\n", b"\n", b"\x1b[31m", b"\xe2\x80\xae"),
    *(b"{", b"}", b"[", b"]", b'"', b"'", b"\\ud800", b"\\u0000", b",", b":", b";", b"=", b"&x *x"),
    *(b"null", b"true", b"-1", b"0", b"65536", b"1e400", b"NaN", b"9" * 400, b"0x7f000001"),
    *(b"+23:59", b"-00:00", b"0001-01-01", b"9999-12-31", b"T24:00:00", b"-----BEGIN ", b"=="),
    *(b"..", b"/", b"%2e", b"%00", b"@", b"#", b"?", b"://", b"<<", b"!!python/name:os.system"),
)
VALUES: Sequence[Json] = (
    *(None, True, False, 0, -1, 1 << 63, 1 << 70, 1.5, -1e308, "", " ", "\n", "\0", "\x1b[0m"),
    *("x" * 3000, "\ud800", "\u202e", "..", "-", "A", "0001-01-01T00:00:00+23:59", [], {}, [[]]),
    *("9" * 5000, "9999-12-31T23:59:59-23:59", {"": None}, {"x" * 300: "y"}, [None], "\x85"),
)
DEEP = 3000  # levels, sometimes


def mutated(data: bytes, dice: Random, others: Sequence[bytes] = ()) -> bytes:
    """Return something like ``data``, or like a mixture of it with ``others``."""
    for _ in range(dice.choice((1, 1, 1, 2, 3, 5))):
        change = dice.choice(CHANGES)
        data = change(data, dice, others)
    return data


def _cut(data: bytes, dice: Random) -> tuple[bytes, bytes, bytes]:
    """Cut bytes in three; the middle is short."""
    start = dice.randrange(len(data) + 1)
    end = min(len(data), start + dice.choice((0, 1, 2, 4, 8, 32)))
    return data[:start], data[start:end], data[end:]


def _flipped(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    if not data:
        return bytes([dice.randrange(256)])
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :]


def _removed(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    before, _, after = _cut(data, dice)
    return before + after


def _repeated(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    before, middle, after = _cut(data, dice)
    return before + middle * dice.choice((2, 3, 20)) + after


def _with_a_word(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    before, middle, after = _cut(data, dice)
    word = dice.choice(WORDS)
    return before + word + dice.choice((middle, b"")) + after


def _with_noise(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    before, _, after = _cut(data, dice)
    return before + dice.randbytes(dice.choice((1, 2, 4))) + after


def _spliced(data: bytes, dice: Random, others: Sequence[bytes]) -> bytes:
    other = dice.choice(others) if others else data
    return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]


def _ended(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _deepened(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    before, _, after = _cut(data, dice)
    return before + dice.choice((b"[", b'{"a":', b"- ", b"(")) * DEEP + after


def _changed_json(data: bytes, dice: Random, others: Sequence[bytes]) -> bytes:
    """Change one value of the first line that is JSON, wherever in the bytes it stands."""
    lines = data.split(b"\n")
    number = dice.randrange(len(lines))
    head, brace, rest = lines[number].partition(b"{")
    try:
        value = json.loads(brace + rest)
    except (ValueError, RecursionError):
        return _with_a_word(data, dice, others)
    places = list(_places(value))
    if places:
        inside, key = dice.choice(places)
        _change(inside, key, dice)
    lines[number] = head + json.dumps(value).encode()
    return b"\n".join(lines)


def _change(inside: dict[str, Json] | list[Json], key: str | int, dice: Random) -> None:
    if isinstance(inside, list):
        assert isinstance(key, int)
        inside[key : key + dice.choice((0, 1))] = [dice.choice(VALUES)] * dice.choice((0, 1, 2))
        return
    assert isinstance(key, str)
    match dice.randrange(4):
        case 0:
            del inside[key]
        case 1:
            inside[str(dice.choice(VALUES))[:300]] = inside[key]
        case _:
            inside[key] = dice.choice(VALUES)


def _places(value: Json) -> Iterator[Place]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(inner):
        yield value, key
        if isinstance(one, dict | list):
            yield from _places(one)


CHANGES: Sequence[Callable[[bytes, Random, Sequence[bytes]], bytes]] = (
    *(_flipped, _removed, _repeated, _with_a_word, _with_a_word, _with_noise, _spliced, _ended),
    *(_changed_json,) * 6,
    _deepened,
)
