"""One YAML document that somebody hands in: read within bounds, and refused by its place.

A few lines of YAML can stand for more values than there is memory, by aliases of aliases. Values
are therefore built from the parser's events and counted, an alias as often as what it stands for.
No error quotes a value: it may be a secret.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from isthmus.model.errors import Permanent
from isthmus.model.quoting import one_line
from isthmus.model.wire import Json, JsonObject

DEEPEST = 32  # levels; a kubeconfig has six, and what exec plugins add is small
MOST = 100_000  # values; enough for thousands of clusters, and read within a second
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times as fast
TEXT = "tag:yaml.org,2002:str"
CONSTANTS: Mapping[str, Json] = {"": None, "~": None, "null": None, "true": True, "false": False}

_RESOLVER, _CONSTRUCTOR = Resolver(), SafeConstructor()


class BadYaml(Permanent):
    """A text that is no YAML, or more than we take. Says where, and what it is."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken: ``what`` it is called, and what a scalar without quotes means."""

    what: str
    meaning: Callable[[str], Json]
    aliases: bool = True


def constant(text: str) -> Json:
    """Only null, true and false mean something; a number may be half a password."""
    return CONSTANTS.get(text, text)


def scalar(text: str) -> Json:
    """What YAML takes a word for: a number, true or false, null; else it is a text. A date is a
    text as well, as it is to Kubernetes."""
    tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # its stubs lack it
    node = yaml.ScalarNode(tag, text)
    try:
        match node.tag.rpartition(":")[2]:
            case "null":
                return None
            case "bool":
                return bool(_CONSTRUCTOR.construct_yaml_bool(node))
            case "int":
                return int(_CONSTRUCTOR.construct_yaml_int(node))
            case "float":
                return float(_CONSTRUCTOR.construct_yaml_float(node))
    except ValueError:  # digits without a number among them, or more than anybody counts
        pass
    return text


def read(text: str, taken: Taken) -> Json:
    """Return the one document that ``text`` holds; None if it holds none."""
    try:
        return _Builder(text, taken).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadYaml(f"not valid YAML{where}") from None
    except yaml.YAMLError:
        raise BadYaml("not valid YAML: it holds characters that YAML does not allow") from None


@dataclass(frozen=True, slots=True)
class _Anchored:
    """What an alias stands for: a value, how many values it holds, and how many levels."""

    value: Json
    size: int
    levels: int


class _Builder:
    def __init__(self, text: str, taken: Taken) -> None:
        self._events = yaml.parse(text, Loader=LOADER)
        self._taken = taken
        self._anchors: dict[str, _Anchored] = {}
        self._values = 0
        self._deepest = 0

    def document(self) -> Json:
        value: Json = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    what = self._taken.what
                    self._refuse(event, f"a second document starts; {what} is a single one")
                value = self._value(next(self._events), 0)
        return value

    def _value(self, event: yaml.Event, depth: int) -> Json:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        values, deepest = self._values, self._deepest
        self._count(event, 1, depth)
        self._deepest = depth
        value = self._built(event, depth)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            size, levels = self._values - values, self._deepest - depth
            self._anchors[anchor] = _Anchored(value, size, levels)
        self._deepest = max(deepest, self._deepest)
        return value

    def _alias(self, event: yaml.AliasEvent, depth: int) -> Json:
        if not self._taken.aliases:
            self._refuse(event, "YAML aliases are not allowed here; write the value out")
        found = self._anchors.get(event.anchor or "")
        if found is None:
            self._refuse(event, "an alias for something that comes later or not at all")
        self._count(event, found.size, depth + found.levels)
        self._deepest = max(self._deepest, depth + found.levels)
        return found.value

    def _count(self, event: yaml.Event, more: int, depth: int) -> None:
        self._values += more
        if depth > DEEPEST or self._values > MOST:
            what = self._taken.what
            self._refuse(event, f"nested too deeply, or too many values, for {what}")

    def _built(self, event: yaml.Event, depth: int) -> Json:
        tag = getattr(event, "tag", None)
        if tag is not None and not (tag == TEXT and isinstance(event, yaml.ScalarEvent)):
            self._refuse(event, f"the tag {_named(tag)} is not taken; write the value without it")
        if isinstance(event, yaml.ScalarEvent):
            return self._taken.meaning(event.value) if event.implicit[0] else event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._value(each, depth + 1) for each in self._until(yaml.SequenceEndEvent)]
        built: JsonObject = {}
        for each in self._until(yaml.MappingEndEvent):
            if not isinstance(each, yaml.ScalarEvent):
                self._refuse(each, "the name of a field must be text")
            if each.value in built:
                self._refuse(each, f"the field {_named(each.value)} is set twice")
            if each.value == "<<" and each.implicit[0]:
                self._refuse(each, "<< is not taken; write the fields out")
            built[each.value] = self._value(next(self._events), depth + 1)
        return built

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        for event in self._events:
            if isinstance(event, end):
                return
            yield event

    def _refuse(self, event: yaml.Event, problem: str) -> NoReturn:
        mark = event.start_mark
        raise BadYaml(f"line {mark.line + 1}: {problem}" if mark else problem)


def _named(text: str) -> str:
    return one_line(text, 80)
