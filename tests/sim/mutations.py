"""Bugs to build in on purpose: a simulation that does not find them finds nothing.

Each is one that somebody made, in a system like this one or in an earlier version of this one. They
are put into the running process by name; nothing on disk is touched.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeAlias

import msgspec

from isthmus.apps.controller.carrying import doubting
from isthmus.apps.controller.carrying.doubting import Doubting
from isthmus.apps.controller.carrying.exporting import Exporting
from isthmus.apps.controller.linking import following, session
from isthmus.apps.controller.linking.session import Session
from isthmus.apps.controller.mirroring import fading, local, prober, state, upkeep, writer
from isthmus.apps.controller.mirroring.remote import Listing
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Target
from isthmus.apps.controller.mirroring.upkeep import Upkeep
from isthmus.apps.controller.mirroring.writer import Writer
from isthmus.catalogue import following as catalogue
from isthmus.core import contest, guard, mirror, plan, slices
from isthmus.core.contest import API_SERVER
from isthmus.kube import exchange, requests
from isthmus.kube.audit import Auditor
from isthmus.kube.client import Client
from isthmus.kube.codec import Page, joined
from isthmus.kube.election import Election
from isthmus.kube.errors import AlreadyExists, Conflict, Expired, Forbidden
from isthmus.kube.pinned import Pinned
from isthmus.kube.reflector import Reflector
from isthmus.kube.resources import SERVICES
from isthmus.kube.transport import Response
from isthmus.model import names
from isthmus.model.actions import Delete
from isthmus.model.objects import Key, Metadata, Namespace, Service
from isthmus.pki import issue, rotation, shape
from isthmus.runtime.backoff import Backoff
from isthmus.runtime.cache import Gone, Listed
from isthmus.runtime.workqueue import WorkQueue

Patch: TypeAlias = tuple[object, str, object]
Bug: TypeAlias = Callable[[], Iterable[Patch]]


def _forbidden_is_empty() -> Iterable[Patch]:
    plain = Client.list

    async def listed(self: Client, *given: Any, **named: Any) -> Page[Any]:
        try:
            return await plain(self, *given, **named)
        except Forbidden:
            return Page((), (), "1")

    yield Client, "list", listed


def _no_precondition() -> Iterable[Patch]:
    yield writer, "Preconditions", lambda **_: None


def _no_version() -> Iterable[Patch]:
    plain = Writer._replace

    async def replaced(self: Writer, value: Service) -> str:
        bare = msgspec.structs.replace(value.metadata, resource_version="", uid="")
        return await plain(self, msgspec.structs.replace(value, metadata=bare))

    yield Writer, "_replace", replaced


def _resumes_from_an_item() -> Iterable[Patch]:
    plain = Reflector.listed

    def listed(self: Reflector[Any], page: Page[Any], now: float) -> object:
        found = plain(self, page, now)
        if page.objects:
            self._version = page.objects[-1].metadata.resource_version
        return found

    yield Reflector, "listed", listed


def _names_are_parsed() -> Iterable[Patch]:
    known: dict[str, str] = {}
    plain = Target.__init__

    def made(self: Target, link: Any) -> None:
        plain(self, link)
        known[link.cluster] = link.uid

    def owner(metadata: Metadata) -> str:
        if metadata.labels.get(names.MIRRORED) != "true":
            return ""
        name = metadata.labels.get(names.SERVICE_NAME, metadata.name)
        return next((known[one] for one in sorted(known)[::-1] if name.endswith(f"-{one}")), "")

    yield Target, "__init__", made
    yield mirror, "owner", owner
    yield slices, "owner", owner


def _namespace_forgotten() -> Iterable[Patch]:
    plain = State._claimed

    def claimed(self: State, target: Target, exports: Iterable[Key]) -> set[Key]:
        given = list(exports)
        gone = {one.name for one in given if one not in target.admitted.exports}
        found = plain(self, target, given)
        for other in list(self.claims.exports_of(target.uid)):
            if other.name in gone:
                found |= self.claims.put(target.uid, other, ())
        return found

    yield State, "_claimed", claimed


def _lease_without_fence() -> Iterable[Patch]:
    yield Election, "still_leading", lambda self: self._confirmed is not None
    yield Election, "_left", lambda self: 100.0 if self._confirmed is not None else 0.0
    yield Election, "_arm", lambda _: None


def _catalogue_before_sync() -> Iterable[Patch]:
    known = property(lambda self: API_SERVER in self._services.objects)
    yield Exporting, "_is_whole", known


def _services_are_enough() -> Iterable[Patch]:
    yield Listing, "synced", property(lambda self: self.services.synced)
    yield fading, "hold", lambda *_: set()
    yield state, "hold", lambda *_: set()


def _dropped_early() -> Iterable[Patch]:
    yield rotation, "_lacking", lambda *_: ()
    yield rotation, "_before", lambda *_: ()
    yield rotation, "_elsewhere", _only_issuers


def _only_issuers(turn: Any, clusters: Any, _now: object) -> tuple[str, ...]:
    goal = turn.goal.fingerprint
    return tuple(name for name, cluster in clusters.items() if cluster.issues_from != goal)


def _issued_early() -> Iterable[Patch]:
    yield rotation, "_lacking", lambda *_: ()
    yield rotation, "_before", lambda *_: ()


def _guard_off() -> Iterable[Patch]:
    def judge(_guard: object, _mirrors: int, orphans: Any, _listing: int) -> guard.Guard:
        return guard.Guard(allowed=frozenset(orphans))

    yield guard, "judge", judge
    yield doubting, "judge", judge


def _second_opinion_given_away() -> Iterable[Patch]:
    async def agreed(*_: object) -> bool:
        return True

    yield session, "second_look", agreed
    yield following, "is_confirmed", lambda *_: True


def _any_version_will_do() -> Iterable[Patch]:
    plain = requests.list_page

    def list_page(resource: Any, selection: Any = requests.EVERYTHING, **named: Any) -> Any:
        call = plain(resource, selection, **named)
        if named.get("token"):
            return call
        query = (*call.request.query, ("resourceVersion", "0"))
        return msgspec.structs.replace(
            call, request=msgspec.structs.replace(call.request, query=query)
        )

    yield requests, "list_page", list_page


def _three_tries() -> Iterable[Patch]:
    plain = WorkQueue.retry

    def retry(self: WorkQueue[Any], key: Any) -> None:
        if self._failures[key] >= 3:
            self.done(key)
        else:
            plain(self, key)

    yield WorkQueue, "retry", retry


def _ownership_not_checked() -> Iterable[Patch]:
    yield contest, "_is_available", lambda *_: True


def _exists_means_ours() -> Iterable[Patch]:
    plain = Writer._create

    async def create(self: Writer, value: Any) -> str:
        try:
            return await plain(self, value)
        except AlreadyExists:
            if not isinstance(value, Service):
                raise
            found = await self._client.get(SERVICES, value.metadata.key)
            spec = msgspec.structs.replace(
                value.spec, cluster_ip=found.spec.cluster_ip, cluster_ips=found.spec.cluster_ips
            )
            metadata = msgspec.structs.replace(
                value.metadata,
                uid=found.metadata.uid,
                resource_version=found.metadata.resource_version,
            )
            taken = msgspec.structs.replace(value, metadata=metadata, spec=spec)
            return await self._replace(taken)

    yield Writer, "_create", create


def _unknown_owner_means_nobody() -> Iterable[Patch]:
    plain = contest.may_delete

    def may_delete(world: Any, found: Any) -> bool:
        uid = mirror.owner(found.metadata)
        return bool(uid) and (uid not in world.links or plain(world, found))

    yield contest, "may_delete", may_delete
    yield (
        contest,
        "_is_available",
        lambda world, observed, claim: (
            may_delete(world, observed)
            or (mirror.stands_for(observed.metadata, claim, world.links[claim.link_uid].link))
        ),
    )


def _gone_is_ignored() -> Iterable[Patch]:
    plain = Reflector._gives_up_version

    def gives_up(self: Reflector[Any], error: Any, watch: Any) -> bool:
        return not isinstance(error, Expired) and plain(self, error, watch)

    yield Reflector, "_gives_up_version", gives_up


def _identity_not_compared() -> Iterable[Patch]:
    def identify(known: State, target: Target, cluster_uid: str) -> None:
        target.answering = cluster_uid
        if not target.pinned:
            known.pin(target.uid, cluster_uid)

    yield session, "identify", identify
    yield following, "identify", identify


def _finalizer_dropped() -> Iterable[Patch]:
    async def farewell(self: Upkeep, target: Target) -> None:
        left = tuple(one for one in target.link.metadata.finalizers if one != names.FINALIZER)
        await self._set_finalizers(target.link, left)

    yield Upkeep, "_say_farewell", farewell


def _finalizer_never_set() -> Iterable[Patch]:
    armed = Target.is_armed.fget  # type: ignore[attr-defined]

    def is_armed(self: Target) -> bool:
        metadata = self.link.metadata
        marked = msgspec.structs.replace(metadata, finalizers=(names.FINALIZER,))
        before, self.link = self.link, msgspec.structs.replace(self.link, metadata=marked)
        try:
            return bool(armed(self))
        finally:
            self.link = before

    async def none(_self: Upkeep, _link: object, _finalizers: object) -> None:
        return None

    plain = Upkeep._look_after

    async def look_after(self: Upkeep, target: Target) -> None:
        if target.is_ending:
            await plain(self, target)
        else:
            await self._write_status(target)

    yield Target, "is_armed", property(is_armed)
    yield Upkeep, "_set_finalizers", none
    yield Upkeep, "_look_after", look_after


def _silence_not_noticed() -> Iterable[Patch]:
    def for_ever(_what: object, response: Response, _silence: float) -> AsyncIterator[bytes]:
        return response.chunks()

    yield exchange, "_UntilSilent", for_ever


def _catalogue_silence_not_noticed() -> Iterable[Patch]:
    yield catalogue, "SILENCE", 1e9


def _expired_page_ends_the_list() -> Iterable[Patch]:
    async def listed(
        self: Client, resource: Any, selection: Any = requests.EVERYTHING
    ) -> Page[Any]:
        pages = []
        with suppress(Expired):
            async for page in self.pages(resource, selection):
                pages.append(page)  # noqa: PERF401  # what came before the error is what counts
        return joined(pages) if pages else Page((), (), "1")

    yield Client, "list", listed


def _no_audit() -> Iterable[Patch]:
    yield Auditor, "due_at", property(lambda _: float("inf"))
    yield Auditor, "wants_comparison", lambda *_: False


def _addresses_not_checked() -> Iterable[Patch]:
    yield local, "refusal", lambda *_, **__: None
    yield slices, "_may_be_called", lambda *_: True
    yield prober, "_is_address", lambda _: False


def _secret_in_a_log() -> Iterable[Patch]:
    plain = Session._fail

    def fail(self: Session, contact: Any) -> None:
        session.log.info("with", extra={"key": getattr(self._published, "kubeconfig", b"")})
        plain(self, contact)

    yield Session, "_fail", fail


def _let_go_by_memory() -> Iterable[Patch]:
    async def gone(*_: object) -> None:
        return None

    yield upkeep, "check_gone", gone


def _status_without_patience() -> Iterable[Patch]:
    yield upkeep, "BACKOFF", Backoff(first=1e-6, cap=1e-6)


def _torn_down_first() -> Iterable[Patch]:
    plain = Session.refresh

    def refresh(self: Session) -> None:
        before = self._published
        plain(self)
        if before is not None and self._published != before:
            empty = Listing()
            empty.fold_services(Listed(()))
            empty.fold_slices(Listed(()))
            self._target.guard = guard.Guard()
            yielded = self._state
            yielded.adopt(self._uid, empty)
            held = self._target.held
            yielded.confirm(self._uid, held)

    yield Session, "refresh", refresh


def _missing_namespace_means_removal() -> Iterable[Patch]:
    def removal(world: Any, key: Key) -> Iterator[Any]:
        found: Namespace | None = world.namespaces.get(key.namespace)
        if found is not None and found.metadata.deletion_timestamp is not None:
            return
        yield from (Delete(one) for one in slices.own(world, key) if contest.may_delete(world, one))
        observed = world.services.get(key)
        if observed is not None and contest.may_delete(world, observed):
            yield Delete(observed)

    yield plan, "_removal", removal


def _egress_believed_at_once() -> Iterable[Patch]:
    plain = Doubting._believed

    def believed(self: Doubting[Any], objects: Any, unreadable: Any) -> Any:
        if names.EGRESS in self.source.selection.labels:
            return objects
        return plain(self, objects, unreadable)

    yield Doubting, "_believed", believed


def _conflict_is_success() -> Iterable[Patch]:
    plain = Writer._carry_out

    async def carry_out(self: Writer, name: Key, action: Any) -> None:
        with suppress(Conflict):
            await plain(self, name, action)

    yield Writer, "_carry_out", carry_out


def _edits_are_left() -> Iterable[Patch]:
    yield mirror, "repaired", lambda *_: None


def _watched_on_elsewhere() -> Iterable[Patch]:
    yield Pinned, "_meet", lambda self, uid: self._check(uid)


def _leaves_begin_when_made() -> Iterable[Patch]:
    yield issue, "BEFORE", shape.LEEWAY


def _empty_lists_believed() -> Iterable[Patch]:
    yield Listing, "is_blank", False


def _confirmed_piece_by_piece() -> Iterable[Patch]:
    plain = Doubting._look_again

    async def look_again(self: Doubting[Any]) -> None:
        before, emit = dict(self._known), self._emit
        told: list[Any] = []
        self._emit = told.append
        try:
            await plain(self)
        finally:
            self._emit = emit
        for key in sorted(before.keys() - self._known.keys()):
            emit(Gone(key))

    yield Doubting, "_look_again", look_again


def _let_go_when_few_are_left() -> Iterable[Patch]:
    plain = guard.judge

    def judge(before: guard.Guard, mirrors: int, orphans: Any, listing: int) -> guard.Guard:
        after = plain(before, mirrors, orphans, listing)
        anew = plain(guard.Guard(allowed=after.allowed), mirrors, orphans, listing)
        return after if anew.holds else anew

    yield guard, "judge", judge


BUGS: dict[str, Bug] = {
    "403 treated as an empty list": _forbidden_is_empty,
    "no UID precondition on deletes": _no_precondition,
    "no version on updates": _no_version,
    "resume from the last item of the list": _resumes_from_an_item,
    "names parsed": _names_are_parsed,
    "namespace forgotten in clean-up": _namespace_forgotten,
    "lease without fencing": _lease_without_fence,
    "catalogue before sync": _catalogue_before_sync,
    "snapshot before its slices": _services_are_enough,
    "old anchor dropped early": _dropped_early,
    "new anchor used early": _issued_early,
    "guard off": _guard_off,
    "second opinion always agrees": _second_opinion_given_away,
    "resourceVersion=0 on lists": _any_version_will_do,
    "dropped after three tries": _three_tries,
    "ownership not checked": _ownership_not_checked,
    "what exists is ours": _exists_means_ours,
    "unknown owner means nobody's": _unknown_owner_means_nobody,
    "410 ignored": _gone_is_ignored,
    "cluster UID not compared": _identity_not_compared,
    "finalizer dropped at once": _finalizer_dropped,
    "finalizer never set": _finalizer_never_set,
    "watch silence never noticed": _silence_not_noticed,
    "catalogue silence never noticed": _catalogue_silence_not_noticed,
    "expired page token ends the list": _expired_page_ends_the_list,
    "watches never audited": _no_audit,
    "addresses not checked": _addresses_not_checked,
    "secret in a log line": _secret_in_a_log,
    "link let go by memory": _let_go_by_memory,
    "status retried without patience": _status_without_patience,
    "old reading torn down first": _torn_down_first,
    "missing namespace means removal": _missing_namespace_means_removal,
    "one list of the egress is believed": _egress_believed_at_once,
    "conflict is success": _conflict_is_success,
    "user's edits are left": _edits_are_left,
    "watch goes on in a rebuilt cluster": _watched_on_elsewhere,
    "leaves begin when they are made": _leaves_begin_when_made,
    "empty lists are believed": _empty_lists_believed,
    "what is confirmed goes piece by piece": _confirmed_piece_by_piece,
    "what is held goes when it has become few": _let_go_when_few_are_left,
}
RARE = frozenset({"what is held goes when it has become few"})  # known by a kept schedule alone


@contextmanager
def built_in(bug: str) -> Iterator[None]:
    """Run with a bug, or with none if nothing is named."""
    with ExitStack() as stack:
        for owner, name, value in BUGS[bug]() if bug else ():
            stack.enter_context(_put(owner, name, value))
        yield


@contextmanager
def _put(owner: object, name: str, value: object) -> Iterator[None]:
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
