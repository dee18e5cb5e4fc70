"""From a token in a file to a certificate in Envoy: every part is the real one."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from aiohttp import web

from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.front import Front, Place
from isthmus.apps.controller.certifying.signing import Signing
from isthmus.apps.controller.certifying.tokens import Tokens
from isthmus.apps.proxy.asking import Controller, Unsigned
from isthmus.apps.proxy.config import Config
from isthmus.apps.proxy.files import Files
from isthmus.apps.proxy.keeper import Keeper
from isthmus.apps.proxy.run import run
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve
from isthmus.envoy.admin import Admin, NoAnswer
from isthmus.envoy.bootstrap import ADMIN_SOCKET
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.client import Client
from isthmus.kube.credentials import StaticToken
from isthmus.kube.http import HttpTransport
from isthmus.model.identities import Identity
from isthmus.pki.bundle import Bundle, of
from isthmus.pki.keys import csr, new_key, read_certificates
from isthmus.runtime.clock import SystemClock
from tests.apps import clusters
from tests.apps.proxy.holding import GATEWAY, NAMESPACES, secret
from tests.apps.signers import populate, token
from tests.apps.trusting import anchor, given, issuer, issuer_secret, put, trust_map
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.sockets

NOW = datetime.now(UTC)
ABOVE, OTHER = anchor(NOW), anchor(NOW)
EAST = issuer(ABOVE, now=NOW)
ANCHORS = Bundle((ABOVE.certificate,))
CONTROLLER = GATEWAY._replace(account="isthmus-controller")


@dataclass
class Site:
    """A controller's HTTPS server before an embedded cluster, and what a proxy's pod mounts."""

    authority: Authority
    signing: Signing
    front: Front
    directory: Path
    place: clusters.Place

    @property
    def token(self) -> Path:
        return self.directory / "token"

    @property
    def trust(self) -> Path:
        return self.directory / "anchors.pem"

    def mount(self, account: str = "isthmus-gateway") -> None:
        self.token.write_text(token(self.place, account, namespace="isthmus") + "\n")
        self.trust.write_bytes(self.authority.anchors.pem())

    def controller(self, identity: Identity = CONTROLLER) -> Controller:
        return Controller(("127.0.0.1", self.front.port), identity, self.token)


@asynccontextmanager
async def site(directory: Path) -> AsyncIterator[Site]:
    cluster = Cluster("east")
    async with serve(cluster) as served:
        server = ApiServer(url=served.url, ca_pem=served.ca_pem.encode())
        client = Client(HttpTransport(server), StaticToken(served.token))
        place = clusters.Place("east", client, cluster)
        await place.create(NAMESPACES, {"metadata": {"name": "isthmus"}})
        await populate(place, "isthmus-gateway", "isthmus-egress", namespace="isthmus")
        authority = given(ABOVE, EAST, SystemClock())
        tokens = Tokens(client, authority.identity, SystemClock())
        signing = Signing(authority, tokens, SystemClock())
        front = Front(authority, Place("127.0.0.1", 0))
        app = web.Application()
        app.add_routes([signing.route])
        task = asyncio.create_task(front.run(app))
        try:
            await eventually(front.listening.is_set)
            made = Site(authority, signing, front, directory, place)
            made.mount()
            yield made
        finally:
            task.cancel()
            await asyncio.wait({task})
            await client.close()


async def test_a_proxy_obtains_its_certificate_and_renews_it_when_trust_changes(
    tmp_path: Path,
) -> None:
    async with site(tmp_path) as here:
        keeper = Keeper(
            GATEWAY, here.controller(), here.trust, Files(tmp_path), SystemClock(), random=Random(1)
        )
        await keeper.look()
        first = keeper.own
        assert first is not None
        await keeper.look()
        assert keeper.own is first
        newer = issuer(OTHER, now=NOW)
        put(here.authority, trust_map(ABOVE, OTHER), issuer_secret(newer))
        # The controller shows a certificate below the new anchor, which the mount does not have
        # yet: nothing is sent to it, and what is there stays.
        with pytest.raises(Unsigned, match="not trusted: unable to get local issuer certificate"):
            await here.controller().sign(csr(new_key()), ANCHORS)
        here.trust.write_bytes(here.authority.anchors.pem())
        await keeper.look()
        assert keeper.own is not None
        assert keeper.own.issuer == newer.certificate
        assert here.signing.issued == 2


async def test_whoever_is_not_the_controller_gets_no_token(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        expected = CONTROLLER._replace(account="somebody")
        with pytest.raises(Unsigned) as refused:
            await here.controller(expected).sign(csr(new_key()), ANCHORS)
        assert f"does not prove to be {expected}, but {CONTROLLER}" in str(refused.value)
        assert here.place.client.exchange.answers["create", "tokenreviews", "201"] == 0


async def test_what_the_controller_says_is_what_the_operator_reads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with site(tmp_path) as here:
        here.token.write_text("canary-7\n")
        with pytest.raises(Unsigned) as refused:
            await here.controller().sign(csr(new_key()), ANCHORS)
        where = f"127.0.0.1:{here.front.port}"
        assert str(refused.value) == (
            f"{where} (401): the token proves nobody here: it has expired, its pod is gone, or it "
            "is not one of this cluster for the audience isthmus.dev/east"
        )
        here.mount()
        asking = [here.controller().sign(csr(new_key()), ANCHORS) for _ in range(100)]
        answers = await asyncio.gather(*asking, return_exceptions=True)
        often = [one for one in answers if isinstance(one, Unsigned)]
        assert 20 <= len(often) <= 40
        assert str(often[0]) == f"{where} (429): {GATEWAY} asks too often"
        assert often[0].retry_after == 1
    assert "canary" not in "".join(str(one.__dict__) for one in caplog.records)


async def test_a_controller_that_is_away_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("canary-7")
    away = Controller(("127.0.0.1", 1), CONTROLLER, tmp_path / "token")
    with pytest.raises(Unsigned) as refused:
        await away.sign(csr(new_key()), ANCHORS)
    assert str(refused.value) == "127.0.0.1:1: connection refused"


def config(here: Site, directory: Path) -> Config:
    return Config(
        role="gateway",
        cluster_name="east",
        controller=("127.0.0.1", here.front.port),
        ads=("127.0.0.1", 1),
        token_file=here.token,
        trust_file=here.trust,
        directory=directory,
        metrics=("127.0.0.1", 0),
        name="gateway-1",
        concurrency=1,
        drain=0,
    )


async def test_envoy_starts_with_the_certificate_and_takes_every_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isthmus.apps.proxy.keeper.LOOK", 0.1)
    own = tmp_path / "own"
    own.mkdir(mode=0o755)
    admin = Admin(own / ADMIN_SOCKET)

    async def shown() -> set[int]:
        """The serial numbers of the leaves and anchors that Envoy uses."""
        try:
            found = json.loads(await admin.get("/certs"))["certificates"]
        except NoAnswer:
            return set()
        parts = chain.from_iterable((*one["cert_chain"], *one["ca_cert"]) for one in found)
        return {int(part["serial_number"], 16) for part in parts}

    def written() -> set[int]:
        """Those that are to be used by what the keeper has written."""
        pem = secret(own, "own").tls_certificate.certificate_chain.inline_bytes
        trusted = secret(own, "anchors").validation_context.trusted_ca.inline_bytes
        leaf, _ = read_certificates(pem, "the chain")
        anchors = read_certificates(trusted, "the anchors")
        return {leaf.serial_number, *(each.serial_number for each in anchors)}

    async with site(tmp_path) as here:
        stop = asyncio.Event()
        task = asyncio.create_task(run(config(here, own), SystemClock(), stop))
        try:
            before = await until(shown, lambda found: bool(found) and found == written())
            newer = issuer(ABOVE, now=NOW)
            put(here.authority, issuer_secret(newer), trust_map(ABOVE, OTHER))
            here.trust.write_bytes(of((ABOVE.certificate, OTHER.certificate)).pem())
            await until(shown, lambda found: OTHER.certificate.serial_number in found)
            after = await until(shown, lambda found: found == written() and found != before)
            assert len(after) == 3
            assert not before & after - {ABOVE.certificate.serial_number}
            assert own.stat().st_mode & 0o777 == 0o700
        finally:
            stop.set()
            await asyncio.wait({task})
        task.result()
        assert not (own / "own.pb").exists()


async def test_a_proxy_that_is_to_end_before_it_has_a_certificate_ends(tmp_path: Path) -> None:
    async with site(tmp_path) as here:
        here.token.write_text("canary-7")
        stop = asyncio.Event()
        own = tmp_path / "own"
        own.mkdir()
        task = asyncio.create_task(run(config(here, own), SystemClock(), stop))
        await eventually(lambda: here.signing.refused.total() > 0)
        stop.set()
        await asyncio.wait({task}, timeout=5)
        task.result()
