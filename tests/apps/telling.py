"""Everything that proxies are told follows from, fed by hand, and what they are told by it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from msgspec.structs import replace

from isthmus.apps.controller.carrying.calling import Calling
from isthmus.apps.controller.carrying.exporting import Exporting
from isthmus.apps.controller.carrying.outgoing import Carrying
from isthmus.apps.controller.carrying.proxies import Proxies, Role, Sources
from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.config import Config
from isthmus.model.grants import Grant, GrantSpec
from isthmus.model.names import MANAGED_BY, SERVICE_NAME
from isthmus.model.objects import (
    EndpointPort,
    EndpointSlice,
    Metadata,
    Service,
    ServicePort,
    ServiceSpec,
)
from isthmus.runtime.cache import Listed
from isthmus.xds.names import Site
from isthmus.xds.snapshot import Snapshot, dangling
from tests.apps import trusting
from tests.apps.clusters import VirtualClock
from tests.support.builders import EXPORT_LABEL, endpoint, export, link, pod, service, view
from tests.support.model import Source

WEST = link("west")
CONFIG = Config(cluster_name="east", allow_loopback=True)
SITE = Site(address="127.0.0.1", own="own.json")
ANCHOR = trusting.anchor()
ISSUER = trusting.issuer(ANCHOR)


def spec(*ports: ServicePort) -> ServiceSpec:
    return ServiceSpec(cluster_ip="10.9.9.9", cluster_ips=("10.9.9.9",), ports=ports)


def exported(name: str) -> Service:
    return service(name, spec=spec(ServicePort(port=80, name="http")), labels=EXPORT_LABEL)


def slice_of(name: str, ip: str, namespace: str = "shop") -> EndpointSlice:
    labels = {SERVICE_NAME: name, MANAGED_BY: "endpointslice-controller.k8s.io"}
    return EndpointSlice(
        metadata=Metadata(name=f"{name}-abc", namespace=namespace, labels=labels),
        address_type="IPv4",
        endpoints=(endpoint(ip),),
        ports=(EndpointPort(name="http", port=8080),),
    )


API = replace(service("kubernetes", "default"), spec=spec(ServicePort(port=443, name="https")))
GRANT = Grant(metadata=Metadata(name="west"), spec=GrantSpec(cluster="west"))


@dataclass(slots=True)
class Told:
    """Proxies that note what they are told."""

    authority: Authority
    gateways: dict[str, tuple[str, ...]]
    sources: Sources
    proxies: Proxies = field(init=False)
    published: list[tuple[Role, Snapshot]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.proxies = Proxies(self.sources, SITE, VirtualClock())
        self.proxies.tell(self._publish)

    def _publish(self, role: Role, snapshot: Snapshot) -> None:
        assert list(dangling(snapshot)) == [] or not all(self.gateways.values())
        self.published.append((role, snapshot))

    def last(self, role: Role) -> Snapshot:
        return next(found for name, found in reversed(self.published) if name == role)

    async def settle(self) -> None:
        """Let all that there is to say be said."""
        await asyncio.sleep(10)

    def tell(self, source: Source, *names: str, exports: int = 2) -> None:
        """Let everything be known, at once and completely."""
        parts = self.sources
        services = [exported(f"web-{number}") for number in range(exports)]
        slices = [slice_of(one.metadata.name, "10.0.0.1") for one in services]
        local = (*source.services.values(), *services, API)
        parts.exporting.fold_services(Listed(local))
        parts.exporting.fold_marked(Listed(tuple(slices)))
        parts.exporting.fold_loose(Listed((slice_of("kubernetes", "10.7.7.7", "default"),)))
        parts.exporting.fold_ours(Listed(()))
        parts.exporting.fold_grants(Listed((GRANT,)))
        parts.carrying.fold_services(Listed(local))
        parts.carrying.fold_slices(Listed(tuple(source.slices.values())))
        parts.carrying.fold_links(Listed((WEST,)))
        pods = [pod(name, f"10.1.0.{n}", service_account_name=name) for n, name in enumerate(names)]
        parts.calling.fold(Listed(tuple(pods)))


def sources(authority: Authority, gateways: dict[str, tuple[str, ...]]) -> Sources:
    return Sources(
        exporting=Exporting(CONFIG, lambda: "uid"),
        carrying=Carrying(CONFIG, lambda uid: gateways.get(uid, ())),
        calling=Calling("isthmus"),
        authority=authority,
    )


@asynccontextmanager
async def told(authority: Authority | None = None) -> AsyncIterator[Told]:
    gateways: dict[str, tuple[str, ...]] = {WEST.uid: ("10.0.0.9",)}
    authority = authority or trusting.given(ANCHOR, ISSUER)
    made = Told(authority, gateways, sources(authority, gateways))
    running = asyncio.create_task(made.proxies.run())
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.wait({running})


def mirrored(*names: str) -> Source:
    source = Source()
    assert source.settle(view(WEST, *map(export, names))) == []
    return source
