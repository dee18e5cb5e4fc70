"""Leaves, issuers and the anchor are replaced under load, and no request fails."""

import asyncio
import os
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from cryptography import x509
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import any_pb2
from msgspec.structs import replace

from isthmus.apps import freshness
from isthmus.apps.controller.carrying import seeing
from isthmus.apps.proxy import keeper
from isthmus.apps.rotation import planning
from isthmus.apps.rotation.driving import Driver, look_at
from isthmus.apps.rotation.kept import Kept, newest
from isthmus.apps.rotation.looking import Site
from isthmus.apps.rotation.steps import Means
from isthmus.kube.client import Client
from isthmus.kube.resources import CONFIG_MAPS, SECRETS
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import ANCHORS, ISSUER, TRUST
from isthmus.model.objects import Key
from isthmus.pki import bundle
from isthmus.pki.anchor import create_anchor
from isthmus.pki.issuer import LIFETIME, create_issuer
from isthmus.pki.keys import Pair as Signer
from isthmus.pki.keys import chain_pem, fingerprint, key_pem
from isthmus.runtime.clock import SystemClock
from isthmus.xds import upstream
from tests.dataplane import load
from tests.dataplane.fleet import count
from tests.dataplane.joined import Pair, Side, pair
from tests.dataplane.load import Caller, Requests
from tests.dataplane.test_story import CURL, WEB, answered
from tests.dataplane.workloads import SYSTEM
from tests.support.waiting import eventually, until

pytestmark = [pytest.mark.sockets, pytest.mark.e2e]

RATE = 200
URL = "http://web-west/"
Options = dict[str, any_pb2.Any]
PHASES = ("distribute: east", "distribute: waiting", "reissue: east", "drop: east")


@dataclass
class Rotations:
    """Two clusters, the anchor that they are below of, and whoever replaces it."""

    two: Pair
    anchor: Signer
    requests: Requests
    settle: int
    lines: list[str] = field(default_factory=list)
    watched: tuple[str, Callable[[], object]] | None = None

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.two.east, self.two.west

    def say(self, line: str) -> None:
        self.lines.append(line)
        if self.watched is not None and line.startswith(self.watched[0]):
            self.watched[1]()

    async def run(self, goal: Signer, *, is_back: bool = False) -> bool:
        """Do what ``rotate run`` and ``rotate roll-back`` do, in less time."""
        clock = SystemClock()
        sites = {one.name: Site(one.name, Client(one.cluster.transport())) for one in self.sides}
        looks = planning.named(await look_at(sites.values(), clock))
        kept = newest(one.copy for one in looks.values())
        decide = planning.back if is_back else planning.forward
        wanted = decide(looks, kept, goal.certificate)
        assert wanted is not None
        hasty = replace(wanted.rotation, settle_seconds=self.settle)
        wanted = Kept(hasty, wanted.anchors, wanted.number)
        driver = Driver(sites=sites, clock=clock, say=self.say, pause=0.2)
        await driver.keep(looks, wanted)
        return await driver.drive(wanted, Means(goal, wanted.anchors, LIFETIME))

    async def stopped_at(self, moment: str, goal: Signer) -> None:
        """Drive until something is said, and end in the midst of it."""
        task = asyncio.create_task(self.run(goal))
        self.watched = moment, task.cancel
        await asyncio.wait({task})
        self.watched = None
        assert task.cancelled(), task

    async def harms_nobody(self) -> None:
        """Let the load go on for a while; nothing of it must ever have failed."""
        enough = self.requests.answers.total() + RATE
        await eventually(lambda: self.requests.answers.total() > enough)
        assert not self.requests.failures, self.requests.failures

    async def everybody_is_below(self, goal: Signer) -> None:
        wanted = frozenset((fingerprint(goal.certificate),))
        sites = [Site(one.name, one.client) for one in self.sides]
        for look in (await look_at(sites, SystemClock())).values():
            assert frozenset(look.bundle.fingerprints) == wanted
            found = {name: look.report(name) for name in look.roles}
            assert len(found) == 3
            for name, report in found.items():
                assert report is not None, name
                assert (report.trusts, report.chains_to) == (wanted, wanted), name


async def shown(side: Side) -> x509.Certificate:
    """Return the certificate that a gateway shows to whoever connects."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = side.machine.pod("isthmus-gateway", SYSTEM).status.pod_ip
    _, writer = await asyncio.open_connection(address, 4143, ssl=context)
    connection = writer.get_extra_info("ssl_object")
    found = connection.getpeercert(binary_form=True)
    writer.transport.abort()
    return x509.load_der_x509_certificate(found)


def envoys() -> set[int]:
    """The processes that this one has started and that are Envoys."""
    found = set()
    for one in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            is_envoy = b"bootstrap.json" in (one / "cmdline").read_bytes()
        except OSError:
            continue
        if is_envoy and parent == os.getpid():
            found.add(int(one.name))
    return found


@asynccontextmanager
async def rotating(*, settle: int, lively: float = 0.5) -> AsyncIterator[Rotations]:
    """Call 200 times a second all the while, and see that no proxy is started anew."""
    anchor = create_anchor(MESH_DOMAIN, datetime.now(UTC))
    async with pair(east=(CURL,), west=WEB, anchor=anchor) as two:
        await two.west.export("web")
        await answered(two, URL)
        caller = Caller(machine=two.east.machine, pod="curl", host="web-west")
        requests = Requests(caller, RATE)
        async with load.running(requests.run()):
            await eventually(lambda: requests.answers.total() > RATE)
            before = envoys()
            for one in (*two.east.controllers, *two.west.controllers):
                one.dataplane.seeing.lively = lively
            yield Rotations(two, anchor, requests, settle)
            assert len(before) == 4
            assert envoys() == before


@pytest.fixture
def haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everybody look more often than they need to where nothing is far away."""
    monkeypatch.setattr(keeper, "LOOK", 0.5)
    monkeypatch.setattr(keeper, "RECONSIDER", 1.0)
    monkeypatch.setattr(seeing, "SHORTEST", 0.5)
    monkeypatch.setattr(seeing, "ROTATING", 0.5)
    monkeypatch.setattr(upstream, "speaking", partial(_short_lived, upstream.speaking))


