"""What a controller does for proxies and for other controllers: every replica does all of it.

It certifies who they are, offers the catalogue, and tells them what to carry, from the moment on at
which the cluster has an issuer; without one nothing of this is there, and mirroring goes on.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import TypeVar

from aiohttp import web

from isthmus.apps.controller.carrying.calling import LIVE, Calling
from isthmus.apps.controller.carrying.doubting import Doubting
from isthmus.apps.controller.carrying.exporting import Exporting
from isthmus.apps.controller.carrying.hearing import Complain, Hearing
from isthmus.apps.controller.carrying.outgoing import MIRRORS, OURS, Carrying, only_mirrors
from isthmus.apps.controller.carrying.proxies import Proxies, Role, Sources
from isthmus.apps.controller.carrying.seeing import Seeing
from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.front import Front, Place
from isthmus.apps.controller.certifying.signing import Signing
from isthmus.apps.controller.certifying.tokens import Tokens
from isthmus.apps.controller.certifying.witness import Witness
from isthmus.apps.controller.config import Config
from isthmus.apps.controller.outside import Outside
from isthmus.catalogue import serving
from isthmus.catalogue.dialing import Dialer
from isthmus.envoy.ads import AdsServer, Papers
from isthmus.kube.reflect import Emit, Source, reflect
from isthmus.kube.reflector import Reflector
from isthmus.kube.requests import Selection
from isthmus.kube.resources import (
    CONFIG_MAPS,
    ENDPOINT_SLICES,
    PODS,
    SECRETS,
    SERVICES,
    Resource,
)
from isthmus.model.identities import Identity
from isthmus.model.names import EGRESS, GATEWAY
from isthmus.model.objects import Key, Service
from isthmus.runtime.cache import Event
from isthmus.xds.names import OWN_FILE, Site

T = TypeVar("T")

log = logging.getLogger(__name__)

ROLES: Mapping[str, Role] = {GATEWAY: "gateway", EGRESS: "egress"}  # by service account
# The same for all proxies: each binds its own address, and has its certificate where it runs.
SITE = Site(address="0.0.0.0", own=OWN_FILE)


class DataPlane:
    """``gateways`` says where a link's gateways are, by its UID."""

    def __init__(
        self,
        config: Config,
        outside: Outside,
        exporting: Exporting,
        gateways: Callable[[str], tuple[str, ...]],
    ) -> None:
        self.exporting = exporting
        self.authority = Authority(config, outside.clock, outside.random)
        self.calling = Calling(config.namespace)
        self.carrying = Carrying(config, gateways)
        self.signing = Signing(
            self.authority,
            Tokens(outside.client, self.authority.identity, outside.clock),
            outside.clock,
        )
        self.proxies = Proxies(
            Sources(
                exporting=exporting,
                carrying=self.carrying,
                calling=self.calling,
                authority=self.authority,
            ),
            SITE,
            outside.clock,
        )
        self.ads = AdsServer(config.mesh_domain, self._papers, self._role)
        self.proxies.tell(self.ads.publish)
        self.hearing = Hearing(config, outside, self.ads, self.proxies, self.carrying)
        self.witness = Witness(self.authority, self._role, outside)
        self.seeing = Seeing(config, outside, self.proxies, self.ads, self.witness)
        self._config = config
        self._outside = outside
        self.pods = self._doubted(PODS, LIVE, self.calling.fold)
        self.mirrors = self._doubted(SERVICES, MIRRORS, self.carrying.fold_services)
        self.slices = self._doubted(ENDPOINT_SLICES, OURS, self.carrying.fold_slices)

    @property
    def held(self) -> int:
        """How many objects are kept although a list lacked them."""
        return sum(one.held for one in (self.pods, self.mirrors, self.slices))

    @property
    def dialer(self) -> Dialer:
        """The way to other clusters' gateways, as this controller."""
        own = self.exporting.own
        return Dialer(own, self.authority.client_context, self._outside.random)

    def fold_services(self, event: Event[Key, Service]) -> None:
        """Take in the Services of this cluster: of those that are no mirrors nothing is kept."""
        self.mirrors.fold(only_mirrors(event))

    def parts(self, complain: Complain) -> Iterator[Coroutine[None, None, None]]:
        """Yield all that runs as long as the controller does. ``complain`` takes what proxies
        refuse, by the names of links."""
        secrets, config_maps = self.authority.selections
        yield self._reflect(SECRETS, secrets, self.authority.fold_secrets)
        yield self._reflect(CONFIG_MAPS, config_maps, self.authority.fold_config_maps)
        yield self.authority.run()
        yield self._reflect(CONFIG_MAPS, self.seeing.selection, self.seeing.fold)
        yield self.seeing.run()
        if self._config.sign_port is not None:
            yield self._serve(Place(self._config.address, self._config.sign_port))
        if self._config.ads_port is not None:
            yield self._reflect(PODS, LIVE, self.pods.fold)
            for one in (self.pods, self.mirrors, self.slices):
                yield one.run()
            yield self.proxies.run()
            yield self._tell_proxies(self._config.ads_port)
            yield self.hearing.run(complain)

    async def _serve(self, place: Place) -> None:
        """Serve certificates and the catalogue."""
        app, front = web.Application(), Front(self.authority, place)
        app.add_routes([self.signing.route, self.witness.route])
        own = self.exporting.own
        serving.mount(app, self.exporting.offers, own, front.peer, self._outside.random)
        await front.run(app)

    async def _tell_proxies(self, port: int) -> None:
        await self.authority.ready.wait()
        async with self.ads.listening(self._config.address or "::", port) as bound:
            log.info("proxies are served", extra={"port": bound})
            await asyncio.Event().wait()

    def _papers(self) -> Papers:
        own = self.authority.own
        return Papers(own.chain_pem, own.key_pem, self.authority.anchors.pem())

    def _role(self, who: Identity) -> Role | None:
        """Return what a proxy of this cluster is told by its certificate; None for all others."""
        own = self.authority.identity
        return ROLES.get(who.account) if who == own._replace(account=who.account) else None

    async def _reflect(self, resource: Resource[T], selection: Selection, emit: Emit[T]) -> None:
        source = self._source(resource, selection)
        await reflect(source, Reflector(self._outside.random), emit, self._outside.clock)

    def _doubted(self, resource: Resource[T], selection: Selection, emit: Emit[T]) -> Doubting[T]:
        return Doubting(self._source(resource, selection), self._outside, emit)

    def _source(self, resource: Resource[T], selection: Selection) -> Source[T]:
        return Source(self._outside.client, resource, selection, self._config.cluster_name)
