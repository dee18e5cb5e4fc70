"""Writes down whom each proxy trusts and what it proves itself with, for whoever changes anchors.

A proxy trusts the anchors that it has acknowledged, not those that it was sent. What it holds are
the certificate that it has shown us and, of an egress, those of accounts that it has acknowledged.
Each replica writes what it sees, under its own name; nothing else hangs on it.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from isthmus.apps.controller.authority import Authority
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.proxies import Proxies
from isthmus.envoy.ads import AdsServer, Connected
from isthmus.kube.errors import NotFound
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.errors import IsthmusError
from isthmus.model.names import TRUST_SEEN
from isthmus.model.objects import ConfigMap, Key, Metadata
from isthmus.pki import reports
from isthmus.pki.keys import fingerprint
from isthmus.pki.reports import BadReports
from isthmus.pki.seen import Report
from isthmus.pki.verify import Untrusted, anchor_of
from isthmus.xds.resources import SECRET
from isthmus.xds.tls import ANCHORS, account_secret

log = logging.getLogger(__name__)

SHORTEST, LONGEST = 3.0, 120.0  # seconds between two writes: of something new, and of the same
FORGOTTEN = timedelta(hours=1)  # after which what a replica has written is nobody's any more


@dataclass(slots=True)
class Seeing:
    """Sees what the proxies of this replica, and the replica itself, trust and hold."""

    config: Config
    outside: Outside
    authority: Authority
    proxies: Proxies
    ads: AdsServer

    def reports(self) -> Mapping[str, Report]:
        """Return what is known, by the names of the pods. Who is not there has said nothing."""
        now = self.outside.clock.utc()
        found = {one.name: self._heard(one, now) for one in self.ads.connected if one.name}
        trust = self.authority.trust
        issuers = (trust.issuer.certificate, self.authority.own.issuer)
        own = self._report(now, trust.anchors.fingerprints, issuers)
        host, _, _ = self.config.identity.partition("_")
        return {name: one for name, one in ({**found, host: own}).items() if one is not None}

    async def run(self) -> None:
        """Write down what is new, and what is not from time to time, for ever."""
        await self.authority.ready.wait()
        news = asyncio.Event()
        self.ads.tell(news.set)
        self.authority.tell(news.set)
        before: Mapping[str, Report] = {}
        due = 0.0
        while True:
            news.clear()
            seen = self.reports()
            if _timeless(seen) != _timeless(before) or self.outside.clock.now() >= due:
                try:
                    await self._write(seen)
                except IsthmusError as error:
                    log.info("what is trusted is not written down", extra={"error": str(error)})
                else:
                    before, due = seen, self.outside.clock.now() + LONGEST
            await self.outside.clock.sleep(SHORTEST)
            try:
                async with asyncio.timeout(max(0.0, due - self.outside.clock.now())):
                    await news.wait()
            except TimeoutError:
                pass

    def _heard(self, proxy: Connected, now: datetime) -> Report | None:
        version = proxy.session.acknowledged(SECRET, ANCHORS)
        trusts = self.proxies.trusted.get(version or "")
        if trusts is None:
            return None
        held = list(self._held(proxy)) if proxy.role == "egress" else []
        return self._report(now, trusts, (proxy.issuer, *held))

    def _held(self, proxy: Connected) -> Iterator[x509.Certificate | None]:
        """Yield who has signed the accounts' certificates that a proxy has; None where another
        replica has given it one, and this one cannot tell."""
        for account, versions in self.proxies.signed.items():
            version = proxy.session.acknowledged(SECRET, account_secret(account))
            if version is not None:
                yield versions.get(version)

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

    async def _write(self, seen: Mapping[str, Report]) -> None:
        key = Key(self.config.namespace, TRUST_SEEN)
        own = {self.config.identity: reports.written(seen)}
        client = self.outside.client
        try:
            found = await client.merge_patch(CONFIG_MAPS, key, {"data": own})
        except NotFound:
            metadata = Metadata(namespace=key.namespace, name=key.name)
            found = await client.create(CONFIG_MAPS, ConfigMap(metadata=metadata, data=own))
        now = self.outside.clock.utc()
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
