"""Turns what was decided into what the proxies are told: one snapshot for each role.

Decisions change one at a time, and so does a snapshot; a burst of them becomes one. Nothing is said
before everything is known that it follows from: a proxy which keeps what it had serves its callers
better than one that is told half of the truth.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from cryptography import x509

from isthmus.apps.controller.carrying.calling import Calling
from isthmus.apps.controller.carrying.exporting import Exporting
from isthmus.apps.controller.carrying.outgoing import Carrying
from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.credentials import Credentials
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from isthmus.model.routes import Peer
from isthmus.runtime.clock import Clock
from isthmus.runtime.lazily import lazily
from isthmus.xds.assembly import Assembly
from isthmus.xds.names import Site
from isthmus.xds.snapshot import Snapshot

if TYPE_CHECKING:
    from isthmus.xds import egress, gateway, identify, late, secrets, upstream
else:
    egress, gateway, identify, late, secrets, upstream = (
        lazily(f"isthmus.xds.{name}")
        for name in ("egress", "gateway", "identify", "late", "secrets", "upstream")
    )

log = logging.getLogger(__name__)

Role: TypeAlias = Literal["gateway", "egress"]
Publish: TypeAlias = Callable[[Role, Snapshot], None]

PAUSE = 0.02  # seconds in which a burst becomes one snapshot
SHARE = 4  # what making a snapshot took is rested so many times over, …
LONGEST_REST = 1.0  # … but no longer than this: whoever loses a Grant is out within seconds
STRETCH = 100  # parts that are made before others get their turn
REMEMBERED = 3  # former certificates of an account


@dataclass(frozen=True, slots=True)
class Part:
    """What resources are for, where that is not one Service."""

    kind: Literal["itself", "trust", "catalogue", "callers", "link", "account"]
    name: str = ""


ITSELF, TRUST, CATALOGUE, CALLERS = (
    Part("itself"),
    Part("trust"),
    Part("catalogue"),
    Part("callers"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything that proxies are told follows from these."""

    exporting: Exporting
    carrying: Carrying
    calling: Calling
    authority: Authority

    @property
    def are_whole(self) -> bool:
        return (
            self.authority.ready.is_set()
            and self.exporting.ready.is_set()
            and self.carrying.synced
            and self.calling.synced
        )


