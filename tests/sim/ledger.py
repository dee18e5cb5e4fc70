"""Sees every request and every change in every cluster, and says at once what must never be.

The invariants have the numbers of the list in docs/reliability.md. What a mirror should be comes
from ``contract``, and who wrote from the way that a request came.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from traceback import format_exception

import msgspec

from isthmus.embedded.state.store import Event, Key
from isthmus.kube.transport import Request
from isthmus.model.wire import JsonObject
from tests.sim import contract
from tests.sim.contract import Name
from tests.sim.loop import PROCESS
from tests.sim.paths import ACTOR, LED, WRITES
from tests.sim.places import GRANTS, LEASES, LINKS, NAMESPACES, SERVICES, SLICES, Site
from tests.sim.truth import Truth, terminating
from tests.support.transports import aim

SEEN = "isthmus-trust-seen"  # where every replica writes down, now and then, whom it trusts
CANARY = "canary"  # every secret has this in it, and nothing that is shown may
BUDGET = 45  # requests of one process to write one object, in a minute
LEFT_ALONE = 60.0  # seconds for which a name must have been wanted before its loss is a crime …
DEAF = 1000.0  # … or that long, where somebody was lied to about events
LATE = 10.0  # seconds for which a write may be on its way
STALE_HANDS = 30.0  # seconds for which what a process sent before it stood still may arrive


@dataclass(frozen=True, slots=True)
class Crime:
    """An invariant that was broken."""

    when: float
    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.when:.3f} s: {self.what}"


@dataclass(slots=True)
class Ledger:
    """``crimes`` is what went wrong; ``lines`` what happened, if anybody wants to read it."""

    now: Callable[[], float]
    crimes: list[Crime] = field(default_factory=list)
    lines: list[str] | None = None
    truth: Truth = field(init=False)
    last_write: float = 0.0
    writes: Counter[str] = field(default_factory=Counter)
    by_users: int = 0  # changes
    holder: str = ""  # of the source's lease
    is_deaf: bool = False  # whether events were kept from somebody
    was_lied_to: bool = False  # or wrong ones told
    told_twice: bool = False  # whether lists of the source have lied more than once
    froze: dict[str, float] = field(default_factory=dict)  # when a process last stood still
    stragglers: set[Key] = field(default_factory=set)  # made when their link was gone
    egress: set[str] = field(default_factory=set)  # addresses that egress proxies ever had
    _sites: Mapping[str, Site] = field(default_factory=dict)
    _freed: dict[Name, float] = field(default_factory=dict)  # when a name ceased to be another's
    _tries: dict[tuple[str, str, str], deque[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.truth = Truth(self.now)

    def follow(self, sites: Mapping[str, Site]) -> None:
        self._sites = sites
        for name in sites:
            self.attend(name)

    def attend(self, name: str) -> None:
        """See every change of the cluster that has that name now."""
        self._sites[name].observe = lambda event: self._noted(name, event)

    def blame(self, rule: str, what: str, error: BaseException | None = None) -> None:
        if error is not None:
            what += "\n" + "".join(format_exception(error))
        self.crimes.append(Crime(self.now(), rule, what))
        self.say(f"!! {rule}: {what}")

    def say(self, text: str) -> None:
        if self.lines is not None:
            self.lines.append(f"{self.now():9.3f}  {text}")

    # Requests.

    def sent(self, process: str, where: str, request: Request) -> None:
        """A request leaves a process."""
        LED.set(self.holder)
        if request.method not in WRITES or "/leases" in request.path:
            return
        if self.lines is not None and process != "user":
            self.say(f"{process} → {where}: {request.method} {aim(request)}")
        if process == "user" or "/events" in request.path:
            return
        tries = self._tries.setdefault(
            (process, request.method, aim(request)), deque(maxlen=BUDGET)
        )
        if len(tries) == BUDGET and self.now() - tries[0] < 60:
            self.blame("I6", f"{process} writes all the time: {request.method} {request.path}")
        tries.append(self.now())
        if "/endpointslices" in request.path and request.body:
            self._good_addresses(process, msgspec.json.decode(request.body))

    # Changes.

    def _noted(self, where: str, event: Event | None) -> None:
        if event is None:  # set back to an earlier state, or exchanged for another cluster
            self.truth.refresh(self._sites)
            if where == "east":
                leases = self._sites[where].objects(LEASES)
                self.holder = next((one["spec"].get("holderIdentity", "") for one in leases), "")
            return
        resource, actor = event.key.resource, ACTOR.get()
        self.by_users += actor == "user"
        if resource in (SERVICES, SLICES, LINKS, GRANTS):
            self.truth.refresh(self._sites, where, resource)
        if resource == LEASES and where == "east":
            spec = (event.after or event.shown).object["spec"]
            self.holder = "" if event.after is None else spec.get("holderIdentity") or ""
            return
        if resource == SERVICES and where == "east" and event.before is not None:
            self._free(event.key.place, event.before.object)
        if resource == SLICES and where == "east" and actor == "user":
            self._know_egress(event)
        is_controller = actor not in ("", "user")
        if not is_controller or resource == LEASES or event.key.name == SEEN:
            return
        self.last_write = self.now()
        self.writes[resource] += 1
        self._tell(where, actor, event)
        before = None if event.before is None else event.before.object
        after = None if event.after is None else event.after.object
        text = b"" if event.after is None else event.after.body
        if CANARY.encode() in text:
            self.blame("I8", f"{actor} writes a secret into {event.key}")
        if where != "east":
            return
        self._one_writer(actor, event)
        if resource in (SERVICES, SLICES):
            if before is None and after is not None:
                self._straggle(event.key, after)
            self._only_ours(actor, event, before, after)
            self._kept(actor, event, before, after)
            if resource == SLICES and after is not None:
                self._only_egresses(actor, after)
            if resource == SERVICES and after is not None:
                self._one_origin(actor, after)
        elif resource == LINKS and before is not None and after is not None:
            if before["spec"] != after["spec"]:
                self.blame("I1", f"{actor} changes what {event.key.name} says it wants")
        elif resource == NAMESPACES and after is None:
            self.blame("I1", f"{actor} deletes namespace {event.key.name}")

    def _straggle(self, key: Key, made: JsonObject) -> None:
        """Note what was written so late that its link was gone: nobody would know whose it is."""
        links = {one["metadata"]["uid"] for one in self._sites["east"].objects(LINKS)}
        if contract.annotation(made, contract.LINK_UID) not in links:
            self.stragglers.add(key)

    def _only_ours(
        self, actor: str, event: Event, before: JsonObject | None, after: JsonObject | None
    ) -> None:
        if before is not None and not contract.is_ours(before):
            self.blame("I1", f"{actor} writes to {event.key}, which is not ours")
        elif after is not None and not contract.is_ours(after):
            self.blame("I1", f"{actor} makes {event.key} without saying whose it is")

    def _kept(
        self, actor: str, event: Event, before: JsonObject | None, after: JsonObject | None
    ) -> None:
        """I2: what is wanted, and was all the time, is not taken away."""
        if before is None or not contract.is_ours(before):
            return
        name = event.key.place
        if event.key.resource == SLICES:
            name = (event.key.namespace, event.key.name.removesuffix("-ipv4"))
            if self._was_anothers(name):
                return  # slices of ours would send its callers to us
        if name[0] not in self._spaces():
            return
        since = self.truth.wanted_since(before, name)
        # What was there before anybody looked was never seen to be missing.
        long = 0.0 if since == 0 else DEAF if self.is_deaf else LEFT_ALONE
        if since is None or self.now() - since < long:
            return
        if after is None:
            self.blame("I2", f"{actor} deletes {event.key}, wanted since {since:.3f} s")
        elif event.key.resource == SLICES and _is_lit(before) and not _is_lit(after):
            if self.told_twice or any(one.get("hostname") for one in before["endpoints"]):
                return  # whether a pod can be called depends on its own mirror
            lit = self.truth.lit_since(before, name)
            long = 0.0 if lit == 0 else DEAF if self.is_deaf else LEFT_ALONE
            if lit is not None and self.now() - lit >= long:
                self.blame("I2", f"{actor} puts out {event.key}, ready since {lit:.3f} s")

    def _free(self, name: Name, former: JsonObject) -> None:
        if not contract.is_ours(former):
            self._freed[name] = self.now()

    def _was_anothers(self, name: Name) -> bool:
        """Whether a name is, or was when this may have been sent, somebody else's."""
        found = self._sites["east"].cluster.store.get(Key(SERVICES, *name))
        if found is not None and not contract.is_ours(found.object):
            return True
        return self.now() - self._freed.get(name, -LATE) < LATE

    def _spaces(self) -> set[str]:
        """The namespaces of the source in which something can be."""
        east = self._sites["east"]
        return {one["metadata"]["name"] for one in east.objects(NAMESPACES)} - terminating(east)

    def _good_addresses(self, process: str, asked_for: JsonObject) -> None:
        """I3: nobody asks for an endpoint where none may be, even if the API would refuse it."""
        for text in _addresses(asked_for):
            one = ip_address(text)
            if one.is_loopback or one.is_link_local or one.is_multicast or one.is_unspecified:
                self.blame("I3", f"{process} wants to send callers to {text}")

    def _only_egresses(self, actor: str, after: JsonObject) -> None:
        """I3: with our own data plane, callers are sent to its proxies."""
        if self.truth.is_envoy(after):
            for text in _addresses(after, lambda one: not one.get("hostname")):
                if text not in self.egress:
                    self.blame("I3", f"{actor} sends callers to {text}, which is no egress")

    def _one_origin(self, actor: str, after: JsonObject) -> None:
        """I4: a mirror stands for one thing, of the cluster that its link means."""
        wrong = self.truth.origin_problem(after)
        if wrong:
            self.blame("I4", f"{actor} makes {contract.name_of(after)}: {wrong}")

    def _one_writer(self, actor: str, event: Event) -> None:
        """I7: nobody writes but who leads, or led when it was sent."""
        if actor == self.holder or LED.get() == actor:
            return
        if self.now() - self.froze.get(actor, -STALE_HANDS) < STALE_HANDS:
            return
        led = self.holder or "nobody"
        self.blame("I7", f"{actor} writes {event.key} while {led} leads")

    def _know_egress(self, event: Event) -> None:
        if event.key.namespace == "isthmus" and event.after is not None:
            for one in event.after.object.get("endpoints") or ():
                self.egress |= set(one["addresses"])

    def _tell(self, where: str, actor: str, event: Event) -> None:
        if self.lines is not None:
            verb = "deleted" if event.after is None else "written" if event.before else "made"
            kind = event.key.resource.rpartition("/")[2]
            name: Name = event.key.place
            self.say(f"   {where}: {kind} {'/'.join(filter(None, name))} {verb} by {actor}")


class Ears(logging.Handler):
    """Hears every line that is logged: none may have a secret in it (I8)."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(logging.INFO)
        self._ledger = ledger

    def emit(self, record: logging.LogRecord) -> None:
        known = record.__dict__
        extra = {name: known[name] for name in known.keys() - _USUAL}
        text = f"{record.getMessage()} {extra}"
        if CANARY in text or (record.exc_info and CANARY in str(record.exc_info[1])):
            self._ledger.blame("I8", f"a secret is logged: {record.name}: {text[:80]}")
        if self._ledger.lines is not None:
            shown = " ".join(f"{name}={extra[name]}" for name in sorted(extra))
            self._ledger.say(f"      {PROCESS.get()}: {record.getMessage()} {shown}")


_USUAL = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "taskName"}


def _addresses(
    one: JsonObject, counts: Callable[[JsonObject], bool] = lambda _: True
) -> Iterator[str]:
    for endpoint in filter(counts, one.get("endpoints") or ()):
        yield from endpoint["addresses"]


def _is_lit(one: JsonObject) -> bool:
    return any(
        (each.get("conditions") or {}).get("ready") is not False
        for each in one.get("endpoints") or ()
    )
