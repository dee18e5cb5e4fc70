"""Versions, for people and as data. Pure."""

from isthmus import __version__
from isthmus.cli import render
from isthmus.cli.looking.versions import Component, Server, known
from isthmus.kube.resources import LINKS
from isthmus.model.wire import JsonObject

_COLUMNS = ("Component", "Pod", "Version", "Note")


def rendered(server: Server | None, output: str) -> str:
    if output != "text":
        return render.document(_document(server), output)
    lines = [f"isthmus {__version__}"]
    if server is not None:
        kinds = ", ".join(f"{LINKS.group}/{one}" for one in server.kinds)
        note = "" if known(server.kinds) else f" ‼ this program speaks {LINKS.version} only"
        lines += [f"kinds: {kinds or 'none'}{note}", ""]
        lines += [render.rows(_COLUMNS, map(_row, server.components))]
    return "\n".join(lines) + "\n"


def _row(one: Component) -> tuple[str, ...]:
    return (one.role, one.pod, one.version, _note(one))


def _note(one: Component) -> str:
    match _matches(one):
        case None:
            return "it does not say; its image has no tag"
        case False:
            return f"‼ not {__version__}, as this program"
        case True:
            return ""


def _matches(one: Component) -> bool | None:
    return one.version.removeprefix("v") == __version__ if one.version else None


def _document(server: Server | None) -> JsonObject:
    document: JsonObject = {"client": {"version": __version__}}
    if server is not None:
        document["server"] = {
            "components": [
                {
                    "role": one.role,
                    "pod": one.pod,
                    "image": one.image,
                    "version": one.version or None,
                    "matches": _matches(one),
                }
                for one in server.components
            ],
            "kinds": {"served": list(server.kinds), "known": known(server.kinds)},
        }
    return document