class Proxies:
    """Publishes what proxies should hold, for ever."""

    def __init__(self, sources: Sources, site: Site, clock: Clock) -> None:
        self.gateway, self.egress = Assembly(), Assembly()
        self.assemblies: Mapping[Role, Assembly] = {"gateway": self.gateway, "egress": self.egress}
        self.published: Counter[Role] = Counter()  # snapshots
        self.trusted: dict[str, tuple[str, ...]] = {}  # anchors, by the version of their secret
        # By account: who has signed its certificates, by the version of their secret.
        self.signed: dict[str, dict[str, x509.Certificate]] = {}
        self._sources = sources
        self._site = site
        self._clock = clock
        self._told: list[Publish] = []
        self._inbound: set[Key] = set()
        self._outbound: set[Key] = set()
        self._stale = {TRUST, CATALOGUE, CALLERS}
        self._accounts: dict[str, Credentials] = {}
        self._reached: tuple[frozenset[str], Mapping[str, Peer]] = (frozenset(), {})
        self._wake = asyncio.Event()
        sources.exporting.tell(self._exports_changed)
        sources.carrying.tell(self._touch)
        sources.calling.tell(lambda: self._touch(CALLERS))
        sources.authority.tell(lambda: self._touch(TRUST))

    @property
    def is_telling(self) -> bool:
        """Whether everything is known that proxies are told about."""
        return self._sources.are_whole

    def tell(self, told: Publish) -> None:
        """Have ``told`` called with every snapshot."""
        self._told.append(told)

    async def run(self) -> None:
        await self._sources.authority.ready.wait()
        await self._sources.exporting.ready.wait()
        self._wake.set()
        latest: dict[Role, Snapshot] = {}
        while True:
            await self._wake.wait()
            await self._clock.sleep(PAUSE)
            self._wake.clear()
            if not self._sources.are_whole:
                continue
            began = self._clock.now()
            await self._assemble()
            for role, assembly in self.assemblies.items():
                found = assembly.snapshot()
                if latest.get(role) is not found:
                    latest[role] = found
                    self._publish(role, found)
            rest = min(SHARE * (self._clock.now() - began), LONGEST_REST)
            await self._clock.sleep(rest)

    def _publish(self, role: Role, snapshot: Snapshot) -> None:
        self.published[role] += 1
        for told in self._told:
            told(role, snapshot)

    # What has changed.

    def _exports_changed(self, keys: frozenset[Key]) -> None:
        self._inbound |= keys
        self._touch(*(() if keys else (CATALOGUE,)))

    def _touch(self, *parts: Part) -> None:
        self._stale.update(parts)
        self._wake.set()

    # What follows from it.

    async def _assemble(self) -> None:
        """Make anew what is not as it should be any more.

        Of what changes meanwhile, only what is quickly done is included: where something changes
        at every moment, nobody would ever be told.
        """
        for _ in self._steps():
            await self._clock.sleep(0)

    def _steps(self) -> Iterator[None]:
        inbound, self._inbound = self._inbound, set()
        outbound: set[Key] = set()
        takes_more = True
        while takes_more or inbound or outbound:
            self._outbound |= self._sources.carrying.news()
            if self._sources.carrying.peers is not self._reached[1]:
                self._stale.add(CALLERS)
                takes_more = True  # links come and go together with what leads to them
            if takes_more:
                outbound |= self._outbound
                self._outbound.clear()
            self._tell_parts()
            for _ in range(min(STRETCH, len(inbound))):
                self._tell_inbound(inbound.pop())
            for _ in range(min(STRETCH, len(outbound))):
                self._tell_outbound(outbound.pop())
            takes_more = False
            if inbound or outbound:
                yield

    def _tell_parts(self) -> None:
        if TRUST in self._stale:
            self._tell_trust()
        if CATALOGUE in self._stale:
            self._tell_catalogue()
        if self._stale & {TRUST, CALLERS}:
            self._tell_callers()
        self._stale.clear()

    def _tell_trust(self) -> None:
        trusted = self._sources.authority.anchors
        anchors = secrets.anchors(trusted.pem())
        self.trusted[anchors.version] = trusted.fingerprints
        for one in (self.gateway, self.egress):
            one.put(TRUST, (anchors,))
        self.gateway.put(ITSELF, (gateway.listener(self._site), gateway.probe()))

    def _tell_catalogue(self) -> None:
        routes = self._sources.exporting.routes()
        self.gateway.put(CATALOGUE, gateway.catalogue(routes, self._site.own))

    def _tell_callers(self) -> None:
        """Tell who calls from where. Pods come and go often, accounts and links do not."""
        callers, peers = self._sources.calling.callers, self._sources.carrying.peers
        self._tell_accounts()
        reached = (self._sources.calling.accounts, peers)
        before, self._reached = self._reached, reached
        if reached != before:
            self._tell_links()
        self.egress.put(ITSELF, (*identify.clusters(), identify.listener(callers)))
        self.egress.put(CALLERS, (egress.table(link, callers) for link in peers))

    def _tell_links(self) -> None:
        accounts, peers = self._reached
        for part in tuple(self.egress.parts):
            if isinstance(part, Part) and part.kind == "link" and part.name not in peers:
                self.egress.put(part, ())
        for name, peer in peers.items():
            # Where nobody knows the gateways, proxies that have known them go on as they are.
            known = [upstream.endpoints(name, peer.places)] if peer.places else []
            found = (
                reach(peer, account)
                for account in sorted(accounts)
                for reach in (egress.reach, egress.tunnel)
            )
            self.egress.put(Part("link", name), (*known, *late.requests(name), *found))

    def _tell_accounts(self) -> None:
        """Give every account that somebody calls under a certificate, and nobody else."""
        wanted = self._sources.calling.accounts
        for name in self._accounts.keys() - wanted:
            del self._accounts[name], self.signed[name]
            self.egress.put(Part("account", name), ())
        for name in sorted(wanted):
            try:
                found = self._sources.authority.account(*name.split("/"))
            except IsthmusError as error:
                log.warning("no certificate", extra={"account": name, "error": str(error)})
                continue
            if self._accounts.get(name) is not found:
                self._accounts[name] = found
                made = secrets.account(name, found.chain_pem, found.key_pem)
                self._sign(name, made.version, found)
                self.egress.put(Part("account", name), (made,))

    def _sign(self, account: str, version: str, found: Credentials) -> None:
        """Note who has signed a certificate; of those before it a proxy may have the last few."""
        former = list(self.signed.get(account, {}).items())[-REMEMBERED:]
        self.signed[account] = dict([*former, (version, found.issuer)])

    def _tell_inbound(self, key: Key) -> None:
        served = self._sources.exporting.inbound.get(key, ())
        self.gateway.put(key, (made for one in served for made in gateway.inbound(one)))

    def _tell_outbound(self, key: Key) -> None:
        served = self._sources.carrying.outbound.get(key, ())
        self.egress.put(key, (egress.outbound(one, self._site.address) for one in served))
