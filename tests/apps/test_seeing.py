"""What is trusted by now is written down: seldom, completely, and not for ever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from isthmus.apps.controller.carrying.seeing import Seeing
from isthmus.apps.controller.certifying.witness import Witness
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.signed import Using
from isthmus.envoy.ads import AdsServer, Connected, Papers
from isthmus.kube.client import Client
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import EGRESS, GATEWAY, TRUST_ROTATION, TRUST_SEEN
from isthmus.model.objects import ConfigMap, Key, Metadata
from isthmus.pki import reports
from isthmus.pki.keys import Pair, chain_pem, fingerprint
from isthmus.pki.reports import News
from isthmus.pki.seen import Report
from isthmus.runtime.cache import Gone, Listed
from isthmus.xds.names import ANCHORS, account_secret
from isthmus.xds.resources import SECRET
from isthmus.xds.session import ASKED_FOR, ORDER, Asked
from isthmus.xds.snapshot import Snapshot
from tests.apps import trusting
from tests.apps.clusters import PLAIN_NAMESPACES, START, VirtualClock, Wire, place
from tests.apps.telling import Told, mirrored, sources
from tests.support.waiting import until

HOUR = 3600.0
OLD, NEW = trusting.anchor(), trusting.anchor()
WHO = Key("isthmus", TRUST_SEEN)
CONFIG = Config(cluster_name="east", identity="pod-a_1234")


@dataclass(slots=True)
class Watched:
    """A replica that writes down what it sees, the proxies that it tells, and who reads it."""

    told: Told
    seeing: Seeing
    wire: Wire

    async def read(self) -> dict[str, Report]:
        """What this replica knows of proxies and itself, by having told them."""
        news = await self.news()
        return {name: one for found in news.told.values() for name, one in found.items()}

    async def news(self) -> News:
        return reports.news((await self.seeing.outside.client.get(CONFIG_MAPS, WHO)).data)

    def connect(self, name: str, role: str) -> Connected:
        """Let a proxy come that asks for nothing yet."""
        authority = self.seeing.authority
        account = GATEWAY if role == "gateway" else EGRESS
        found = Connected(authority.identity._replace(account=account), role, name)
        found.session.publish(self.told.last("egress" if role == "egress" else "gateway"))
        self.seeing.ads.connected.add(found)
        return found

    def refresh(self, proxy: Connected) -> None:
        """Let a proxy have all that there is, and say so."""
        session = proxy.session
        snapshot = self.told.last("egress" if proxy.role == "egress" else "gateway")
        said = session.publish(snapshot)
        if not proxy.heard:
            for kind in ORDER:
                names = _needed(snapshot, kind) if kind in ASKED_FOR else ()
                if names or kind not in ASKED_FOR:
                    said += session.receive(Asked(type_url=kind, subscribe=names))
        while said:
            one = said.pop(0)
            said += session.receive(Asked(type_url=one.type_url, nonce=one.nonce))
        proxy.heard = asyncio.get_running_loop().time()
        for told in self.seeing.ads._told:
            told()


def _needed(snapshot: Snapshot, kind: str) -> tuple[str, ...]:
    entries = (entry for named in snapshot.types.values() for entry in named.values())
    needs = {need.name for entry in entries for need in entry.needs if need.type_url == kind}
    return tuple(sorted(needs))


@asynccontextmanager
async def watched() -> AsyncIterator[Watched]:
    east = place("east")
    await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "isthmus"}})
    clock = VirtualClock()
    wire = Wire(east.cluster.transport())
    outside = Outside(client=Client(wire, clock=clock), clock=clock, random=Random(1))
    authority = trusting.given(OLD, trusting.issuer(OLD), clock)
    gateways: dict[str, tuple[str, ...]] = {"link-west": ("10.0.0.9",)}
    told = Told(authority, gateways, sources(authority, gateways))
    ads = AdsServer(MESH_DOMAIN, lambda: Papers(b"", b"", b""), lambda _: None)
    witness = Witness(authority, lambda who: who.account, outside)
    seeing = Seeing(CONFIG, outside, told.proxies, ads, witness)
    tasks = {asyncio.create_task(part) for part in (told.proxies.run(), seeing.run())}
    told.tell(mirrored("db"), "curl")
    await told.settle()
    try:
        yield Watched(told, seeing, wire)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def prints(*anchors: Pair) -> frozenset[str]:
    return frozenset(fingerprint(one.certificate) for one in anchors)


async def test_a_replica_speaks_for_itself() -> None:
    async with watched() as seen:
        (name, report), *others = (await seen.read()).items()
        assert (name, report.trusts, report.chains_to) == ("pod-a", prints(OLD), prints(OLD))
        assert others == []


async def test_a_proxy_trusts_what_it_has_acknowledged_and_not_what_it_was_sent() -> None:
    async with watched() as seen:
        gateway = seen.connect("gw", "gateway")
        seen.refresh(gateway)
        await until(seen.read, lambda found: "gw" in found)
        trusting.put(seen.told.authority, trusting.trust_map(OLD, NEW))
        await seen.told.settle()
        found = await seen.read()
        assert found["pod-a"].trusts == prints(OLD, NEW)
        assert found["gw"].trusts == prints(OLD)
        seen.refresh(gateway)
        await until(seen.read, lambda found: found["gw"].trusts == prints(OLD, NEW))


async def test_an_egress_holds_what_its_callers_prove_themselves_with() -> None:
    async with watched() as seen:
        egress = seen.connect("out", "egress")
        seen.refresh(egress)
        await until(seen.read, lambda found: "out" in found)
        trusting.put(seen.told.authority, trusting.trust_map(OLD, NEW))
        trusting.put(seen.told.authority, trusting.issuer_secret(trusting.issuer(NEW)))
        await seen.told.settle()
        seen.refresh(egress)
        await until(seen.read, lambda found: found["out"].chains_to == prints(NEW))


async def test_a_certificate_of_another_replica_is_not_spoken_for() -> None:
    async with watched() as seen:
        egress = seen.connect("out", "egress")
        name = account_secret("shop/curl")
        seen.refresh(egress)
        await until(seen.read, lambda found: "out" in found)
        seen.told.proxies.signed["shop/curl"].clear()
        assert egress.session.acknowledged(SECRET, name) is not None
        assert "out" not in seen.seeing.reports()


async def test_the_same_is_written_every_other_minute_and_no_more() -> None:
    async with watched() as seen:
        seen.wire.writes.clear()
        await asyncio.sleep(HOUR)
        assert 25 <= len(seen.wire.writes) <= 31
        (report,) = (await seen.read()).values()
        assert START + timedelta(hours=1) - report.at < timedelta(minutes=3)


async def test_what_a_replica_has_left_behind_goes_after_a_while() -> None:
    async with watched() as seen:
        left = reports.written({"pod-b": Report(START, prints(OLD), prints(OLD))})
        data = {"data": {"pod-b_9": left, "nonsense": "x"}}
        await seen.seeing.outside.client.merge_patch(CONFIG_MAPS, WHO, data)
        await asyncio.sleep(HOUR / 2)
        found = await seen.seeing.outside.client.get(CONFIG_MAPS, WHO)
        assert set(found.data) == {"pod-a_1234", "pod-b_9"}
        await asyncio.sleep(HOUR)
        assert set(await seen.read()) == {"pod-a"}


async def test_an_egress_that_leads_nowhere_trusts_whoever_it_would_be_told() -> None:
    async with watched() as seen:
        seen.told.sources.carrying.fold_links(Listed(()))
        await seen.told.settle()
        egress = seen.connect("out", "egress")
        seen.refresh(egress)
        assert egress.session.acknowledged(SECRET, ANCHORS) is None
        trusting.put(seen.told.authority, trusting.trust_map(OLD, NEW))
        assert seen.seeing.reports()["out"].trusts == prints(OLD, NEW)


async def test_what_proxies_say_of_themselves_stands_beside_it() -> None:
    async with watched() as seen:
        authority = seen.seeing.authority
        own = authority.account("isthmus", GATEWAY)
        said = Using("gw", chain_pem(own.issuer).decode(), authority.anchors.fingerprints)
        seen.seeing.witness.hear(own.leaf, said)
        news = await until(seen.news, lambda found: "pod-a_1234.own" in found.own)
        assert news.of_proxy("gw") is None
        gateway = seen.connect("gw", "gateway")
        seen.refresh(gateway)
        await until(seen.news, lambda found: found.of_proxy("gw") is not None)
        await asyncio.sleep(1.5 * HOUR)
        assert dict((await seen.news()).own) == {}


async def test_it_is_written_more_often_while_a_rotation_goes_on() -> None:
    async with watched() as seen:
        rotation = ConfigMap(metadata=Metadata(name=TRUST_ROTATION, namespace="isthmus"))
        await asyncio.sleep(HOUR)
        seen.seeing.fold(Listed((rotation,)))
        seen.wire.writes.clear()
        await asyncio.sleep(HOUR)
        assert 300 <= len(seen.wire.writes) <= 361
        seen.seeing.fold(Gone(rotation.metadata.key))
        seen.wire.writes.clear()
        await asyncio.sleep(HOUR)
        assert 25 <= len(seen.wire.writes) <= 32


async def test_of_a_silent_proxy_it_is_said_what_was_true_before_it_could_have_left() -> None:
    async with watched() as seen:
        gateway = seen.connect("gw", "gateway")
        seen.refresh(gateway)
        await asyncio.sleep(7)
        assert VirtualClock().utc() - seen.seeing.reports()["gw"].at == timedelta(seconds=7)
        await asyncio.sleep(HOUR)
        assert VirtualClock().utc() - seen.seeing.reports()["gw"].at == timedelta(seconds=30)


async def test_the_last_word_of_a_proxy_that_is_there_twice_counts() -> None:
    async with watched() as seen:
        seen.refresh(seen.connect("gw", "gateway"))
        trusting.put(seen.told.authority, trusting.trust_map(OLD, NEW))
        await seen.told.settle()
        seen.refresh(seen.connect("gw", "gateway"))
        assert seen.seeing.reports()["gw"].trusts == prints(OLD, NEW)
