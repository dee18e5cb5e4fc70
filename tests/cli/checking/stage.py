"""Two joined clusters as whoever has a kubeconfig sees them, with real controllers and Envoys."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import yaml

from isthmus.apps.controller.carrying.plane import SITE
from isthmus.apps.controller.run import Controller
from isthmus.cli.checking.asking import Answer, Question, ask
from isthmus.cli.checking.walking.walk import first_broken
from isthmus.cli.where import Where
from isthmus.embedded.fronts.kubeconfigs import kubeconfig
from isthmus.embedded.fronts.server import serve
from isthmus.embedded.machine.programs import Site
from isthmus.install.parts import ADMIN
from isthmus.kube.plain import KINDS
from isthmus.kube.resources import SERVICES
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import GATEWAY
from isthmus.model.objects import Key
from isthmus.model.wire import Json, JsonObject
from isthmus.pki.anchor import create_anchor
from isthmus.runtime.clock import Clock
from isthmus.xds.gateway import catalogue
from isthmus.xds.resources import SCOPED_ROUTES
from tests.dataplane.joined import LINKS, Pair, Side, controlled, side
from tests.dataplane.workloads import SYSTEM, WORKLOADS
from tests.support.waiting import eventually, until


@dataclass
class Stage:
    """East, joined to west, and a kubeconfig with a context for each.

    ``clocks`` are those that controllers start with, where they are not right.
    """

    two: Pair
    where: Where
    clocks: dict[str, Clock]

    async def why(self, service: str, **question: Json) -> Answer:
        return await ask(self.where, Question(service=service, **question))

    async def verdict(self, service: str, **question: Json) -> tuple[str, str]:
        """The first broken step and its reason; nothing if all is well."""
        found = first_broken((await self.why(service, **question)).steps)
        return ("", "") if found is None else (found.name, found.reason)

    async def until(self, service: str, step: str, reason: str, **question: Json) -> None:
        """Wait until it is this that is broken."""
        await until(
            lambda: self.verdict(service, **question),
            lambda found: found == (step, reason),
            within=20,
        )

    async def until_well(self, service: str = "web-west", **question: Json) -> None:
        await self.until(service, "", "", **question)

    async def relink(self, **spec: Json) -> None:
        """Change the Link of east."""
        await self.two.east.client.merge_patch(LINKS, Key("", "west"), {"spec": spec})


async def replace(of: Side, kind: str, name: str, patch: JsonObject, namespace: str) -> None:
    await of.client.merge_patch(KINDS[kind], Key(namespace, name), patch)


@asynccontextmanager
async def staged(
    folder: Path,
    east: tuple[JsonObject, ...] = (),
    west: tuple[JsonObject, ...] = (),
) -> AsyncIterator[Stage]:
    """Start both clusters, and join them."""
    anchor = create_anchor(MESH_DOMAIN, datetime.now(UTC))
    clocks: dict[str, Clock] = {}

    def controlling(of: Side, site: Site) -> AbstractAsyncContextManager[Controller]:
        return controlled(of, site, admin_port=ADMIN, clock=clocks.get(of.name))

    async with (
        side("east", anchor, *east, controlling=controlling) as one,
        side("west", anchor, *west, controlling=controlling) as other,
        serve(one.cluster) as east_api,
        serve(other.cluster) as west_api,
    ):
        for each in (one, other):
            await each.until_up(*WORKLOADS)
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig([east_api.entry(), west_api.entry()])))
        await other.grant("east")
        await eventually(lambda: _lets_in(other), within=20)
        await one.link(other)
        made = Stage(Pair(one, other), Where(str(path), "east"), clocks)
        await made.relink(**await gateway(other))
        yield made


def _lets_in(of: Side) -> bool:
    """Tell whether the gateway has heard who may read the catalogue, so that nobody is refused."""
    for one in of.controllers:
        plane = one.dataplane
        *_, wanted = catalogue(plane.exporting.routes(), SITE.own)
        for proxy in plane.ads.connected:
            if proxy.session.acknowledged(SCOPED_ROUTES, wanted.name) == wanted.version:
                return bool(plane.exporting.routes().catalogue_callers.exact)
    return False


async def gateway(of: Side) -> JsonObject:
    """The part of a Link that leads to a cluster's gateway, whichever pod that is."""
    found = await of.client.get(SERVICES, Key(SYSTEM, GATEWAY))
    return {"gateway": {"addresses": [found.status.load_balancer.ingress[0].ip]}}
