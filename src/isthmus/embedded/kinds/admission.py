"""What happens to an object between decoding and storing: it is completed, then judged.

The order in the request path is the API server's own, because who owns a field depends on it:
``filled`` (defaults; the writer owns them), then ``apply.tracked``, then ``prepared`` (what
the server decides; nobody owns it), then ``judged``. ``admit`` does all but the tracking.
"""

from isthmus.embedded.copying import copied
from isthmus.embedded.kinds import metadata, refusals, shapes
from isthmus.embedded.kinds.kind import Kind
from isthmus.model.wire import JsonObject


def admit(kind: Kind, new: JsonObject, old: JsonObject | None) -> JsonObject:
    """A completed copy of ``new``; raises the Refusal 422 if it may not be stored."""
    ready = prepared(kind, filled(kind, new), old)
    judged(kind, ready, old)
    return ready


def filled(kind: Kind, obj: JsonObject) -> JsonObject:
    """A copy of ``obj`` with its defaults, and without fields that its type does not know."""
    done = decoded(kind, obj)
    kind.fill(done)
    return done


def decoded(kind: Kind, obj: JsonObject) -> JsonObject:
    """A copy of ``obj`` in its one form; raises the Refusal 400 if it does not fit its type."""
    try:
        if kind.shape:
            return shapes.decoded(kind.shape, obj)
        meta = obj.get("metadata")
        done = shapes.decoded("meta.ObjectMeta", {} if meta is None else meta)
        return {**copied(obj), "metadata": done}
    except shapes.Misshapen as error:
        where = f'{kind.name} in version "{kind.version}"'
        text = f"{where} cannot be handled as a {kind.name}: {error}"
        raise refusals.bad_request(text) from error


def prepared(kind: Kind, new: JsonObject, old: JsonObject | None) -> JsonObject:
    """A copy of ``new`` with what the server itself decides."""
    done: JsonObject = copied(new)
    kind.prepare(done, old)
    return done


def judged(kind: Kind, new: JsonObject, old: JsonObject | None) -> None:
    """Raise the Refusal 422 that names every wrong field of ``new``."""
    found = metadata.judge(kind, new, old)
    found += kind.judge(new, old)
    if found:
        name = new["metadata"].get("name") or ""
        group = kind.resource.partition("/")[0]
        raise refusals.invalid(group, kind.name, name, tuple(found))
