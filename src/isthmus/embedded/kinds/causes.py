"""The sentences in which the API says that a field is wrong.

Each function makes one :class:`Cause`; :func:`refusals.invalid` answers with all of them.
"""

import json
from collections.abc import Iterable

from isthmus.embedded.status import Cause
from isthmus.model.wire import Json

IMMUTABLE = "field is immutable"


def shown(value: Json) -> str:
    """A value as it is quoted in messages: Go's %q for strings, compact JSON for the rest."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def invalid(field: str, value: Json, detail: str) -> Cause:
    return _cause("FieldValueInvalid", f"Invalid value: {shown(value)}", detail, field)


def mistyped(field: str, value: Json, detail: str) -> Cause:
    return _cause("FieldValueTypeInvalid", f"Invalid value: {shown(value)}", detail, field)


def required(field: str, detail: str = "") -> Cause:
    return _cause("FieldValueRequired", "Required value", detail, field)


def unsupported(field: str, value: Json, allowed: Iterable[str]) -> Cause:
    detail = "supported values: " + ", ".join(shown(one) for one in allowed)
    return _cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}", detail, field)


def duplicate(field: str, value: Json) -> Cause:
    return _cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", "", field)


def missing(field: str, value: Json) -> Cause:
    return _cause("FieldValueNotFound", f"Not found: {shown(value)}", "", field)


def forbidden(field: str, detail: str) -> Cause:
    return _cause("FieldValueForbidden", "Forbidden", detail, field)


def too_long(field: str, limit: int) -> Cause:
    return _cause("FieldValueTooLong", "Too long", f"may not be more than {limit} bytes", field)


def too_many(field: str, count: int, limit: int) -> Cause:
    detail = f"must have at most {limit} items"
    return _cause("FieldValueTooMany", f"Too many: {count}", detail, field)


def each(field: str, value: Json, sentences: Iterable[str]) -> list[Cause]:
    """One ``invalid`` per sentence, as the spelling rules of :mod:`formats` return them."""
    return [invalid(field, value, sentence) for sentence in sentences]


def unequal(field: str, new: Json, old: Json) -> list[Cause]:
    """A field that may not change; absent and null are the same."""
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def _cause(reason: str, message: str, detail: str, field: str) -> Cause:
    return Cause(reason, f"{message}: {detail}" if detail else message, field)
