"""``isthmus trust rotate status``: who trusts whom by now, as a table or as data."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from isthmus.apps.rotation.kept import Kept
from isthmus.apps.rotation.looking import Look, noted
from isthmus.apps.rotation.planning import Looks
from isthmus.cli import render
from isthmus.embedded.tables.table import age
from isthmus.model.quoting import one_line
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject
from isthmus.pki import bundle
from isthmus.pki.bundle import Bundle
from isthmus.pki.rotation import next_step
from isthmus.pki.seen import Seen

_LONGEST_CELL = 120
_COLUMNS = ("Cluster", "Member", "Role", "Trusts", "Below", "Heard")


def rendered(looks: Looks, kept: Kept | None, output: str, now: datetime) -> str:
    if output != "table":
        return render.document(_document(looks, kept, now), output)
    names = _names(kept)
    rows = [cells for look in looks.values() for cells in _rows(look, kept, names, now)]
    answer = {
        "columnDefinitions": [{"name": name} for name in _COLUMNS],
        "rows": [{"cells": [one_line(cell, _LONGEST_CELL) for cell in row]} for row in rows],
    }
    return f"{_headline(looks, kept, now)}\n\n{render.table(answer)}\n"


def _headline(looks: Looks, kept: Kept | None, now: datetime) -> str:
    if kept is None:
        return "no rotation is going on"
    rotation = kept.rotation
    turned = "rolling back" if rotation.direction == "back" else "replacing"
    paused = ", paused" if rotation.paused else ""
    old, new = rotation.old.fingerprint[:16], rotation.new.fingerprint[:16]
    return f"{turned}: old {old}, new {new}; phase: {_phase(looks, kept, now)}{paused}"


def _phase(looks: Looks, kept: Kept, now: datetime) -> str:
    """Return how far it is; a pause does not change that."""
    seen: Seen = {}
    for look in looks.values():
        seen = noted(seen, look, kept.anchors)
    return next_step(kept.rotation.resume(), seen, now).phase


def _rows(
    look: Look, kept: Kept | None, names: Mapping[str, str], now: datetime
) -> Iterable[list[str]]:
    below = look.issues_from(_known(look, kept))
    yield [
        look.cluster,
        "-",
        "cluster",
        _said(look.bundle.fingerprints, names),
        names.get(below, below[:8]),
        "-",
    ]
    for name, role in sorted(look.roles.items()):
        found = look.report(name)
        if found is None:
            yield [look.cluster, name, role, "?", "?", "never"]
        else:
            yield [
                look.cluster,
                name,
                role,
                _said(found.trusts, names),
                _said(found.chains_to, names),
                f"{age(now - found.at)} ago",
            ]


def _document(looks: Looks, kept: Kept | None, now: datetime) -> JsonObject:
    document: JsonObject = {"rotation": None}
    if kept is not None:
        rotation = kept.rotation
        document["rotation"] = {
            "old": rotation.old.fingerprint,
            "new": rotation.new.fingerprint,
            "direction": rotation.direction,
            "paused": rotation.paused,
            "phase": _phase(looks, kept, now),
        }
    return document | {"clusters": [_cluster(look, kept) for look in looks.values()]}


def _cluster(look: Look, kept: Kept | None) -> JsonObject:
    return {
        "name": look.cluster,
        "trusts": list(look.bundle.fingerprints),
        "issuerBelow": look.issues_from(_known(look, kept)),
        "members": [_member(look, name) for name in sorted(look.roles)],
    }


def _member(look: Look, name: str) -> JsonObject:
    document: JsonObject = {"name": name, "role": look.roles[name]}
    if (found := look.report(name)) is not None:
        document |= {
            "trusts": sorted(found.trusts),
            "below": sorted(found.chains_to),
            "heard": second_time(found.at),
        }
    return document


def _known(look: Look, kept: Kept | None) -> Bundle:
    return look.bundle if kept is None else bundle.of((*look.bundle.anchors, *kept.anchors.anchors))


def _names(kept: Kept | None) -> Mapping[str, str]:
    if kept is None:
        return {}
    return {kept.rotation.old.fingerprint: "old", kept.rotation.new.fingerprint: "new"}


def _said(anchors: Iterable[str], names: Mapping[str, str]) -> str:
    return "+".join(sorted(names.get(each, each[:8]) for each in anchors)) or "-"
