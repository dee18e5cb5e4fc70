"""Writes down whom each proxy trusts and what it proves itself with, for whoever changes anchors.

A proxy trusts the anchors that it has acknowledged, not those that it was sent; and an egress holds
the accounts' certificates that it has acknowledged. What it proves itself with, and whom it trusts
to be a controller, it says itself: see :mod:`isthmus.apps.controller.certifying.witness`.
Each replica writes what it sees, under its own name; nothing else hangs on it.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509

from isthmus.apps.controller.carrying.proxies import Proxies
from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.witness import Witness
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.envoy.ads import AdsServer, Connected
from isthmus.kube.errors import NotFound
from isthmus.kube.requests import Selection
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.errors import IsthmusError
from isthmus.model.names import TRUST_ROTATION, TRUST_SEEN
from isthmus.model.objects import ConfigMap, Key, Metadata
from isthmus.pki import reports
from isthmus.pki.keys import fingerprint
from isthmus.pki.reports import BadReports
from isthmus.pki.seen import Report
from isthmus.pki.verify import Untrusted, anchor_of
from isthmus.runtime.cache import Cache, Event
from isthmus.xds.names import ANCHORS, account_secret
from isthmus.xds.resources import SECRET

log = logging.getLogger(__name__)

SHORTEST, LONGEST = 3.0, 120.0  # seconds between two writes: of something new, and of the same
ROTATING = 10.0  # seconds between two writes of the same, while somebody waits for them
LIVELY = 30.0  # seconds after which the ADS server has noticed that a proxy is not there any more
FORGOTTEN = timedelta(hours=1)  # after which what a replica has written is nobody's any more


@dataclass(slots=True)
class Seeing:
    """Sees what the proxies of this replica, and the replica itself, trust and hold."""

    config: Config
    outside: Outside
    proxies: Proxies
    ads: AdsServer
    witness: Witness
    lively: float = LIVELY
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _rotations: Cache[Key, ConfigMap] = field(
        default_factory=lambda: Cache(lambda one: one.metadata.key)
    )

    @property
    def authority(self) -> Authority:
        return self.witness.authority

    @property
    def selection(self) -> Selection:
        """Which ConfigMap to follow: it is there while a rotation goes on."""
        return Selection(namespace=self.config.namespace, fields=f"metadata.name={TRUST_ROTATION}")

    def fold(self, event: Event[Key, ConfigMap]) -> None:
        self._rotations.fold(event)
        self._news.set()

    def reports(self) -> Mapping[str, Report]:
        """Return what is known, by the names of the pods. Who is not there has said nothing."""
        now = self.outside.cluster_time()
        # A proxy that came again before it was missed is there twice: its last word counts.
        connected = sorted(self.ads.connected, key=lambda one: one.heard)
        found = {one.name: self._heard(one, now) for one in connected if one.name}
        trust = self.authority.trust
        issuers = (trust.issuer.certificate, self.authority.own.issuer)
        own = self._report(now, trust.anchors.fingerprints, issuers)
        everybody = {**found, reports.pod_of(self.config.identity): own}
        return {name: one for name, one in everybody.items() if one is not None}

    async def run(self) -> None:
        """Write down what is new, and what is not from time to time, for ever."""
        await self.authority.ready.wait()
        for one in (self.ads, self.authority, self.witness):
            one.tell(self._news.set)
        clock, written = self.outside.clock, 0.0
        before: tuple[Mapping[str, object], ...] = ()
        while True:
            self._news.clear()
            seen = self.reports(), self._said()
            if tuple(map(_timeless, seen)) != before or clock.now() >= written + self._longest:
                try:
                    await self._write(*seen)
                except IsthmusError as error:
                    log.info("what is trusted is not written down", extra={"error": str(error)})
                else:
                    before, written = tuple(map(_timeless, seen)), clock.now()
            await clock.sleep(SHORTEST)
            try:
                async with asyncio.timeout(max(0.0, written + self._longest - clock.now())):
                    await self._news.wait()
            except TimeoutError:
                pass

    @property
    def _longest(self) -> float:
        return ROTATING if self._rotations.objects else LONGEST

    def _said(self) -> Mapping[str, Report]:
        """Return what proxies say of themselves, except those that have not for a long time."""
        now = self.outside.cluster_time()
        return {name: one for name, one in self.witness.reports.items() if now - one.at < FORGOTTEN}

    def _heard(self, proxy: Connected, now: datetime) -> Report | None:
        trusts: tuple[str, ...] | None = self.authority.anchors.fingerprints
        if proxy.session.uses(SECRET, ANCHORS):
            version = proxy.session.acknowledged(SECRET, ANCHORS)
            trusts = self.proxies.trusted.get(version or "")
        if trusts is None:
            return None
        quiet = min(self.outside.clock.now() - proxy.heard, self.lively)
        return self._report(now - timedelta(seconds=quiet), trusts, self._held(proxy))

    def _held(self, proxy: Connected) -> Iterator[x509.Certificate | None]:
        """Yield who has signed the accounts' certificates that a proxy uses; None where another
        replica has given it one, and this one cannot tell."""
        for account, versions in self.proxies.signed.items():
            name = account_secret(account)
            if proxy.session.uses(SECRET, name):
                yield versions.get(proxy.session.acknowledged(SECRET, name) or "")

    def _report(
        self, now: datetime, trusts: Iterable[str], issuers: Iterable[x509.Certificate | None]
    ) -> Report | None:
        """Say nothing where something is not known, or hangs on an anchor that is gone."""
        above = set()
        for one in set(issuers):
            try:
                above.add(fingerprint(anchor_of(one, self.authority.anchors)) if one else "")
            except Untrusted:
                return None
        return None if "" in above else Report(now, frozenset(trusts), frozenset(above))

    async def _write(self, seen: Mapping[str, Report], said: Mapping[str, Report]) -> None:
        key = Key(self.config.namespace, TRUST_SEEN)
        client, name = self.outside.client, self.config.identity
        both = {name: seen, name + reports.OWN: said}
        own = {name: reports.written(found) for name, found in both.items() if found}
        try:
            found = await client.merge_patch(CONFIG_MAPS, key, {"data": dict.fromkeys(both) | own})
        except NotFound:
            metadata = Metadata(namespace=key.namespace, name=key.name)
            found = await client.create(CONFIG_MAPS, ConfigMap(metadata=metadata, data=own))
        now = self.outside.cluster_time()
        stale = {name: None for name, text in found.data.items() if _is_forgotten(text, now)}
        if stale:
            await client.merge_patch(CONFIG_MAPS, key, {"data": stale})


def _timeless(seen: Mapping[str, Report]) -> Mapping[str, object]:
    return {name: (one.trusts, one.chains_to) for name, one in seen.items()}


def _is_forgotten(text: str, now: datetime) -> bool:
    try:
        found = reports.read(text)
    except BadReports:
        return True
    return all(now - one.at > FORGOTTEN for one in found.values())
