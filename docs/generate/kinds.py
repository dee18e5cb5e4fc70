"""The reference of our kinds: what their definitions say about every field."""

from collections.abc import Iterable, Iterator, Mapping

import yaml

from docs.generate.tables import code, page, table
from isthmus.model.wire import Json, JsonObject

# What a schema says about a value besides its type, in the words of a reader.
_LIMITS = {
    "enum": "one of {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} of them",
    "maxProperties": "at most {} of them",
    "pattern": "matches {}",
}
NOT_EMPTY = ("minLength", 1)


def text(definitions: Iterable[JsonObject]) -> str:
    """Return the page about all kinds that are defined."""
    kinds = sorted(definitions, key=lambda one: str(one["spec"]["names"]["kind"]), reverse=True)
    return page("Kinds", *(part for one in kinds for part in _kind(one)))


def _kind(definition: JsonObject) -> Iterator[str]:
    spec = definition["spec"]
    names, version = spec["names"], spec["versions"][-1]
    schema: JsonObject = version["schema"]["openAPIV3Schema"]
    scope = "lives in no namespace" if spec["scope"] == "Cluster" else "lives in a namespace"
    also = [code(f"kubectl get {one}") for one in (names["plural"], *names.get("categories", ()))]
    yield f"## {names['kind']}"
    yield schema["description"]
    yield (
        f"`apiVersion: {spec['group']}/{version['name']}`, `kind: {names['kind']}`; it {scope}. "
        f"Shown by {', '.join(also)}."
    )
    for part in ("spec", "status"):
        yield f"### {names['kind']}: {part}"
        yield _fields(schema["properties"][part], part)
    if rules := list(_rules(schema, "")):
        yield f"### {names['kind']}: what the API server checks besides"
        yield "\n".join(rules)
    yield f"### {names['kind']}: columns"
    yield _columns(version.get("additionalPrinterColumns") or ())


def _fields(schema: JsonObject, path: str) -> str:
    rows = [
        (
            code(name),
            _type(one),
            code(_plain(one["default"])) if "default" in one else "",
            _meaning(one, needed=needed),
        )
        for name, one, needed in _members(schema, path)
    ]
    return table(("Field", "Type", "Default", "Meaning"), rows)


def _members(schema: JsonObject, path: str) -> Iterator[tuple[str, JsonObject, bool]]:
    """Yield every field below a schema with its path, lists as ``[]`` and free keys as ``KEY``."""
    for name, one in (schema.get("properties") or {}).items():
        here = f"{path}.{name}"
        yield here, one, name in (schema.get("required") or ())
        yield from _members(one, here)
        if "properties" in (items := one.get("items") or {}):
            yield from _members(items, f"{here}[]")
        if "properties" in (free := one.get("additionalProperties") or {}):
            yield from _members(free, f"{here}.KEY")


def _type(schema: JsonObject) -> str:
    match schema.get("type"):
        case "array":
            return f"list of {_type(schema['items'])}"
        case "object" if isinstance(free := schema.get("additionalProperties"), dict):
            return f"map to {_type(free)}"
        case "string" if "format" in schema:
            return f"string ({schema['format']})"
        case found:
            return str(found)


def _meaning(schema: JsonObject, *, needed: bool) -> str:
    said = [schema.get("description", "")]
    if needed:
        said.append("Required.")
    inner = schema.get("items") or schema.get("additionalProperties") or {}
    own, each = _limits(schema), _limits(inner if isinstance(inner, Mapping) else {})
    said += [f"{_sentence(own)}." if own else "", f"Each {each}." if each else ""]
    return " ".join(one for one in said if one)


def _limits(schema: Mapping[str, Json]) -> str:
    return ", ".join(
        "not empty" if (key, schema[key]) == NOT_EMPTY else words.format(_named(key, schema[key]))
        for key, words in _LIMITS.items()
        if key in schema
    )


def _named(key: str, value: Json) -> str:
    if key == "enum":
        return ", ".join(code(str(one)) for one in value)
    return code(str(value)) if key == "pattern" else str(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _rules(schema: JsonObject, path: str) -> Iterator[str]:
    """Yield the rules of a schema, each behind what it says to whoever breaks it."""
    for one in schema.get("x-kubernetes-validations") or ():
        where = f"{code(path.removeprefix('.'))}: " if path else ""
        yield f"- {where}{one['message']}\n  ({code(one['rule'])})"
    for name, inner in (schema.get("properties") or {}).items():
        yield from _rules(inner, f"{path}.{name}")


def _columns(columns: Iterable[JsonObject]) -> str:
    rows = [
        (
            str(one["name"]).upper(),
            code(one["jsonPath"]),
            " ".join(
                (one.get("description", ""), "Only with `-o wide`." * bool(one.get("priority")))
            ),
        )
        for one in columns
    ]
    return table(("Column", "Is", ""), rows)


def _plain(value: Json) -> str:
    """Return a value on one line, as YAML."""
    return (
        yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("\n...\n").strip()
    )
