"""Reads one target, over its own connections, and keeps the state in step with it.

The credential may change at any time, and so may the selector. The new reading then has to be
complete, from the same cluster, before it takes the place of the old one; until that moment the
old one goes on, and if nothing is different in the target, nothing is different here.
"""

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field, replace

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.linking.meeting import duplicate, identify, outcome
from isthmus.apps.controller.linking.reading import Reading
from isthmus.apps.controller.linking.second import look_twice, second_look
from isthmus.apps.controller.mirroring.remote import Remote
from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import UNKNOWN, Contact
from isthmus.apps.controller.outside import Outside
from isthmus.core.dusk import Held
from isthmus.kube.client import Client
from isthmus.kube.pinned import Pinned
from isthmus.kube.reflect import Source, reflect
from isthmus.kube.reflector import Reflector
from isthmus.kube.requests import Selection
from isthmus.kube.resources import SECRETS
from isthmus.kube.restricted import Policy, load
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key, Secret
from isthmus.runtime.backoff import Backoff, Retries
from isthmus.runtime.cache import Event, Listed, Put
from isthmus.runtime.latest import Latest
from isthmus.runtime.workqueue import Lane

log = logging.getLogger(__name__)

BACKOFF = Backoff(first=1.0, cap=60.0)
FIELD = "kubeconfig"  # of the Secret


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reading is made of; another one takes another reading."""

    kubeconfig: bytes = field(repr=False)
    labels: str


class Session:
    """The session of one link; ends only by being cancelled."""

    def __init__(self, uid: str, state: State, outside: Outside, config: Config) -> None:
        self._uid = uid
        self._target = state.targets[uid]
        self._state = state
        self._outside = outside
        self._config = config
        self._secret: Secret | None = None
        self._wanted: Latest[Wanted] = Latest()
        self._published: Wanted | None = None
        self._current: asyncio.Task[None] | None = None
        self._trying: asyncio.Task[None] | None = None
        self._client: Client | None = None  # of the current reading
        self._is_live = False  # whether the current reading is up to date
        self._bad_secret: Contact | None = None
        self._trouble: Contact | None = None  # with a newer reading than the current one
        self._answers: Counter[tuple[str, str, str]] = Counter()  # to clients that are closed
        self._clients: set[Client] = set()
        self._divergences = 0

    @property
    def answers(self) -> Counter[tuple[str, str, str]]:
        """How often the target has answered, by verb, resource and outcome."""
        return sum((one.exchange.answers for one in self._clients), self._answers)

    @property
    def divergences(self) -> int:
        """How many objects a watch of the target had got wrong."""
        return self._divergences

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_secret())
            group.create_task(look_twice(self._state, self._target, self._outside, self._confirmed))
            async for wanted in self._wanted.follow():
                if self._trying is not None:
                    self._trying.cancel()
                self._trying = group.create_task(self._keep_reading(wanted))

    def refresh(self) -> None:
        """Take in that the link, or its Secret, may be another."""
        secret = self._secret
        if secret is None:
            return
        raw = secret.data.get(FIELD)
        if raw is None:
            message = f"Secret {secret.metadata.key} has no key {FIELD!r}"
            self._blame_secret(Contact(False, "BadCredentials", message))
            return
        self._bad_secret = None
        wanted = Wanted(raw, self._target.link.spec.selector.query)
        if wanted != self._published:
            self._published = wanted
            self._wanted.publish(wanted)

    async def _follow_secret(self) -> None:
        key = Key(self._config.namespace, self._target.link.spec.credentials_secret)
        selection = Selection(namespace=key.namespace, fields=f"metadata.name={key.name}")
        source = Source(self._outside.client, SECRETS, selection, self._config.cluster_name)

        def emit(event: Event[Key, Secret]) -> None:
            found = event.objects[0] if isinstance(event, Listed) and event.objects else None
            if isinstance(event, Put):
                found = event.object
            if found is None:
                # A Secret that is gone may be on its way back: what was read stays in use.
                self._secret = None
                missing = Contact(False, "CredentialsMissing", f"there is no Secret {key}")
                self._blame_secret(missing)
            else:
                self._secret = found
                self.refresh()

        await reflect(source, Reflector(self._outside.random), emit, self._outside.clock)

    async def _keep_reading(self, wanted: Wanted) -> None:
        """Read the target for as long as ``wanted`` is what is wanted."""
        retries = Retries(BACKOFF, self._outside.random)
        while True:
            try:
                client = self._connected(wanted)
            except IsthmusError as error:
                self._fail(outcome(error))
                await self._outside.clock.sleep(retries.failed())
                continue
            self._clients.add(client)
            try:
                await self._read(client, wanted)
            finally:
                self._clients.discard(client)
                self._answers += client.exchange.answers
                await client.close()

    def _connected(self, wanted: Wanted) -> Client:
        named = f"Secret {self._target.link.spec.credentials_secret}"
        policy = Policy(allow_loopback=self._config.allow_loopback)
        access = load(wanted.kubeconfig, named, policy)
        transport = Pinned(self._outside.connect(access), self._identify, self._read_anew)
        return Client(
            transport, access.credentials, clock=self._outside.clock, random=self._outside.random
        )

    async def _read(self, client: Client, wanted: Wanted) -> None:
        reading = Reading(self._outside, client, wanted.labels, self._target.link.cluster)
        task = asyncio.current_task()

        def complete(remote: Remote) -> None:
            if task not in (self._trying, self._current):
                return  # given up, which it has yet to hear of
            if self._current is not None and self._current is not task:
                self._current.cancel()
            self._current, self._trying = task, None
            self._client, self._trouble = client, None
            self._state.adopt(self._uid, remote)
            look(reading)

        def changed(remote: Remote, keys: set[Key], lane: Lane) -> None:
            self._state.exported(self._uid, remote, keys, lane)

        def look(reading: Reading) -> None:
            if task is self._current:
                self._is_live = reading.is_live
                self._target.unreadable = reading.unreadable
                self._divergences = reading.divergences
            if self._target.rival:
                self._meet(outcome(duplicate(self._target)))
            elif task is not self._current and not reading.is_live and reading.error is not None:
                self._fail(outcome(reading.error))
            elif task is self._current and self._trouble is None and self._bad_secret is None:
                self._meet(_live_or(reading.error, is_live=reading.is_live))

        await reading.run(complete, changed, look)

    def _fail(self, contact: Contact) -> None:
        """Say what keeps the newest reading from replacing the current one."""
        self._trouble = contact
        self._meet(contact)

    def _blame_secret(self, contact: Contact) -> None:
        """Say what is wrong with the Secret, and give up trying what was in it before."""
        self._bad_secret = contact
        self._published = None
        if self._trying is not None:
            self._trying.cancel()
            self._trying = None
        self._meet(contact)

    def _meet(self, contact: Contact) -> None:
        self._state.meet(self._uid, replace(contact, is_live=self._is_live))

    def _identify(self, cluster_uid: str) -> None:
        identify(self._state, self._target, cluster_uid)

    async def _confirmed(self, held: Held) -> bool:
        if self._client is None:
            return False
        link = self._target.link
        try:
            agreed = await second_look(self._client, link, held)
        except IsthmusError as error:
            log.info("no second opinion", extra={"link": link.cluster, "error": str(error)})
            return False
        if not agreed:
            self._read_anew()  # one of the two lists is wrong: this will tell which
        return agreed

    def _read_anew(self) -> None:
        """Begin a new reading of the same; the current one goes on until that is complete."""
        if self._published is not None:
            self._wanted.publish(self._published)


def _live_or(error: IsthmusError | None, *, is_live: bool) -> Contact:
    if is_live:
        return Contact(True, "Connected")
    return UNKNOWN if error is None else outcome(error)
