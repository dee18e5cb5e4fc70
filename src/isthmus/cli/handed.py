"""Files of fields that users hand to a command: values, settings, a Link."""

import sys
from pathlib import Path

from isthmus.model.errors import Misused

LARGEST = 1 << 20  # bytes


class Unreadable(Misused):
    """A file that cannot be read, or is not what it should be. Names it, and the place."""


def text(file: str) -> str:
    """Return what is in a file; - is standard input."""
    try:
        if file == "-":
            raw = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(file).open("rb") as opened:
                raw = opened.read(LARGEST + 1)
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from None
    if len(raw) > LARGEST:
        raise Unreadable(f"{file} is larger than {LARGEST} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(f"{file}: this is not a text in UTF-8") from None
