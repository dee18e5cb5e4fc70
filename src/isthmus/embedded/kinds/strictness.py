"""What ``fieldValidation`` complains about: fields written twice, and fields nobody knows."""

import json
from collections.abc import Iterator

from isthmus.embedded.kinds.kind import Kind
from isthmus.model.wire import Json, JsonObject


class _Object(dict[str, Json]):
    """An object that remembers which of its members were written more than once."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.repeated = [name for name in self if names.count(name) > 1]


def complaints(kind: Kind, obj: JsonObject, body: bytes) -> list[str]:
    """The sentences about ``obj``, which was sent as ``body`` (YAML hides what is repeated)."""
    try:
        written = json.loads(body, object_pairs_hook=_Object)
    except ValueError:
        written = None
    twice = [f'duplicate field "{path}"' for path in _repeated(written, "")]
    return twice + [f'unknown field "{path}"' for path in kind.unknown(obj)]


def _repeated(value: Json, path: str) -> Iterator[str]:
    if isinstance(value, _Object):
        for name, member in value.items():
            here = f"{path}.{name}" if path else name
            if name in value.repeated:
                yield here
            yield from _repeated(member, here)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _repeated(item, f"{path}[{index}]")
