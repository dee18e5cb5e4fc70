"""Turns what people write, files and ``key=value`` words, into one document, and that into values.

Nothing is guessed: a key that does not exist is refused by its name, and a value of another type
than the key's is, too.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from isthmus.install import keys
from isthmus.install.keys import Entry
from isthmus.model import yamls
from isthmus.model.errors import Misused
from isthmus.model.wire import Json, JsonObject

S = TypeVar("S", bound=msgspec.Struct)

SECRET = "trust.issuer"  # below it stands what is never shown
_LONGEST = 120


class BadValue(Misused):
    """Something was chosen that cannot be. Names the key, and what it takes."""


def merged(kind: type[msgspec.Struct], sets: Iterable[str], files: Mapping[str, str]) -> JsonObject:
    """Return the defaults of ``kind`` with everything on top that was said, the last word last."""
    document: JsonObject = msgspec.to_builtins(kind())
    for name, text in files.items():
        said = _read(name, text)
        _refuse_unknown(kind, said, name)
        _merge(kind, document, said)
    for word in sets:
        _merge(kind, document, _said(kind, word))
    return document


def chosen(values: msgspec.Struct) -> JsonObject:
    """Return the document that says what of ``values`` is not by default, and nothing else; put on
    the defaults, it makes the same values again."""
    return _differing(msgspec.to_builtins(values), msgspec.to_builtins(type(values)()))


def _differing(said: JsonObject, default: JsonObject) -> JsonObject:
    found: JsonObject = {}
    for key in sorted({*said, *default}):
        ours, theirs = said.get(key), default.get(key)  # null takes out what a default has
        if isinstance(ours, dict) and isinstance(theirs, dict):
            if inner := _differing(ours, theirs):
                found[key] = inner
        elif ours != theirs:
            found[key] = ours
    return found


def at(document: Json, path: str) -> Json:
    """Return what stands at ``path``; None if nothing does."""
    for step in path.split("."):
        document = document.get(step) if isinstance(document, dict) else None
    return document


def converted(document: JsonObject, kind: type[S]) -> S:
    """Return the document as values."""
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        path = str(error).rpartition("`$.")[2].removesuffix("`").partition("[")[0]
        known = keys.found(kind, path)
        takes = known.takes if known else str(error).partition(" - at")[0]
        value = _quoted(path, at(document, path))
        raise BadValue(f"{path}: {value} is not {takes}") from None


def _read(name: str, text: str) -> JsonObject:
    try:
        said = yamls.read(text, yamls.Taken("a file of values", yamls.scalar))
    except yamls.BadYaml as error:
        raise BadValue(f"{name}: {error}") from None
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise BadValue(f"{name}: expected keys with values, as in `clusterName: west`")
    return said


def _refuse_unknown(
    kind: type[msgspec.Struct], said: JsonObject, name: str, prefix: str = ""
) -> None:
    groups = {one.path.rpartition(".")[0] for one in keys.entries(kind)}
    groups |= {group.rpartition(".")[0] for group in groups}
    for key, value in said.items():
        path = f"{prefix}{key}"
        if path in groups:
            if value is not None and not isinstance(value, dict):
                raise BadValue(f"{name}: {path} is a group of keys, not {_quoted(path, value)}")
            _refuse_unknown(kind, value or {}, name, f"{path}.")
        elif keys.found(kind, path) is None:
            raise _unknown(kind, path, f"{name}: ")


def _said(kind: type[msgspec.Struct], word: str) -> JsonObject:
    """Return what a word such as ``gateway.service.type=NodePort`` says, as a document."""
    written, equals, text = word.partition("=")
    path = written.strip().replace("\\.", ".")
    if not equals or not path:
        raise BadValue(f"{_shown(word)} is not of the form key=value")
    entry = keys.found(kind, path)
    if entry is None:
        below = [one.path for one in keys.entries(kind) if one.path.startswith(f"{path}.")]
        if below:
            raise BadValue(f"{path} is a group of keys: {', '.join(below)}")
        raise _unknown(kind, path)
    if entry.is_map and path == entry.path:
        raise BadValue(f"{path} has keys of its own: {path}.KEY=VALUE")
    steps = entry.path.split(".")
    if entry.is_map:
        steps.append(path.removeprefix(f"{entry.path}."))
        return _nested(steps, text)
    return _nested(steps, _typed(entry, text))


def _typed(entry: Entry, text: str) -> Json:
    """Read ``text`` as what the key takes; what cannot be read so is left for the check."""
    if entry.is_list:
        inner = text.removeprefix("{").removesuffix("}")
        return [one.strip() for one in inner.split(",") if one.strip()]
    try:
        return msgspec.convert(text, entry.type, strict=False)
    except msgspec.ValidationError:
        return text


def _nested(steps: list[str], value: Json) -> JsonObject:
    first, *rest = steps
    return {first: _nested(rest, value) if rest else value}


def _merge(kind: type[msgspec.Struct], document: JsonObject, said: JsonObject) -> None:
    """Put ``said`` on top of ``document``. Null takes a key out of a map, as Helm has it."""
    maps = {one.path for one in keys.entries(kind) if one.is_map}

    def merge(below: JsonObject, above: JsonObject, path: str) -> None:
        for key, value in above.items():
            inner = f"{path}.{key}".removeprefix(".")
            if path in maps and value is None:
                below.pop(key, None)
            elif inner in maps and value is None:
                below[key] = {}
            elif isinstance(below.get(key), dict) and (value is None or isinstance(value, dict)):
                merge(below[key], value or {}, inner)
            else:
                below[key] = value

    merge(document, said, "")


def _unknown(kind: type[msgspec.Struct], path: str, where: str = "") -> BadValue:
    near = " or ".join(keys.nearest(kind, path))
    hint = f"; did you mean {near}?" if near else "; `isthmus install --keys` lists all of them"
    return BadValue(f"{where}there is no key {_shown(path)}{hint}")


def _quoted(path: str, value: Json) -> str:
    """Repeat what was written; but nobody is shown a private key because it stands in the wrong
    form, or a step too high."""
    is_secret = path.startswith(SECRET) or SECRET.startswith(f"{path}.")
    return "this" if is_secret else _shown(value)


def _shown(value: Json) -> str:
    return repr(value)[:_LONGEST]
