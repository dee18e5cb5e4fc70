"""The controller's server and real Envoys that it tells what to carry, as the product runs them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from bench.dataplane import mesh
from bench.trial import Failed
from isthmus.apps.proxy.files import Files
from isthmus.envoy.ads import AdsServer, Papers
from isthmus.envoy.bootstrap import MIB, Proxy
from isthmus.envoy.process import Envoy, Options
from isthmus.model.identities import MESH_DOMAIN
from isthmus.runtime.clock import SystemClock
from isthmus.xds.references import Reference
from isthmus.xds.session import Session
from isthmus.xds.snapshot import Snapshot

GATEWAY, EGRESS = "gateway", "egress"
ROLES = {GATEWAY: (mesh.GATEWAY, mesh.GATEWAY_AT), EGRESS: (mesh.EGRESS, mesh.EGRESS_AT)}
HEAP = 4096 * MIB  # so much that no limit decides what is measured


class Controller:
    """The server, and where it listens."""

    def __init__(self, ads: AdsServer, port: int) -> None:
        self.ads = ads
        self.port = port
        self._changed = asyncio.Event()
        ads.tell(self._changed.set)

    def session(self, role: str) -> Session | None:
        """Return what the one proxy of a role was told, if it is there."""
        return next((one.session for one in self.ads.connected if one.role == role), None)

    async def until(self, is_so: Callable[[], bool], what: str, within: float) -> None:
        """Wait for something that the server is told of."""
        try:
            async with asyncio.timeout(within):
                while not is_so():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise Failed(f"{what}: not within {within:.0f} s") from None

    def holds(self, role: str, wanted: Mapping[Reference, str | None]) -> bool:
        """Tell whether the proxy of a role has acknowledged these versions; None is a removal."""
        session = self.session(role)
        if session is None or session.pending:
            return False
        return all(session.acknowledged(*one) == version for one, version in wanted.items())

    async def tell(self, role: str, everything: Snapshot, within: float) -> None:
        """Publish all that the proxy of a role is to know, and wait until it holds it."""
        wanted = {
            Reference(type_url, name): entry.version
            for type_url, entries in everything.types.items()
            for name, entry in entries.items()
        }
        self.ads.publish(role, everything)
        await self.until(lambda: self.holds(role, wanted), f"the {role} told", within)


@asynccontextmanager
async def controller() -> AsyncIterator[Controller]:
    """Serve proxies of both roles."""
    shown = mesh.credentials(mesh.CONTROLLER)
    papers = Papers(shown.chain_pem, shown.key_pem, mesh.anchors().pem())
    roles = {who: role for role, (who, _) in ROLES.items()}
    ads = AdsServer(MESH_DOMAIN, lambda: papers, roles.get)
    async with ads.listening(mesh.CONTROLLER_AT, 0) as port:
        yield Controller(ads, port)


@asynccontextmanager
async def proxy(role: str, told_by: Controller, folder: Path) -> AsyncIterator[Envoy]:
    """Run one Envoy with one worker; hand it out when it has connected."""
    who, address = ROLES[role]
    directory = folder / role
    directory.mkdir()
    files = Files(directory)
    files.prepare()
    files.write_own(mesh.credentials(who))
    files.write_anchors(mesh.anchors())
    made = Envoy(
        Proxy(
            name=f"{role}-0",
            role="gateway" if role == GATEWAY else "egress",
            cluster=who.cluster,
            controller=(mesh.CONTROLLER_AT, told_by.port),
            controller_identity=str(mesh.CONTROLLER),
            address=address,
            metrics=(address, 9991),
            heap=HEAP,
        ),
        Options(directory=directory, concurrency=1, drain=0),
        SystemClock(),
        Random(),
    )
    stop = asyncio.Event()
    running = asyncio.create_task(made.run(stop))
    try:
        await told_by.until(lambda: told_by.session(role) is not None, f"a connected {role}", 30)
        yield made
    finally:
        stop.set()
        await running