def _short_lived(speaking: Callable[..., Options], *arguments: int, **options: object) -> Options:
    """Let Envoys open another connection after some requests, so that all is verified anew."""
    made = speaking(*arguments, **options)
    for packed in made.values():
        found = http_protocol_options_pb2.HttpProtocolOptions()
        assert packed.Unpack(found)
        found.common_http_protocol_options.max_requests_per_connection.value = 20
        packed.Pack(found)
    return made


async def shows_another(side: Side, before: x509.Certificate) -> None:
    await until(partial(shown, side), lambda found: found != before)


async def leaves_are_renewed(here: Rotations) -> None:
    """Let every proxy ask for another certificate, and every account get one."""
    before = {side.name: await shown(side) for side in here.sides}
    for side in here.sides:
        # Other bytes in the file, though the same anchors, are a reason to ask.
        key = Key(SYSTEM, TRUST)
        text = (await side.client.get(CONFIG_MAPS, key)).data[ANCHORS]
        await side.client.merge_patch(CONFIG_MAPS, key, {"data": {ANCHORS: text + "\n"}})
        for one in side.controllers:
            authority = one.dataplane.authority
            for kept in authority._accounts.values():
                kept.due = freshness.now(SystemClock())
            authority._renew()
    for side in here.sides:
        await shows_another(side, before[side.name])


async def issue(side: Side, anchor: Signer) -> None:
    """Give a cluster another issuer."""
    made = create_issuer(anchor, side.name, MESH_DOMAIN, datetime.now(UTC))
    data = {"tls.crt": chain_pem(made.certificate), "tls.key": key_pem(made.key)}
    coded = {name: b64encode(value).decode() for name, value in data.items()}
    await side.client.merge_patch(SECRETS, Key(SYSTEM, ISSUER), {"data": coded})


async def issuers_are_replaced(here: Rotations) -> None:
    """Give both clusters another issuer below the same anchor."""
    for side in here.sides:
        before = await shown(side)
        await issue(side, here.anchor)
        await shows_another(side, before)


async def handshakes(here: Rotations) -> float:
    """How often the egress of east and a gateway of west have proved themselves to each other."""
    name = "envoy_cluster_ssl_handshake"
    return await count(here.two.east, "isthmus-egress", name, direction="out", link="west")


@pytest.mark.usefixtures("haste")
async def test_leaves_issuers_and_the_anchor_are_replaced_under_load() -> None:
    new = create_anchor(MESH_DOMAIN, datetime.now(UTC))
    async with rotating(settle=1) as here:
        before = await handshakes(here)
        await leaves_are_renewed(here)
        await issuers_are_replaced(here)
        for moment in PHASES:
            await here.stopped_at(moment, new)
        assert await here.run(new)
        await here.everybody_is_below(new)
        # Requests alone would prove nothing: connections that are open are not verified again.
        assert await handshakes(here) - before > 50
        await here.harms_nobody()


@pytest.mark.usefixtures("haste")
async def test_the_load_notices_an_issuer_that_comes_too_early() -> None:
    new = create_anchor(MESH_DOMAIN, datetime.now(UTC))
    async with rotating(settle=1) as here:
        both = bundle.of((here.anchor.certificate, new.certificate)).pem().decode()
        east = here.two.east
        await east.client.merge_patch(CONFIG_MAPS, Key(SYSTEM, TRUST), {"data": {ANCHORS: both}})
        await issue(east, new)
        await eventually(lambda: here.requests.failures.total() > 0)


@pytest.mark.usefixtures("haste")
async def test_a_rotation_is_rolled_back_from_every_phase_under_load() -> None:
    new = create_anchor(MESH_DOMAIN, datetime.now(UTC))
    async with rotating(settle=1) as here:
        for moment in ("distribute: waiting", "reissue: east", "drop: east"):
            await here.stopped_at(moment, new)
            assert await here.run(here.anchor, is_back=True)
            await here.everybody_is_below(here.anchor)
        await here.harms_nobody()


@pytest.mark.usefixtures("runner")  # which gives it the time that it takes
async def test_a_rotation_in_no_haste() -> None:
    new = create_anchor(MESH_DOMAIN, datetime.now(UTC))
    async with rotating(settle=15, lively=seeing.LIVELY) as here:
        for moment in ("distribute: waiting", "reissue: west"):
            await here.stopped_at(moment, new)
        assert await here.run(new)
        await here.everybody_is_below(new)
        await here.harms_nobody()
