"""What many exports add up to, kept as they come and go, so that one change costs one change."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Set

from msgspec.structs import replace

from isthmus.core.shares import Shares, lowest
from isthmus.core.world import Claim
from isthmus.model.exports import Export
from isthmus.model.links import LinkSpec
from isthmus.model.objects import Key


class Admitted:
    """The exports that a link has room for: the oldest, so that new ones displace nothing.

    There is as much room again for their named pods, if the link mirrors ``sets``.
    """

    def __init__(self, limit: int, *, sets: bool) -> None:
        self._limit = limit
        self._all: dict[Key, Export] = {}
        self._order: list[tuple[str, Key]] = []
        self._exports: dict[Key, Export] = {}
        self._shares = Shares(limit) if sets else None

    @classmethod
    def by(cls, spec: LinkSpec) -> "Admitted":
        return cls(spec.limits.services, sets=spec.enable_headless_services)

    @property
    def exports(self) -> Mapping[Key, Export]:
        return self._exports

    @property
    def excess(self) -> list[Key]:
        """The exports for which there is no room."""
        return [key for _, key in self._order[self._limit :]]

    @property
    def left_out(self) -> Mapping[Key, int]:
        """The exports some of whose pods there is no room for, with how many."""
        return {} if self._shares is None else self._shares.left_out()

    def put(self, key: Key, export: Export | None) -> set[Key]:
        """Note what ``key`` is now, None if it is gone; return the keys for which that matters."""
        before = self._all.pop(key, None)
        if before is not None:
            del self._order[bisect_left(self._order, (before.created, key))]
        if export is not None:
            self._all[key] = export
            insort(self._order, (export.created, key))
        touched = {key} | self._at_the_limit()
        if self._shares is not None:
            touched |= self._share(self._shares, touched)
        return {one for one in touched if self._decide(one)}

    def _at_the_limit(self) -> set[Key]:
        """Return the keys that may have changed sides: those next to the limit."""
        return {key for _, key in self._order[max(0, self._limit - 1) : self._limit + 1]}

    def _share(self, shares: Shares, touched: set[Key]) -> set[Key]:
        """Count the pods of what has been touched; return the sets that get more or fewer now."""
        before = shares.level
        for key in touched:
            export = self._all.get(key)
            has_room = export is not None and self._has_room(key, export)
            shares.put(key, len(export.pods) if export is not None and has_room else 0)
        if shares.level == before:
            return set()
        return set(shares.over(min(before, shares.level)))

    def _has_room(self, key: Key, export: Export) -> bool:
        return bisect_left(self._order, (export.created, key)) < self._limit

    def _decide(self, key: Key) -> bool:
        """Let ``key`` in or keep it out; tell whether that is news."""
        before = self._exports.pop(key, None)
        after = self._all.get(key)
        if after is not None and self._has_room(key, after):
            if self._shares is not None and len(after.pods) > self._shares.level:
                after = replace(after, pods=lowest(after.pods, self._shares.level))
            self._exports[key] = after
        return self._exports.get(key) != before


class Claims:
    """Who wants which local name, of all links together."""

    def __init__(self) -> None:
        self._names: dict[str, dict[Key, tuple[tuple[Key, Claim], ...]]] = {}
        self._by_name: dict[Key, tuple[Claim, ...]] = {}
        self._by_namespace: dict[str, set[Key]] = {}

    @property
    def by_name(self) -> Mapping[Key, tuple[Claim, ...]]:
        return self._by_name

    def put(self, link_uid: str, export: Key, wanted: Iterable[tuple[Key, Claim]]) -> set[Key]:
        """Let an export claim exactly ``wanted``; return the names that it claims or claimed."""
        names = self._names.setdefault(link_uid, {})
        before = names.pop(export, ())
        after = tuple(wanted)
        if after:
            names[export] = after
        for name, claim in before:
            if (name, claim) not in after:
                self._remove(name, claim)
        for name, claim in after:
            if (name, claim) not in before:
                self._add(name, claim)
        return {name for name, _ in (*before, *after)}

    def drop(self, link_uid: str) -> set[Key]:
        """Forget a link; return the names that it claimed."""
        exports = list(self._names.get(link_uid, ()))
        touched = {name for one in exports for name in self.put(link_uid, one, ())}
        self._names.pop(link_uid, None)
        return touched

    def of_link(self, link_uid: str) -> Iterator[Key]:
        """Iterate over the names that a link claims."""
        for wanted in self._names.get(link_uid, {}).values():
            for name, _ in wanted:
                yield name

    def exports_of(self, link_uid: str) -> Set[Key]:
        """Return the exports for which a link claims something."""
        return self._names.get(link_uid, {}).keys()

    def in_namespace(self, namespace: str) -> Set[Key]:
        return self._by_namespace.get(namespace, frozenset())

    def has(self, link_uid: str, name: Key) -> bool:
        return any(claim.link_uid == link_uid for claim in self._by_name.get(name, ()))

    def _add(self, name: Key, claim: Claim) -> None:
        self._by_name[name] = (*self._by_name.get(name, ()), claim)
        self._by_namespace.setdefault(name.namespace, set()).add(name)

    def _remove(self, name: Key, claim: Claim) -> None:
        left = tuple(one for one in self._by_name[name] if one != claim)
        if left:
            self._by_name[name] = left
            return
        del self._by_name[name]
        names = self._by_namespace[name.namespace]
        names.discard(name)
        if not names:
            del self._by_namespace[name.namespace]
