"""Exports and mirrors, as tables or as data. Pure."""

from isthmus.cli import render
from isthmus.cli.looking.sharing import Shared
from isthmus.cli.looking.standing import Endpoints, Exported, Mirrored
from isthmus.model.wire import Json, JsonObject

_EXPORTS = ("Namespace", "Name", "State", "Endpoints", "Granted to", "Reason")
_MIRRORS = ("Link", "Namespace", "Name", "State", "Endpoints", "Remote", "Reason")


def rendered(found: Shared, output: str) -> str:
    if output != "table":
        return render.document(_document(found), output)
    exports, mirrors = found.exports, found.mirrors
    tables: dict[str, str] = {}
    if exports is not None:
        tables["EXPORTS"] = render.rows(_EXPORTS, map(_exported, exports))
    if mirrors is not None:
        tables["MIRRORS"] = render.rows(_MIRRORS, map(_mirrored, mirrors))
    if len(tables) == 1:
        return "".join(f"{table}\n" for table in tables.values())
    return "\n".join(f"{title}\n{table}\n" for title, table in tables.items())


def _exported(one: Exported) -> tuple[str, ...]:
    granted = " ".join(map(str, one.granted)) or "nobody"
    return (*one.key, one.state, str(one.endpoints), granted, _reason(one))


def _mirrored(one: Mirrored) -> tuple[str, ...]:
    endpoints = "" if one.endpoints is None else str(one.endpoints)
    return (one.link, *one.key, one.state, endpoints, one.remote, _reason(one))


def _reason(one: Exported | Mirrored) -> str:
    return ": ".join(part for part in (one.reason, one.message) if part)


def _document(found: Shared) -> JsonObject:
    document: JsonObject = {}
    if found.exports is not None:
        document["exports"] = [_export(one) for one in found.exports]
    if found.mirrors is not None:
        document["mirrors"] = [_mirror(one) for one in found.mirrors]
    return document


def _export(one: Exported) -> JsonObject:
    return {
        **one.key._asdict(),
        "state": one.state,
        "endpoints": _endpoints(one.endpoints),
        "grantedTo": [
            {"cluster": given.cluster, "from": given.callers and list(given.callers)}
            for given in one.granted
        ],
        "reason": one.reason,
        "message": one.message,
    }


def _mirror(one: Mirrored) -> JsonObject:
    return {
        "link": one.link,
        **one.key._asdict(),
        "state": one.state,
        "endpoints": _endpoints(one.endpoints),
        "remote": one.remote,
        "reason": one.reason,
        "message": one.message,
    }


def _endpoints(found: Endpoints | None) -> Json:
    return None if found is None else {"ready": found.ready, "all": found.all}
