"""Caches as those who decide want to see them: the same objects under other keys, kept as they
change. What has changed once is looked at several times, and not put together each time.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

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


def by_service(cache: Cache[Key, EndpointSlice]) -> Mapping[Key, Sequence[EndpointSlice]]:
    """Return the slices by the Service that they belong to, in the order of their names."""
    found: dict[Key, list[EndpointSlice]] = {}

    def update(change: Change[Key, EndpointSlice]) -> None:
        # Without sorting anew: anybody may make thousands that say to belong to one Service.
        for service in () if change.before is None else service_of(change.before):
            left = found[service]
            del left[bisect_left(left, change.key.name, key=_name)]
            if not left:
                del found[service]
        if change.after is not None:
            for service in service_of(change.after):
                insort(found.setdefault(service, []), change.after, key=_name)

    cache.follow(update)
    return found


def _name(one: EndpointSlice) -> str:
    return one.metadata.name
