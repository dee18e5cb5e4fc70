"""Those who write and own fields in tests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from isthmus.embedded.patches.apply import FieldManager
from isthmus.model.wire import Json

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def who(name: str, *, force: bool = False, after: int = 0, subresource: str = "") -> FieldManager:
    now = NOON + timedelta(seconds=after)
    return FieldManager(name=name, now=now, operation="Apply", force=force, subresource=subresource)


def updater(name: str, **more: Json) -> FieldManager:
    return replace(who(name, **more), operation="Update")
