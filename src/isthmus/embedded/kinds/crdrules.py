"""CustomResourceDefinitions as objects: their defaults, and what makes one unusable."""

from collections.abc import Iterator

from isthmus.embedded.kinds import formats, jsonpath, patterns, schemarules
from isthmus.embedded.kinds.causes import each, forbidden, invalid, required, unequal, unsupported
from isthmus.embedded.kinds.schema import EMBEDDED, INT_OR_STRING, LIST_TYPE, MAP_KEYS, PRESERVE
from isthmus.embedded.status import Cause
from isthmus.model.wire import Json, JsonObject

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_CELLS = ("boolean", "date", "integer", "number", "string")


def fill(obj: JsonObject) -> None:
    spec = obj["spec"]
    names = spec["names"]
    if names["kind"]:
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"})


def prepare(new: JsonObject, _old: JsonObject | None) -> None:
    """The storage version is always among the stored ones."""
    stored = list(new["status"]["storedVersions"] or [])
    for version in new["spec"]["versions"] or []:
        if version["storage"] and version["name"] not in stored:
            stored.append(version["name"])
    new["status"]["storedVersions"] = stored or None


def judge(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    spec = new["spec"]
    names, name = spec["names"], new["metadata"].get("name", "")
    found: list[Cause] = []
    if name != f"{names['plural']}.{spec['group']}":
        found.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    found += _placed(spec)
    found += _versions(spec)
    found += _named(names)
    found += _conversion(spec["conversion"])
    stored = new["status"]["storedVersions"]
    if not stored:
        found.append(
            invalid("status.storedVersions", None, "must have at least one stored version")
        )
    if old is not None:
        before = old["spec"]
        found += unequal("spec.scope", spec["scope"], before["scope"])
        found += unequal("spec.names.kind", names["kind"], before["names"]["kind"])
        found += unequal("spec.group", spec["group"], before["group"])
        found += unequal("spec.names.plural", names["plural"], before["names"]["plural"])
    return found


def _placed(spec: JsonObject) -> Iterator[Cause]:
    group, scope = spec["group"], spec["scope"]
    if not group:
        yield required("spec.group")
    else:
        wrong = formats.subdomain(group)
        if not wrong and "." not in group:
            wrong = ["should be a domain with at least one dot"]
        yield from each("spec.group", group, wrong)
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield unsupported("spec.scope", scope, ("Cluster", "Namespaced"))
    if spec.get("preserveUnknownFields"):
        text = f"cannot set to true, set {PRESERVE} to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, text)


def _named(names: JsonObject) -> Iterator[Cause]:
    for key in ("plural", "singular", "kind", "listKind"):
        path, value = f"spec.names.{key}", names.get(key, "")
        if not value:
            yield required(path)
        elif key in ("plural", "singular"):
            yield from each(path, value, formats.letter_label(value))
        else:
            for text in formats.letter_label(value.lower()):
                yield invalid(
                    path, value, f"may have mixed case, but should otherwise match: {text}"
                )
    for key in ("shortNames", "categories"):
        for index, value in enumerate(names.get(key) or []):
            yield from each(f"spec.names.{key}[{index}]", value, formats.letter_label(value))


def _versions(spec: JsonObject) -> Iterator[Cause]:
    versions: list[JsonObject] = spec["versions"] or []
    for index, version in enumerate(versions):
        yield from each(
            f"spec.versions[{index}].name", version["name"], formats.letter_label(version["name"])
        )
    if len({version["name"] for version in versions}) < len(versions):
        text = "must contain unique version names"
        yield invalid("spec.versions", list(map(_internal, versions)), text)
    if sum(version["storage"] for version in versions) != 1:
        shown = None if spec["versions"] is None else list(map(_internal, versions))
        text = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", shown, text)
    for index, version in enumerate(versions):
        # The real server speaks of a lone version's parts as of those of the whole definition.
        alone = len(versions) == 1
        where = "spec" if alone else f"spec.versions[{index}]"
        rules = (version.get("schema") or {}).get("openAPIV3Schema")
        if rules is None:
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
        else:
            place = "validation" if alone else "schema"
            yield from _root(f"{where}.{place}.openAPIV3Schema", rules)
        yield from _parts(where, version)


def _internal(version: JsonObject) -> JsonObject:
    """A version as the API server's internal type spells it."""
    return {
        "Name": version["name"],
        "Served": version["served"],
        "Storage": version["storage"],
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None,
        "Subresources": None,
        "AdditionalPrinterColumns": None,
        "SelectableFields": None,
    }


def _parts(where: str, version: JsonObject) -> Iterator[Cause]:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        for key in ("specReplicasPath", "statusReplicasPath"):
            if not scale.get(key):
                yield required(f"{where}.subresources.scale.{key}")
    for index, column in enumerate(version.get("additionalPrinterColumns") or []):
        path = f"{where}.additionalPrinterColumns[{index}]"
        if column["type"] not in _CELLS:
            yield invalid(f"{path}.type", column["type"], f"must be one of {','.join(_CELLS)}")
        text = "must be a simple json path starting with ."
        try:
            jsonpath.compiled(column["jsonPath"])
        except jsonpath.Unsupported:
            yield invalid(f"{path}.JSONPath", column["jsonPath"], text)


def _root(path: str, rules: JsonObject) -> Iterator[Cause]:
    if rules.get("type") != "object":
        if rules.get("type"):
            yield invalid(f"{path}.type", rules["type"], "must be object at the root")
        else:
            yield required(f"{path}.type", "must not be empty at the root")
        return
    meta = (rules.get("properties") or {}).get("metadata") or {}
    if set(meta.get("properties") or {}) - {"name", "generateName"}:
        text = "must not specify anything other than name and generateName, but metadata is "
        yield forbidden(f"{path}.properties[metadata]", text + "implicitly specified")
    yield from _structural(path, rules, "at the root")


def _structural(path: str, rules: JsonObject, what: str) -> Iterator[Cause]:
    kind = rules.get("type")
    loose = rules.get(INT_OR_STRING) or rules.get(PRESERVE)
    if not kind and not loose:
        yield required(f"{path}.type", f"must not be empty {what}")
    elif kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    if kind == "array" and not rules.get("items"):
        yield required(f"{path}.items", "must be specified")
    if rules.get(EMBEDDED) and kind != "object":
        yield invalid(f"{path}.type", kind or "", "must be object if " + EMBEDDED + " is true")
    yield from _sound(path, rules)
    if isinstance(rules.get("items"), dict):
        yield from _structural(f"{path}.items", rules["items"], "for specified array items")
        yield from _keyed(path, rules)
    for name, member in (rules.get("properties") or {}).items():
        yield from _structural(f"{path}.properties[{name}]", member, "for specified object fields")
    if isinstance(rules.get("additionalProperties"), dict):
        inner = rules["additionalProperties"]
        yield from _structural(f"{path}.additionalProperties", inner, "for specified object fields")


def _sound(path: str, rules: JsonObject) -> Iterator[Cause]:
    """A default must satisfy its own schema, and a pattern must be one."""
    if rules.get("pattern"):
        try:
            patterns.compiled(rules["pattern"])
        except patterns.BadPattern as error:
            text = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
            yield invalid(f"{path}.pattern", rules["pattern"], text)
            return
    if "default" in rules:
        for cause in schemarules.judged(rules, rules["default"]):
            yield Cause(cause.reason, cause.message, _joined(f"{path}.default", cause.field))


def _joined(path: str, inner: str) -> str:
    return f"{path}.{inner}" if inner else path


def _keyed(path: str, rules: JsonObject) -> Iterator[Cause]:
    if rules.get(LIST_TYPE) != "map":
        return
    items: JsonObject = rules["items"]
    keys: Json = rules.get(MAP_KEYS)
    if not keys:
        yield required(f"{path}.{MAP_KEYS}", f"must not be empty if {LIST_TYPE} is map")
    for key in keys or []:
        known = (items.get("properties") or {}).get(key) or {}
        if "default" not in known and key not in (items.get("required") or []):
            text = f"this property is in {MAP_KEYS}, so it must have a default or be a required"
            text += " property"
            yield required(f"{path}.items.properties[{key}].default", text)


def _conversion(conversion: JsonObject) -> Iterator[Cause]:
    strategy = conversion["strategy"]
    if strategy not in ("None", "Webhook"):
        yield unsupported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    elif strategy == "Webhook" and not conversion.get("webhook"):
        text = "required when strategy is set to Webhook"
        yield required("spec.conversion.webhookClientConfig", text)
        yield required("spec.conversion.conversionReviewVersions")
