"""Caches as the planner wants to see them: the same objects under other keys, kept as they change.

A plan looks several times at what has changed once, so that it is looked up and not put together.
"""

from collections.abc import Mapping

from isthmus.model.objects import EndpointSlice, Key, Namespace, service_of
from isthmus.runtime.cache import Cache, Change


def by_name(cache: Cache[Key, Namespace]) -> Mapping[str, Namespace]:
    """Return the namespaces by their names."""
    found: dict[str, Namespace] = {}

    def update(change: Change[Key, Namespace]) -> None:
        if change.after is None:
            del found[change.key.name]
        else:
            found[change.key.name] = change.after

    cache.follow(update)
    return found


def by_service(cache: Cache[Key, EndpointSlice]) -> Mapping[Key, tuple[EndpointSlice, ...]]:
    """Return the slices by the Service that they belong to, in the order of their names."""
    found: dict[Key, tuple[EndpointSlice, ...]] = {}

    def update(change: Change[Key, EndpointSlice]) -> None:
        before = () if change.before is None else service_of(change.before)
        after = () if change.after is None else service_of(change.after)
        for service in {*before, *after}:
            slices = {one.metadata.key: one for one in found.pop(service, ())}
            slices.pop(change.key, None)
            if change.after is not None and service in after:
                slices[change.key] = change.after
            if slices:
                found[service] = tuple(slices[key] for key in sorted(slices))

    cache.follow(update)
    return found
