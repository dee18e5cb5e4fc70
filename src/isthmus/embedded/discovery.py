"""Tells clients what a cluster serves: versions, groups, resources and their schemas."""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from isthmus.embedded.kinds import Kind

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Page:
    """An answer of discovery; its content type matters to clients, so it is part of it."""

    content_type: str
    body: bytes


def answer(path: str, accept: str, kinds: Iterable[Kind]) -> Page | None:
    """Serve ``GET path``: health, version, groups, resources, OpenAPI; nothing for the rest.

    ``kinds`` are all kinds served now, custom ones and ``reviews.REVIEWS`` included.
    """
    match path.strip("/").split("/"):
        case ["healthz" | "livez" | "readyz", *_]:
            return Page("text/plain; charset=utf-8", b"ok")
        case _:
            return None


def _json(document: object, content_type: str = JSON) -> Page:
    return Page(content_type, msgspec.json.encode(document))
