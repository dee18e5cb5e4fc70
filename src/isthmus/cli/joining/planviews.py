"""What ``isthmus plan`` shows: a line for each thing that would be done, or refused."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from msgspec.structs import replace

from isthmus.cli import render
from isthmus.cli.joining.forecast import PLANNED, Forecast, Write
from isthmus.model.actions import Create, Delete, Written
from isthmus.model.links import RefusedExport
from isthmus.model.names import REMOTE_NAME, REMOTE_VERSION
from isthmus.model.objects import EndpointSlice, Service
from isthmus.model.wire import JsonObject

_SIGNS = {"create": "+", "change": "~", "delete": "-", "refused": "!"}
_HEAD = ("", "Action", "Kind", "Name", "Stands for", "Detail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that would happen."""

    action: str  # create, change, delete or refused
    kind: str
    namespace: str
    name: str
    stands_for: str = ""
    detail: str = ""


def rendered(found: Forecast, output: str) -> str:
    lines = [*map(_line, found.writes), *map(_refused, found.refused)]
    if output != "table":
        return render.document(_document(found, lines), output)
    said = f"{_summary(found, lines)}\n"
    if not lines:
        return said
    rows = [
        (
            _SIGNS[one.action],
            one.action,
            one.kind,
            f"{one.namespace}/{one.name}" if one.namespace else one.name,
            one.stands_for,
            one.detail,
        )
        for one in lines
    ]
    return f"{render.rows(_HEAD, rows)}\n\n{said}"


def _summary(found: Forecast, lines: list[Line]) -> str:
    count = _counts(lines)
    link = f"the Link to {found.link.cluster}"
    if not lines:
        return f"nothing to do: {found.settled} mirrors of {link} are as they should be"
    parts = (
        f"{count['create']} to create, {count['change']} to change, {count['delete']} to delete, "
        f"{count['refused']} refused"
    )
    return f"{link}: {parts}; {found.settled} mirrors stay as they are"


def _counts(lines: list[Line]) -> Counter[str]:
    return Counter(one.action for one in lines)


def _document(found: Forecast, lines: list[Line]) -> JsonObject:
    count = _counts(lines)
    return {
        "link": {"name": found.link.cluster, "exists": found.link.uid != PLANNED},
        "actions": [_shown(one) for one in lines],
        "summary": {action: count[action] for action in _SIGNS} | {"settled": found.settled},
    }


def _shown(line: Line) -> JsonObject:
    found = {key: value for key, value in asdict(line).items() if value}
    if "stands_for" in found:
        found["standsFor"] = found.pop("stands_for")
    return found


def _line(write: Write) -> Line:
    value = write.action.object
    return Line(
        action=_action(write),
        kind=type(value).__name__,
        namespace=value.metadata.namespace,
        name=value.metadata.name,
        stands_for=value.metadata.annotations.get(REMOTE_NAME, ""),
        detail="; ".join(filter(None, (_detail(write), _doubt(write)))),
    )


def _action(write: Write) -> str:
    match write.action:
        case Create():
            return "create"
        case Delete():
            return "delete"
    return "change"


def _detail(write: Write) -> str:
    value, before = write.action.object, write.before
    if isinstance(write.action, Delete):
        return ""
    if isinstance(value, Service) and before is None:
        shape = "headless, " if value.spec.cluster_ip == "None" else ""
        ports = (f"{one.name} {one.port}".strip() for one in value.spec.ports)
        return f"{shape}port {', '.join(ports)}"
    return ", ".join(_differences(value, before))


def _differences(value: Written, before: Service | EndpointSlice | None) -> Iterator[str]:
    """Yield what a change is about."""
    if before is None:
        return
    if value.metadata.labels != before.metadata.labels:
        yield "labels"
    if _said(value) != _said(before):
        yield "annotations"
    if isinstance(value, Service) and isinstance(before, Service):
        if value.spec.ports != before.spec.ports:
            yield "ports"
        if replace(value.spec, ports=()) != replace(before.spec, ports=()):
            yield "spec"
    if isinstance(value, EndpointSlice) and isinstance(before, EndpointSlice):
        if value.ports != before.ports:
            yield "ports"
        if value.endpoints != before.endpoints:
            yield "endpoints"


def _said(value: Written) -> dict[str, str]:
    """Return the annotations of an object; which version it was made from is no reason for one."""
    found = value.metadata.annotations
    return {key: each for key, each in found.items() if key != REMOTE_VERSION}


def _doubt(write: Write) -> str:
    return "the end of its name is not known before the Link is" if write.is_provisional else ""


def _refused(one: RefusedExport) -> Line:
    return Line(
        action="refused",
        kind="Service",
        namespace=one.namespace,
        name=one.name,
        detail=f"{one.reason}: {one.message}" if one.message else one.reason,
    )
