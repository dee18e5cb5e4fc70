"""What is trusted by now is written down: seldom, completely, and not for ever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.apps.controller.seeing import Seeing
from isthmus.envoy.ads import AdsServer, Connected, Papers
from isthmus.kube.client import Client
from isthmus.kube.resources import CONFIG_MAPS
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import EGRESS, GATEWAY, TRUST_SEEN
from isthmus.model.objects import Key
from isthmus.pki import reports
from isthmus.pki.keys import Pair, fingerprint
from isthmus.pki.seen import Report
from isthmus.xds.resources import SECRET
from isthmus.xds.session import Asked
from isthmus.xds.tls import ANCHORS, account_secret
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
        found = await self.seeing.outside.client.get(CONFIG_MAPS, WHO)
        return {
            name: one for text in found.data.values() for name, one in reports.read(text).items()
        }

    def connect(self, name: str, role: str) -> Connected:
        """Let a proxy come that asks for nothing yet."""
        authority = self.seeing.authority
        account = GATEWAY if role == "gateway" else EGRESS
        found = Connected(
            authority.identity._replace(account=account), role, authority.own.issuer, name
        )
        found.session.publish(self.told.last("egress" if role == "egress" else "gateway"))
        self.seeing.ads.connected.add(found)
        return found

    def refresh(self, proxy: Connected) -> None:
        """Let a proxy have all secrets that there are, and say so."""
        snapshot = self.told.last("egress" if proxy.role == "egress" else "gateway")
        said = proxy.session.publish(snapshot)
        names = tuple(snapshot.of(SECRET))
        if proxy.session.acknowledged(SECRET, ANCHORS) is None:
            said += proxy.session.receive(Asked(type_url=SECRET, subscribe=names))
        for one in said:
            proxy.session.receive(Asked(type_url=SECRET, nonce=one.nonce))
        for told in self.seeing.ads._told:
            told()


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
    seeing = Seeing(CONFIG, outside, authority, told.proxies, ads)
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
        # The accounts' certificates are new; the one that it has shown when it came is not.
        both = prints(OLD, NEW)
        await until(seen.read, lambda found: found["out"].chains_to == both)
        egress.issuer = seen.told.authority.own.issuer
        seen.refresh(egress)
        await until(seen.read, lambda found: found["out"].chains_to == prints(NEW), within=300)


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
