"""Tables as ``kubectl get`` shows them: the server, not kubectl, chooses columns and cells."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from isthmus.embedded.kinds.kind import Column, Kind
from isthmus.embedded.tables.columns import COLUMNS, NAME
from isthmus.model.wire import JsonObject

# The API's types of columns; ours (see columns.py) say how a cell is computed, too.
_TYPES = {"age": "string", "moment": "date"}
_AGE = Column(title="Age", cell=lambda obj: obj["metadata"].get("creationTimestamp"), type="date")


def wanted(accept: str) -> bool:
    """Whether the first media type of ``Accept`` that we can serve is a Table."""
    for media in accept.split(","):
        kind, *parameters = (part.strip() for part in media.split(";"))
        if "as=Table" in parameters and "g=meta.k8s.io" in parameters and "v=v1" in parameters:
            return kind == "application/json"
        if kind in ("application/json", "*/*") and not any(p.startswith("as=") for p in parameters):
            return False
    return False


def table(
    kind: Kind,
    objects: Iterable[JsonObject],
    metadata: JsonObject,
    *,
    now: datetime,
    include: str = "Metadata",
) -> JsonObject:
    """A ``meta.k8s.io/v1`` Table of ``objects``, as the store keeps them.

    ``metadata`` is that of the list (or of the single object, of which only the
    resourceVersion counts); ``include`` is the query parameter ``includeObject``.
    """
    columns = columns_of(kind)
    kept = ("resourceVersion", "continue", "remainingItemCount", "selfLink")
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "columnDefinitions": [_definition(column) for column in columns],
        # A real server writes null for no rows, and so do we, lest a client rely on [].
        "rows": [_row(kind, columns, obj, now, include) for obj in objects] or None,
    }


def columns_of(kind: Kind) -> tuple[Column, ...]:
    """The columns of a kind; a custom one has its name and its own ones, or its age."""
    return COLUMNS.get((kind.group, kind.name)) or (NAME, *(kind.columns or (_AGE,)))


def _definition(column: Column) -> JsonObject:
    return {
        "name": column.title,
        "type": _TYPES.get(column.type, column.type),
        "format": "name" if column.title == "Name" else "",
        "description": column.title,
        "priority": 1 if column.wide else 0,
    }


def _row(
    kind: Kind, columns: Sequence[Column], obj: JsonObject, now: datetime, include: str
) -> JsonObject:
    row: JsonObject = {"cells": [cell(column, obj, now) for column in columns]}
    match include:
        case "Object":
            row["object"] = kind.seen(obj)
        case "None":
            row["object"] = None
        case _:
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": obj["metadata"],
            }
    return row


def cell(column: Column, obj: JsonObject, now: datetime) -> object:
    """The value of one cell; in columns of the types ``age`` and ``date`` moments become ages."""
    value = column.cell(obj)
    if column.type not in ("age", "date"):
        return value
    if value is None:
        return "<unknown>"
    if not isinstance(value, str):
        return "<invalid>"
    try:
        return age(now - datetime.fromisoformat(value))
    except (ValueError, TypeError):
        return "<invalid>"


def age(passed: timedelta) -> str:
    """A duration the way kubectl shows it: two units while they are small, then one."""
    seconds = int(passed.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _two(large: int, unit: str, small: int, subunit: str) -> str:
    return f"{large}{unit}{small}{subunit}" if small else f"{large}{unit}"
