"""YAML whose every value knows where it stands, so that a mistake can be named and mended.

The text of a kubeconfig holds secrets and may come from a stranger: nothing is resolved but null,
true and false, and no error quotes what it found unless the caller says that it may.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from isthmus.kube.errors import BadConfig
from isthmus.model import yamls
from isthmus.model.wire import Json
from isthmus.model.yamls import BadYaml, Taken


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was found: the name of a file, and the path of a field in it."""

    file: str
    path: str = ""

    def wrong(self, problem: str) -> BadConfig:
        """Return the error that says what is wrong here."""
        return BadConfig(": ".join(part for part in (self.file, self.path, problem) if part))

    def __truediv__(self, name: str) -> "Place":
        name = shown(name)
        return Place(self.file, f"{self.path}.{name}" if self.path else name)

    def __getitem__(self, key: str | int) -> "Place":
        return Place(self.file, f"{self.path}[{shown(str(key))}]")


@dataclass(frozen=True, slots=True)
class Field:
    """A mapping in a document. Missing, null and empty all mean "not set"."""

    place: Place
    values: Mapping[str, Json] = field(repr=False)

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) not in (None, "", [], {})

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names that are set."""
        return (name for name in self.values if name in self)

    def wrong(self, name: str, problem: str) -> BadConfig:
        return (self.place / name).wrong(problem)

    def text(self, name: str) -> str | None:
        match self.values.get(name):
            case None | "":
                return None
            case str(value):
                return value
            case bool():
                raise self.wrong(name, "expected text, found true or false; put it in quotes")
            case other:
                raise self.wrong(name, f"expected text, found {_kind(other)}")

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        if value in (None, ""):
            return False
        if not isinstance(value, bool):
            raise self.wrong(name, f"expected true or false, found {_kind(value)}")
        return value

    def data(self, name: str) -> bytes | None:
        """Return the bytes of a base64 field; line breaks inside it do no harm."""
        value = self.text(name)
        if value is None:
            return None
        try:
            return base64.b64decode("".join(value.split()), validate=True)
        except (binascii.Error, ValueError):
            raise self.wrong(
                name, "not valid base64; paste the output of `base64 -w0 FILE`"
            ) from None

    def inner(self, name: str) -> "Field":
        value = self.values.get(name)
        if value in (None, ""):
            return Field(self.place / name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, f"expected a mapping, found {_kind(value)}")
        return Field(self.place / name, value)

    def items(self, name: str) -> list[Json]:
        value = self.values.get(name)
        if value in (None, ""):
            return []
        if not isinstance(value, list):
            raise self.wrong(name, f"expected a list, found {_kind(value)}")
        return value

    def mappings(self, name: str) -> Iterator["Field"]:
        """Yield the elements of a list of mappings."""
        for number, value in enumerate(self.items(name)):
            place = (self.place / name)[number]
            if not isinstance(value, dict):
                raise place.wrong(f"expected a mapping, found {_kind(value)}")
            yield Field(place, value)

    def texts(self, name: str) -> tuple[str, ...]:
        values = self.items(name)
        for number, value in enumerate(values):
            if not isinstance(value, str):
                place = (self.place / name)[number]
                raise place.wrong(f"expected text, found {_kind(value)}; put it in quotes")
        return tuple(values)


def parse(raw: bytes, file: str, *, aliases: bool) -> Field:
    """Return the one mapping that ``raw`` holds."""
    place = Place(file)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise place.wrong("not text in UTF-8; is this a kubeconfig?") from None
    if not text.strip():
        raise place.wrong("the file is empty; is this the right one?")
    taken = Taken("a kubeconfig", yamls.constant, aliases)
    try:
        value = yamls.read(text, taken)
    except BadYaml as error:
        raise place.wrong(str(error)) from None
    if not isinstance(value, dict):
        raise place.wrong(f"expected a mapping, found {_kind(value)}; is this a kubeconfig?")
    return Field(place, value)


def shown(text: str) -> str:
    """Return ``text`` as an error may show it: on one line, and not too long.

    The middle is what goes, because a path ends with the name of its file.
    """
    cut = text if len(text) <= 80 else f"{text[:27]}...{text[-50:]}"
    return cut if cut.isprintable() else ascii(cut)


def _kind(value: Json) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"
