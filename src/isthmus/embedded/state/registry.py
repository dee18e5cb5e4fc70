"""The kinds that a cluster serves right now: the built-in ones and those of its CRDs."""

from collections.abc import Iterable

from isthmus.embedded.kinds.crds import from_crd
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.state.store import Event, Place, Record

CRDS = "apiextensions.k8s.io/customresourcedefinitions"


class Registry:
    """Follows the stored CRDs, so that a kind is served as soon as its CRD is written."""

    def __init__(self, builtin: Iterable[Kind]) -> None:
        self._builtin = {(kind.group, kind.version, kind.plural): kind for kind in builtin}
        self._custom: dict[Place, tuple[Kind, ...]] = {}
        self._rebuild()

    def kind(self, group: str, version: str, plural: str) -> Kind | None:
        return self._all.get((group, version, plural))

    def named(self, api_version: str, name: str) -> Kind | None:
        """The kind that an ``apiVersion`` and ``kind`` mean."""
        return self._named.get((api_version, name))

    def stored(self, resource: str) -> Kind | None:
        """A kind whose objects the store keeps as ``resource``."""
        return self._stored.get(resource)

    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self._all.values())

    def builtin(self) -> tuple[Kind, ...]:
        return tuple(self._builtin.values())

    def custom(self, kind: Kind) -> bool:
        return (kind.group, kind.version, kind.plural) not in self._builtin

    def reset(self, records: Iterable[Record]) -> None:
        self._custom = {}
        for record in records:
            if record.key.resource == CRDS:
                self._custom[record.key.place] = from_crd(record.object)
        self._rebuild()

    def note(self, event: Event) -> None:
        if event.key.resource != CRDS:
            return
        self._custom.pop(event.key.place, None)
        if event.after is not None:
            self._custom[event.key.place] = from_crd(event.after.object)
        self._rebuild()

    def _rebuild(self) -> None:
        self._all = dict(self._builtin)
        for kinds in self._custom.values():
            for kind in kinds:
                self._all.setdefault((kind.group, kind.version, kind.plural), kind)
        self._named = {(k.api_version, k.name): k for k in self._all.values()}
        self._stored = {k.resource: k for k in reversed(self._all.values())}
