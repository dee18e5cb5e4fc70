"""A stream of bytes cut into lines, whatever the pieces in which it comes.

Not by the HTTP library, whose line readers have limits of their own and cost more than what is
then done with a line.
"""

from collections.abc import Iterator

from isthmus.model.errors import Transient


class Overlong(Transient):
    """A line does not end where it should have ended long ago."""


class Lines:
    """Cuts a stream into lines, none of which may be longer than ``cap``."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._parts: list[bytes] = []  # of the line that has not ended yet
        self._size = 0

    @property
    def is_open(self) -> bool:
        """Whether the stream is in the middle of a line."""
        return self._size > 0

    def receive(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that ``chunk`` completes; raise ``Overlong`` at one that is too long."""
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            line = self._line(end)
            if line:
                yield line
        self._hold(rest)

    def _line(self, end: bytes) -> bytes:
        self._hold(end)
        line = b"".join(self._parts) if len(self._parts) != 1 else self._parts[0]
        self._parts, self._size = [], 0
        return line

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        if self._size > self._cap:
            raise Overlong(f"a line of the stream is longer than {self._cap} bytes")
        self._parts.append(part)
