"""A proxy's keeper, and a controller's signing part that it asks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from envoy.service.discovery.v3 import discovery_pb2

from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.refusal import Refused
from isthmus.apps.credentials import Credentials
from isthmus.apps.proxy.asking import Unsigned
from isthmus.apps.proxy.files import Files
from isthmus.apps.proxy.keeper import Keeper
from isthmus.apps.signed import Current, Signed
from isthmus.kube.resources import untyped
from isthmus.model.identities import Identity
from isthmus.pki.bundle import Bundle, of
from isthmus.pki.keys import Pair, fingerprint
from tests.apps.clusters import Place, VirtualClock, place
from tests.apps.signers import Office, populate, token

GATEWAY = Identity("east", "isthmus", "isthmus", "isthmus-gateway")
NAMESPACES = untyped("v1", "Namespace", "namespaces", namespaced=False)


@dataclass
class Signer:
    """Asks a controller without a network between, unless it is down."""

    office: Office
    authority: Authority  # of the replica that is told what is in use
    account: str = "isthmus-gateway"
    down: bool = False
    retry_after: float = 0.0
    attempts: list[float] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    told: list[tuple[Credentials, Bundle]] = field(default_factory=list)

    async def sign(self, csr: bytes, anchors: Bundle) -> Signed:
        assert anchors.anchors
        self.attempts.append(asyncio.get_running_loop().time())
        self.requests.append(csr)
        if self.down:
            raise Unsigned("isthmus-controller:8443: connection refused", self.retry_after)
        mounted = token(self.office.place, self.account, namespace="isthmus")
        try:
            return await self.office.ask(mounted, csr)
        except Refused as refused:
            raise Unsigned(str(refused), refused.retry_after) from None

    async def tell(self, own: Credentials, anchors: Bundle) -> Current:
        if self.down:
            raise Unsigned("isthmus-controller:8443: connection refused")
        self.told.append((own, anchors))
        trust = self.authority.trust
        return Current(fingerprint(trust.issuer.certificate), trust.anchors.fingerprints)


@dataclass
class Held:
    """A keeper with all that it depends on."""

    keeper: Keeper
    signer: Signer
    trust: Path
    directory: Path

    def mount(self, *anchors: Pair) -> None:
        self.trust.write_bytes(of(each.certificate for each in anchors).pem())

    def secret(self, name: str) -> secret_pb2.Secret:
        return secret(self.directory, name)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Keeper]:
        task = asyncio.create_task(self.keeper.run())
        try:
            await self.keeper.ready.wait()
            yield self.keeper
        finally:
            task.cancel()
            await asyncio.wait({task})


def secret(directory: Path, name: str) -> secret_pb2.Secret:
    """Return what Envoy would read."""
    raw = (directory / f"{name}.pb").read_bytes()
    [packed] = discovery_pb2.DiscoveryResponse.FromString(raw).resources
    found = secret_pb2.Secret()
    assert packed.Unpack(found)
    assert found.name == name
    return found


async def furnished() -> Place:
    east = place("east")
    await east.create(NAMESPACES, {"metadata": {"name": "isthmus"}})
    await populate(east, "isthmus-gateway", "isthmus-egress", namespace="isthmus")
    return east


async def held(authority: Authority, above: Pair, path: Path) -> Held:
    """A keeper for the gateway of east that has not begun yet."""
    signer = Signer(Office.of(await furnished(), authority), authority)
    trust, directory = path / "anchors.pem", path / "own"
    directory.mkdir()
    files = Files(directory)
    files.prepare()
    keeper = Keeper(GATEWAY, signer, trust, files, VirtualClock(), random=Random(3))
    found = Held(keeper, signer, trust, directory)
    found.mount(above)
    return found
