"""What a fuzz target is: a parser of foreign bytes, and all that may come of any bytes.

A target takes bytes, gives them to one parser, and fails if that raises anything but the errors
which it promises, says something that no operator can read, or does not keep a promise about what
it returns. It is found under the name of its function.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from isthmus.model.errors import IsthmusError

Target: TypeAlias = Callable[[bytes], None]

CORPUS = Path(__file__).parent / "corpus"
LONGEST_ERROR = 2000  # characters, whoever said what is quoted in it
_TARGETS: dict[str, Target] = {}


def target(run: Target) -> Target:
    """Make a function a target; its name says what is parsed."""
    _TARGETS[run.__name__.replace("_", "-")] = run
    return run


def targets() -> Mapping[str, Target]:
    """Return all targets that have been imported, by name."""
    return dict(sorted(_TARGETS.items()))


def kept(name: str) -> dict[str, bytes]:
    """Return the inputs of a target that are kept, by the name of their file."""
    return {path.name: path.read_bytes() for path in sorted((CORPUS / name).glob("*"))}


@contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Let these errors pass, if an operator could read them where they end."""
    try:
        yield
    except kinds as error:
        check_readable(error)


def check_readable(error: Exception) -> None:
    """Fail if an error of ours is not one line that a log can hold and a terminal can show."""
    if not isinstance(error, IsthmusError):
        return
    said = str(error)
    assert said, "an error that says nothing"
    assert len(said) <= LONGEST_ERROR, f"an error of {len(said)} characters: {said[:200]!r}"
    steering = sorted({sign for sign in said if not sign.isprintable()})
    assert not steering, f"an error that could steer a terminal by {steering}: {said[:200]!r}"


def text_of(data: bytes) -> str:
    """Return the text that bytes are taken for where a text is what arrives."""
    return data.decode("utf-8", "replace")


def parts_of(data: bytes, count: int) -> list[bytes]:
    """Cut bytes into ``count`` parts, at zeros; what is missing is empty."""
    found = data.split(b"\0", count - 1)
    return found + [b""] * (count - len(found))


def chunks_of(data: bytes) -> Iterator[bytes]:
    """Cut bytes as a network might: by sizes that the first byte decides."""
    step = data[0] + 1 if data else 1
    for start in range(1, len(data), step):
        yield data[start : start + step]
