"""Patches as the API understands them: JSON patch, merge patch and strategic merge patch."""

from isthmus.embedded.kinds import Kind
from isthmus.model.wire import JsonObject


def patched(kind: Kind, content_type: str, current: JsonObject, body: bytes) -> JsonObject:
    """``current`` after the patch; a new object. Raises a Refusal 400, 415 or 422."""
    raise NotImplementedError
