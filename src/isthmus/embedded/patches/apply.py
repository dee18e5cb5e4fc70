"""Server-side apply, and the bookkeeping of who owns which field after any other write.

Who has set a field owns it. An applier may not change what others own unless it insists, and
what it stops mentioning goes away unless somebody else owns it, too.
"""

import json
from dataclasses import replace

from isthmus.embedded.kinds import shapes
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.patches import fieldpaths, managers, merging
from isthmus.embedded.patches.fieldpaths import FieldSet, Path
from isthmus.embedded.patches.managers import FieldManager, Owner
from isthmus.embedded.status import Cause, Refusal
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject

__all__ = ["FieldManager", "applied", "manager_name", "settled", "tracked"]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# Nobody owns what identifies an object, or what only the server writes.
_UNOWNED: FieldSet = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    }
)


def applied(
    kind: Kind, current: JsonObject | None, patch: JsonObject, who: FieldManager
) -> JsonObject:
    """The object after ``who`` has applied ``patch``; raises the Refusal 409 on conflict.

    Defaults are not filled in: what the server adds later has no owner.
    """
    _check(kind, patch)
    live = _bare(current or {"metadata": {}})
    owners = managers.read(current or {}) or []
    if current is not None and not owners:
        owners = [_first_owner(kind, live, who)]
    ignored = _ignored(kind, who)
    fields = fieldpaths.without(fieldpaths.fields_of(kind, patch), ignored)
    new = merging.merged(kind, live, patch)
    mine = managers.owner(who, kind.api_version, fields)
    others = [one for one in _understood(kind, owners) if one.identity != mine.identity]
    last = next((one for one in owners if one.identity == mine.identity), None)
    if last is not None:
        new = _forgotten(kind, new, last.fields, [mine, *others])
    change = _filtered(fieldpaths.difference(kind, live, new), ignored)
    _refuse_conflicts(kind, live, others, change, who)
    if new == live:
        mine = replace(mine, time=last.time if last else None)
    kept = [one.keeping(one.fields - change.written - change.removed) for one in others]
    return managers.written(new, [*kept, mine.keeping(fields - _UNOWNED)])


def tracked(
    kind: Kind, before: JsonObject | None, after: JsonObject, who: FieldManager
) -> JsonObject:
    """``after``, with ``who`` as the owner of what differs from ``before``."""
    owners = _known_owners(before, after, who)
    if before is not None and not owners:
        return managers.written(after, [])
    live = kind.zero if before is None else _bare(before)
    change = _filtered(fieldpaths.difference(kind, live, _bare(after)), _ignored(kind, who))
    kept = [
        one.keeping(one.fields - change.written - change.removed)
        for one in _understood(kind, owners)
    ]
    gained = change.written - _UNOWNED
    if gained:
        mine = managers.owner(who, kind.api_version, gained)
        previous = next((one for one in kept if one.identity == mine.identity), None)
        if previous is not None:
            kept.remove(previous)
            mine = mine.keeping(gained | previous.fields)
        kept.append(mine)
    return managers.written(after, kept)


def settled(before: JsonObject, after: JsonObject) -> JsonObject:
    """``after``, or ``before`` itself where they differ in managedFields' times only.

    A write that changes nothing must not become a new version because time has passed.
    """
    return before if _timeless(before) == _timeless(after) else after


def manager_name(field_manager: str, user_agent: str) -> str:
    """Whoever does not name itself is known by its user agent."""
    printable = "".join(char for char in user_agent.partition("/")[0] if char.isprintable())
    return field_manager or printable[:128]


def _check(kind: Kind, patch: JsonObject) -> None:
    said = (patch.get("apiVersion"), patch.get("kind"))
    version, name = (text if isinstance(text, str) else "" for text in said)
    if (version, name) != (kind.api_version, kind.name):
        place = version if "/" in version else f"/{version}"
        raise Refusal(400, "BadRequest", f"invalid object type: {place}, Kind={name}")
    _check_types(kind, patch)
    if (patch.get("metadata") or {}).get("managedFields") is not None:
        raise Refusal(400, "BadRequest", "metadata.managedFields must be nil")
    unknown = [f".{path}: field not declared in schema" for path in kind.unknown(patch)]
    if unknown:
        several = "errors:\n" + "\n".join(f"  {line}" for line in unknown)
        raise _untyped(kind, patch, several if len(unknown) > 1 else unknown[0])
    try:
        fieldpaths.check(kind, patch)
    except fieldpaths.Untyped as error:
        raise _untyped(kind, patch, str(error)) from error


def _check_types(kind: Kind, patch: JsonObject) -> None:
    try:
        if kind.shape:
            shapes.decoded(kind.shape, patch)
        else:
            meta = patch.get("metadata")
            shapes.decoded("meta.ObjectMeta", {} if meta is None else meta)
    except shapes.Mistyped as error:
        raise _untyped(kind, patch, str(error)) from error
    except shapes.Misshapen:
        return  # Only types count here. The rest is refused when the whole object is decoded.


