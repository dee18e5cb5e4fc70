"""The mirrors that their own link does not claim any more: what a mass deletion would take."""

from collections.abc import Mapping, Set

from isthmus.core import mirror
from isthmus.core.index import Claims
from isthmus.model.objects import Key, Service


class Orphans:
    """Kept by link, name by name, so that the guard need not count anew at every change."""

    def __init__(self, services: Mapping[Key, Service], claims: Claims) -> None:
        self._services = services
        self._claims = claims
        self._by_link: dict[str, set[Key]] = {}
        self._link_of: dict[Key, str] = {}

    def of(self, uid: str) -> Set[Key]:
        return self._by_link.get(uid, frozenset())

    def recheck(self, name: Key) -> None:
        """Take in that the Service of that name, or who claims it, may be another."""
        former = self._link_of.pop(name, None)
        if former is not None:
            self._by_link[former].discard(name)
            if not self._by_link[former]:
                del self._by_link[former]
        service = self._services.get(name)
        owner = "" if service is None else mirror.owner(service.metadata)
        if owner and not self._claims.has(owner, name):
            self._by_link.setdefault(owner, set()).add(name)
            self._link_of[name] = owner
