"""Caches as the planner wants to see them: the same objects under other keys, never copied."""

from collections.abc import Iterator, Mapping

from isthmus.model.objects import EndpointSlice, Key, Namespace
from isthmus.runtime.cache import Cache, Index


class ByName(Mapping[str, Namespace]):
    """Namespaces by their names."""

    def __init__(self, cache: Cache[Key, Namespace]) -> None:
        self._objects = cache.objects

    def __getitem__(self, name: str) -> Namespace:
        return self._objects[Key("", name)]

    def __iter__(self) -> Iterator[str]:
        return (key.name for key in self._objects)

    def __len__(self) -> int:
        return len(self._objects)


class ByService(Mapping[Key, tuple[EndpointSlice, ...]]):
    """Slices by the Service that they belong to, in the order of their names."""

    def __init__(
        self, cache: Cache[Key, EndpointSlice], index: Index[Key, EndpointSlice, Key]
    ) -> None:
        self._objects = cache.objects
        self._index = index

    def __getitem__(self, service: Key) -> tuple[EndpointSlice, ...]:
        found = self._index[service]
        if not found:
            raise KeyError(service)
        return tuple(self._objects[key] for key in sorted(found))

    def __iter__(self) -> Iterator[Key]:
        return iter(self._index)

    def __len__(self) -> int:
        return sum(1 for _ in self._index)
