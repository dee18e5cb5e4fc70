"""The kinds that CustomResourceDefinitions define."""

import json
from collections.abc import Callable
from functools import partial

from isthmus.embedded.kinds import jsonpath, listkeys, schema, schemarules
from isthmus.embedded.kinds.kind import Column, Kind
from isthmus.embedded.status import Cause
from isthmus.model.wire import Json, JsonObject


def from_crd(crd: JsonObject) -> tuple[Kind, ...]:
    """One kind per served version; the storage version's comes first."""
    versions = sorted(crd["spec"]["versions"], key=lambda version: not version["storage"])
    return tuple(_kind(crd["spec"], version) for version in versions if version["served"])


def _kind(spec: JsonObject, version: JsonObject) -> Kind:
    names = spec["names"]
    rules: JsonObject = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    subresources = version.get("subresources") or {}
    merging = schema.merging(rules)
    return Kind(
        group=spec["group"],
        version=version["name"],
        name=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        has_status="status" in subresources,
        has_scale="scale" in subresources,
        has_generation=True,
        strategic=False,
        lists=listkeys.METADATA | merging.lists,
        key_defaults=merging.key_defaults,
        atoms=listkeys.METADATA_ATOMS | merging.atoms,
        free=frozenset(merging.free),
        fill=partial(_fill, rules),
        unknown=partial(schema.unknown, rules),
        judge=partial(_judge, rules),
        columns=_columns(version.get("additionalPrinterColumns") or []),
    )


def _fill(rules: JsonObject, obj: JsonObject) -> None:
    kept = schema.pruned(rules, obj)
    obj.clear()
    obj |= kept
    schema.fill(rules, obj)


def _judge(rules: JsonObject, new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    return list(schemarules.judged(rules, new))


def _columns(columns: list[JsonObject]) -> tuple[Column, ...]:
    """What the definition asks for, beside the name."""
    return tuple(
        Column(
            title=column["name"],
            cell=partial(_cell, jsonpath.compiled(column["jsonPath"]), column["type"]),
            wide=bool(column.get("priority")),
            type=column["type"],
        )
        for column in columns
    )


def _cell(find: Callable[[JsonObject], list[Json]], kind: str, obj: JsonObject) -> object:
    """The first value found, if it fits the column's type."""
    found = find(obj)
    if not found or found[0] is None:
        return None
    value = found[0]
    match kind:
        case "string" if not isinstance(value, str):
            return json.dumps(value, separators=(",", ":"))
        case "integer" if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        case "number" if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        case "boolean" if not isinstance(value, bool):
            return None
    return int(value) if kind == "integer" else value