def _untyped(kind: Kind, patch: JsonObject, detail: str) -> Refusal:
    meta = patch.get("metadata")
    held = (meta.get("namespace"), meta.get("name")) if isinstance(meta, dict) else ("", "")
    place = "/".join(text if isinstance(text, str) else "" for text in held)
    group = f"{kind.group}/{kind.version}"
    where = f"({place}; {group}, Kind={kind.name})"
    return Refusal(500, "", f"failed to create typed patch object {where}: {detail}")


def _bare(obj: JsonObject) -> JsonObject:
    meta = obj.get("metadata") or {}
    if "managedFields" not in meta:
        return obj
    kept = {name: value for name, value in meta.items() if name != "managedFields"}
    return {**obj, "metadata": kept}


def _ignored(kind: Kind, who: FieldManager) -> tuple[Path, ...]:
    """What a write through this door cannot change, and so cannot own."""
    if who.subresource == "status":
        return (("f:spec",),)
    return (("f:status",),) if kind.has_status and not who.subresource else ()


def _filtered(change: fieldpaths.Difference, ignored: tuple[Path, ...]) -> fieldpaths.Difference:
    return fieldpaths.Difference(
        fieldpaths.without(change.added, ignored),
        fieldpaths.without(change.changed, ignored),
        fieldpaths.without(change.removed, ignored),
    )


def _first_owner(kind: Kind, live: JsonObject, who: FieldManager) -> Owner:
    """Objects that nobody has tracked belong to an unknown first owner."""
    fields = fieldpaths.difference(kind, kind.zero, live).written - _UNOWNED
    return Owner(
        manager="before-first-apply",
        operation="Update",
        api_version=kind.api_version,
        time=second_time(who.now),
        fields=fieldpaths.without(fields, _ignored(kind, who)),
    )


def _forgotten(kind: Kind, new: JsonObject, last: FieldSet, owners: list[Owner]) -> JsonObject:
    """``new`` without what the applier mentioned last time and nobody owns any more."""
    owned = fieldpaths.named(frozenset().union(*(one.fields for one in owners)))
    everything = fieldpaths.named(fieldpaths.fields_of(kind, new))
    dropped = fieldpaths.named(last)
    rest = fieldpaths.named(fieldpaths.fields_of(kind, fieldpaths.pruned(kind, new, dropped)))
    kept = fieldpaths.pruned(kind, new, everything - (rest | owned))
    surviving = fieldpaths.named(fieldpaths.fields_of(kind, kept))
    return fieldpaths.pruned(kind, new, (everything - surviving) & dropped)


def _refuse_conflicts(
    kind: Kind,
    live: JsonObject,
    others: list[Owner],
    change: fieldpaths.Difference,
    who: FieldManager,
) -> None:
    if who.force:
        return
    allowed = _client_side(kind, live) if who.name == "kubectl" else frozenset()
    found = [
        (str(one), fieldpaths.shown(path))
        for one in sorted(others, key=str)
        for path in sorted((one.fields & change.written) - allowed, key=fieldpaths.order)
    ]
    if found:
        causes = tuple(
            Cause("FieldManagerConflict", f"conflict with {manager}", path)
            for manager, path in found
        )
        raise Refusal(409, "Conflict", _conflicts_shown(found), causes=causes)


def _conflicts_shown(found: list[tuple[str, str]]) -> str:
    if len(found) == 1:
        manager, path = found[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {path}"
    lines: list[str] = []
    for manager in dict(found):
        lines.append(f"conflicts with {manager}:")
        lines += [f"- {path}" for name, path in found if name == manager]
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


def _client_side(kind: Kind, live: JsonObject) -> FieldSet:
    """What kubectl has applied from the client's side before, and still finds unchanged."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    try:
        last = json.loads(text) if text else None
    except ValueError:
        return frozenset()
    if not isinstance(last, dict) or last.get("apiVersion") != kind.api_version:
        return frozenset()
    change = fieldpaths.difference(kind, last, live)
    return fieldpaths.fields_of(kind, last) - change.written - change.removed


def _known_owners(before: JsonObject | None, after: JsonObject, who: FieldManager) -> list[Owner]:
    """The owners to start from: a writer may set them, except through a subresource."""
    known = managers.read(before or {}) or []
    given = (after.get("metadata") or {}).get("managedFields")
    if who.subresource or given is None:
        return known
    if given in ([], [{}]):
        return []  # the writer asks to forget all owners
    return managers.read(after) or known


def _understood(kind: Kind, owners: list[Owner]) -> list[Owner]:
    """The real server forgets owners who know the fields by the names of another group."""
    return [one for one in owners if one.api_version.rpartition("/")[0] == kind.group]


def _timeless(obj: JsonObject) -> JsonObject:
    meta = dict(obj.get("metadata") or {})
    meta["managedFields"] = [
        {name: value for name, value in entry.items() if name != "time"}
        for entry in meta.get("managedFields") or []
    ]
    return {**obj, "metadata": meta}
