"""An Envoy reduced to what it does with resources: takes, warms, asks for more, refuses."""

from collections import deque
from collections.abc import Iterator

from isthmus.xds.references import ALL, Reference
from isthmus.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SCOPED_ROUTES, SECRET
from isthmus.xds.session import Asked, Said
from isthmus.xds.snapshot import Entry
from isthmus.xds.topic import WILDCARD

SCOPES = Reference(SCOPED_ROUTES, ALL)
BY_NAME = (ENDPOINTS, SECRET, ROUTES)


def is_bad(entry: Entry) -> bool:
    return "bad" in entry.version


class Dangling(AssertionError):
    """Something in use refers to what is not there."""


class FakeEnvoy:
    """Follows Envoy: refuses a response if any of it is bad, though it takes the rest of it.

    A changed cluster serves as it was until the new one has everything it needs; it waits for
    endpoints that come after it, and does not ask for those it has asked for before. As long as
    one waits, nothing is said about clusters, on a new stream neither. Before the first of them
    are all there it is otherwise: then it is listeners that are not spoken of. Scoped routes are
    its listeners': without one that follows them it forgets them, and does not speak of them.
    """

    def __init__(self) -> None:
        self.taken: dict[str, dict[str, Entry]] = {
            kind: {} for kind in (CLUSTER, ENDPOINTS, SECRET, LISTENER, ROUTES, SCOPED_ROUTES)
        }
        self.serving: dict[str, Entry] = {}  # clusters that are warm, as they were then
        self.lacking: dict[str, set[Reference]] = {}  # by cluster: what it waits for
        self.interest: dict[str, set[str]] = {kind: set() for kind in BY_NAME}
        self.started: set[str] = set()
        self.is_scoped = False  # whether a listener follows scoped routes
        self.inbox: deque[Said] = deque()
        self.outbox: deque[Asked] = deque()
        self.unsaid: list[Asked] = []  # about clusters
        self.impatient = 0
        self.repeated: list[tuple[str, str]] = []
        self.connect()

    def connect(self) -> None:
        """Begin a stream; what the last one left unread is lost."""
        self.inbox.clear()
        self.outbox.clear()
        self.unsaid.clear()
        if not self.is_scoped:
            self.started.discard(SCOPED_ROUTES)
        for kind in (CLUSTER, *sorted(self.started - {CLUSTER})):
            self._start(kind)

    def process(self) -> None:
        """Take in the next response and answer it."""
        said = self.inbox.popleft()
        kind = said.type_url
        bad = sorted(name for name, entry in said.entries.items() if is_bad(entry))
        for name in said.removed:
            self._remove(kind, name)
        for name, entry in said.entries.items():
            if name not in bad:
                self._take(kind, name, entry)
            elif kind in BY_NAME:
                break  # the rest of it is not even looked at
        error = f"cannot use {bad[0]} and perhaps more" if bad else None
        self._say(Asked(type_url=kind, nonce=said.nonce, error=error))
        self._change_interest()
        self._go_on()
        self.check()

    def lose_patience(self) -> None:
        """Let clusters serve with what they have, as they do after a while."""
        self.impatient += 1
        for name in self.lacking:
            self.serving[name] = self.taken[CLUSTER][name]
        self.lacking.clear()
        self._change_interest()
        self._go_on()

    def _say(self, asked: Asked) -> None:
        if asked.type_url == CLUSTER and self.lacking and LISTENER in self.started:
            self.unsaid.append(asked)
        else:
            self.outbox.append(asked)

    def _go_on(self) -> None:
        if self.lacking:
            return
        self.outbox.extend(self.unsaid)
        self.unsaid.clear()
        if LISTENER not in self.started:
            self._start(LISTENER)

    def check(self) -> None:
        """Fail if anything in use refers to a cluster that is not there, or not yet warm."""
        for user, entry in self._in_use():
            for need in entry.needs:
                if need.type_url == CLUSTER and need.name not in self.serving:
                    raise Dangling(f"{user} needs {need.name}, serving are {set(self.serving)}")

    def _in_use(self) -> Iterator[tuple[str, Entry]]:
        for name, listener in self.taken[LISTENER].items():
            yield name, listener
            for need in listener.needs:
                if need.type_url == ROUTES and need.name in self.taken[ROUTES]:
                    yield need.name, self.taken[ROUTES][need.name]
                if need.type_url == SCOPED_ROUTES:
                    yield from self.taken[SCOPED_ROUTES].items()

    def _take(self, kind: str, name: str, entry: Entry) -> None:
        if kind in BY_NAME and name not in self.interest[kind]:
            return
        if kind == SCOPED_ROUTES and not self.is_scoped:
            return
        known = self.taken[kind].get(name)
        if known is not None and known.version == entry.version:
            self.repeated.append((kind, name))
        self.taken[kind][name] = entry
        if kind == CLUSTER and (known is None or known.version != entry.version):
            self.lacking[name] = {
                need
                for need in entry.needs
                if need.type_url == ENDPOINTS or need.name not in self.taken[need.type_url]
            }
        self._warm(Reference(kind, name))

    def _warm(self, arrived: Reference) -> None:
        for name in list(self.lacking):
            self.lacking[name].discard(arrived)
            if not self.lacking[name]:
                del self.lacking[name]
                self.serving[name] = self.taken[CLUSTER][name]

    def _remove(self, kind: str, name: str) -> None:
        self.taken[kind].pop(name, None)
        if kind == CLUSTER:
            self.serving.pop(name, None)
            self.lacking.pop(name, None)
        elif kind == ENDPOINTS:
            self._warm(Reference(kind, name))

    def _change_interest(self) -> None:
        needed = [*self.taken[CLUSTER].values(), *self.serving.values()]
        needed += self.taken[LISTENER].values()
        self._change_scope(any(SCOPES in one.needs for one in needed))
        for kind in BY_NAME:
            now = {need.name for one in needed for need in one.needs if need.type_url == kind}
            added, gone = now - self.interest[kind], self.interest[kind] - now
            self.interest[kind] = now
            for name in gone:
                self.taken[kind].pop(name, None)
            if kind not in self.started:
                if now:
                    self._start(kind)
            elif added or gone:
                self.outbox.append(
                    Asked(
                        type_url=kind,
                        subscribe=tuple(sorted(added)),
                        unsubscribe=tuple(sorted(gone)),
                    )
                )

    def _change_scope(self, is_scoped: bool) -> None:
        was_scoped, self.is_scoped = self.is_scoped, is_scoped
        if is_scoped and SCOPED_ROUTES not in self.started:
            self._start(SCOPED_ROUTES)
        elif is_scoped and not was_scoped:
            self.outbox.append(Asked(type_url=SCOPED_ROUTES, subscribe=(WILDCARD,)))
        elif was_scoped and not is_scoped:
            self.taken[SCOPED_ROUTES].clear()
            self.outbox.append(Asked(type_url=SCOPED_ROUTES, unsubscribe=(WILDCARD,)))

    def _start(self, kind: str) -> None:
        self.started.add(kind)
        self._say(
            Asked(
                type_url=kind,
                subscribe=tuple(sorted(self.interest.get(kind, ()))),
                versions={name: entry.version for name, entry in self.taken[kind].items()},
            )
        )
