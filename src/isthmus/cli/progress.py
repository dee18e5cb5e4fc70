"""Says what is being waited for: on one line that changes, or, in a log, a line for each news."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from isthmus.model.quoting import one_line

_START_OVER = "\r\x1b[K"  # back to the first column, and nothing right of it
_LONGEST = 300  # characters of a line in a log
_NARROW = 79  # of a terminal that does not tell


@dataclass(slots=True)
class Progress:
    """``width`` is that of the terminal; 0: nobody looks, and lines stay as they are."""

    write: Callable[[str], None]
    width: int = 0
    _last: str = field(default="", init=False)

    def waiting(self, text: str) -> None:
        """Say what is waited for now; the same again is no news."""
        line = one_line(text, self.width - 1 if self.width else _LONGEST)
        if line == self._last:
            return
        self._last = line
        self.write(f"{_START_OVER}{line}" if self.width else f"{line}\n")

    def clear(self) -> None:
        """Leave no half line behind."""
        if self._last and self.width:
            self.write(_START_OVER)
        self._last = ""


def progress(stream: TextIO) -> Progress:
    """Progress on a stream: live only where a person looks at it."""

    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        return Progress(write)
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        width = 0
    return Progress(write, width or _NARROW)


def watched(stream: TextIO) -> Progress:
    """Progress for whoever looks; a log is told the outcome, and nothing on the way."""
    return progress(stream) if stream.isatty() else Progress(lambda _: None)
