"""Which exports would lose all their endpoints because of one list, and what they are until then.

A list of EndpointSlices can be as wrong as one of Services, and then every mirror would turn away
its callers at once. An export that goes dark like that stays what its mirror shows, so that all
that is decided about it afterwards is decided as before; the guard says for how long.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from msgspec.structs import replace

from isthmus.core import mirror, naming
from isthmus.core.link import claimed
from isthmus.core.world import Claim
from isthmus.model.exports import Export, NamedPod
from isthmus.model.links import Link
from isthmus.model.objects import Endpoint, EndpointSlice, Key


def is_dark(export: Export) -> bool:
    """Tell whether nothing of ``export`` can be called, and no pod is left to name."""
    return not (export.ready or export.pods)


def shown(
    export: Export, link: Link, slices: Mapping[Key, Sequence[EndpointSlice]]
) -> list[Endpoint]:
    """Return the endpoints that the mirror of ``export`` has here."""
    name = Key(export.namespace, naming.mirror_name(export, link))
    claim = Claim(link.uid, export.key)
    return [
        endpoint
        for one in slices.get(name, ())
        if mirror.stands_for(one.metadata, claim, link)
        for endpoint in one.endpoints
    ]


def is_lit(endpoints: Iterable[Endpoint]) -> bool:
    """Tell whether a mirror has something to lose: a pod's name, or an endpoint that is ready.

    Names count even if their pods are not ready, because their Services go with them.
    """
    return any(one.hostname is not None or _is_ready(one) for one in endpoints)


def named(endpoints: Iterable[Endpoint], *, gateway_alive: bool) -> tuple[NamedPod, ...]:
    """Return the pods that a headless mirror shows.

    What a dead gateway has made unready may be called when it is back.
    """
    ready = {
        one.hostname: _is_ready(one) or not gateway_alive
        for one in endpoints
        if one.hostname is not None
    }
    return tuple(NamedPod(hostname=name, ready=ready[name]) for name in sorted(ready))


def kept(export: Export, pods: tuple[NamedPod, ...]) -> Export:
    """Return ``export`` as it was before its endpoints were gone."""
    return replace(export, pods=pods, ready=True)


@dataclass(frozen=True, slots=True)
class Held:
    """What waits for a second list: mirrors that would be deleted, exports that would go dark."""

    mirrors: Set[Key] = frozenset()
    exports: Set[Key] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.mirrors or self.exports)

    def covers(self, other: "Held") -> bool:
        return other.mirrors <= self.mirrors and other.exports <= self.exports

    def is_confirmed(self, exports: Mapping[Key, Export], link: Link) -> bool:
        """Tell whether ``exports``, read independently, claim none of the mirrors, and leave none
        of the exports with anything to call."""
        return self.mirrors.isdisjoint(claimed(exports, link)) and all(
            is_dark(exports[key]) for key in self.exports if key in exports
        )


def _is_ready(endpoint: Endpoint) -> bool:
    return endpoint.conditions.ready is not False
