"""The pages that show how proxies stand: all of it, and no more than anybody could read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import msgspec

from isthmus.apps.controller.carrying.exporting import Exporting
from isthmus.apps.controller.carrying.plane import DataPlane
from isthmus.apps.controller.carrying.proxies import Role, Sources
from isthmus.apps.controller.carrying.standing import MOST_PROXIES, MOST_REFUSED, standing
from isthmus.apps.controller.outside import Outside
from isthmus.envoy.ads import Connected
from isthmus.kube.client import Client
from isthmus.model.objects import Key
from isthmus.model.pages import Proxies
from isthmus.runtime.cache import Listed
from isthmus.xds.session import ASKED_FOR, ORDER, Asked, Said
from tests.apps import trusting
from tests.apps.clusters import VirtualClock, place
from tests.apps.telling import ANCHOR, CONFIG, ISSUER, Told, mirrored
from tests.support.model import Source

WEB, DB = Key("shop", "web-west"), Key("shop", "db-west")
REASON = "address already in use\nline two"


class Stage:
    """A data plane that knows everything, and proxies that come to it."""

    def __init__(self, plane: DataPlane, outside: Outside) -> None:
        self.plane = plane
        self.outside = outside

    def page(self, service: Key | None = None) -> Proxies:
        """The page as whoever reads it gets it."""
        text = msgspec.json.encode(standing(self.plane, CONFIG, self.outside, service))
        assert b"PRIVATE KEY" not in text
        return msgspec.json.decode(text, type=Proxies)

    def connect(self, name: str, role: Role) -> Connected:
        account = f"isthmus-{role}"
        identity = self.plane.authority.identity._replace(account=account)
        made = Connected(identity, role, name, since=asyncio.get_running_loop().time())
        self.plane.ads.connected.add(made)
        return made

    def talk(self, proxy: Connected, refuses: str = "") -> None:
        """Let a proxy take all that there is, but one resource."""
        role: Role = "gateway" if proxy.role == "gateway" else "egress"
        snapshot = self.plane.proxies.assemblies[role].snapshot()
        said = proxy.session.publish(snapshot)
        needs = {
            need
            for named in snapshot.types.values()
            for one in named.values()
            for need in one.needs
        }
        for kind in ORDER:
            names = tuple(sorted(need.name for need in needs if need.type_url == kind))
            wanted = names if kind in ASKED_FOR else ()
            said += proxy.session.receive(Asked(type_url=kind, subscribe=wanted))
        while said:
            one = said.pop(0)
            said += proxy.session.receive(_answer(one, refuses))
        proxy.heard = asyncio.get_running_loop().time()


def _answer(said: Said, refuses: str) -> Asked:
    """Refuse every resource whose name starts like that."""
    bad = next((name for name in said.entries if refuses and name.startswith(refuses)), None)
    error = f"{bad}: {REASON}" if bad else None
    return Asked(type_url=said.type_url, nonce=said.nonce, error=error)


@asynccontextmanager
async def stage(source: Source, *accounts: str) -> AsyncIterator[Stage]:
    clock = VirtualClock()
    client = Client(place("east").cluster.transport(), clock=clock)
    outside = Outside(client=client, clock=clock, random=Random(1))
    gateways: dict[str, tuple[str, ...]] = {"link-west": ("10.0.0.9",)}
    plane = DataPlane(CONFIG, outside, Exporting(CONFIG, lambda: "uid"), lambda u: gateways[u])
    authority = plane.authority
    authority.fold_secrets(Listed((trusting.issuer_secret(ISSUER),)))
    authority.fold_config_maps(Listed((trusting.trust_map(ANCHOR),)))
    parts = Sources(
        exporting=plane.exporting,
        carrying=plane.carrying,
        calling=plane.calling,
        authority=authority,
    )
    running = asyncio.create_task(plane.proxies.run())
    Told(authority, gateways, parts).tell(source, *accounts)
    await asyncio.sleep(10)
    try:
        yield Stage(plane, outside)
    finally:
        running.cancel()
        await asyncio.wait({running})


async def test_a_proxy_that_has_everything_says_so() -> None:
    async with stage(mirrored("web"), "curl") as made:
        egress = made.connect("out-0", "egress")
        made.talk(egress)
        page = made.page()
        (shown,) = page.proxies
        assert (page.cluster, page.telling, page.problems) == ("east", True, ())
        assert (shown.name, shown.role, shown.pending, shown.refused) == ("out-0", "egress", 0, ())
        assert shown.identity == "spiffe://east.isthmus/ns/isthmus/sa/isthmus-egress"
        assert (shown.resources, page.listeners) == ((), ())


async def test_one_service_is_shown_as_each_proxy_has_it() -> None:
    async with stage(mirrored("web"), "curl") as made:
        for name, role in (("in-0", "gateway"), ("out-0", "egress")):
            made.talk(made.connect(name, "gateway" if role == "gateway" else "egress"))
        made.connect("out-1", "egress")
        mirror, export = made.page(WEB), made.page(Key("shop", "web-0"))
        states = {one.name: {each.state for each in one.resources} for one in mirror.proxies}
        assert states == {"in-0": set(), "out-0": {"held"}, "out-1": {"missing"}}
        (listener,) = mirror.listeners
        assert listener.authority == "web.shop.svc.west.cluster.local:80"
        (route,) = export.routes
        assert (route.authority, route.places) == ("web-0.shop.svc.cluster.local:80", 1)
        assert route.prefixes == ("spiffe://west.isthmus/",)
        (gateway,) = (one for one in export.proxies if one.role == "gateway")
        assert {each.type for each in gateway.resources} == {
            "Cluster",
            "ClusterLoadAssignment",
            "ScopedRouteConfiguration",
        }


async def test_what_a_proxy_refuses_is_shown_in_envoys_words_and_harms_no_other() -> None:
    async with stage(mirrored("web", "db"), "curl") as made:
        (listener,) = made.page(WEB).listeners
        egress = made.connect("out-0", "egress")
        made.talk(egress, refuses=f"out|{listener.port}")
        (shown,) = made.page(WEB).proxies
        (resource,) = shown.resources
        assert (resource.type, resource.state) == ("Listener", "refused")
        assert resource.message == f"out|{listener.port}: address already in use line two"
        assert [one.name for one in shown.refused] == [f"out|{listener.port}"]
        (other,) = made.page(DB).proxies
        assert [one.state for one in other.resources] == ["held"]


async def test_a_service_that_nobody_knows_is_nothing() -> None:
    async with stage(mirrored("web"), "curl") as made:
        made.talk(made.connect("out-0", "egress"))
        page = made.page(Key("shop", "nothing"))
        assert (page.listeners, page.routes, page.proxies[0].resources) == ((), (), ())


async def test_a_page_has_an_end() -> None:
    many = [f"svc-{number}" for number in range(MOST_REFUSED + 5)]
    async with stage(mirrored(*many), "curl") as made:
        for number in range(MOST_PROXIES + 3):
            made.talk(made.connect(f"out-{number}", "egress"), refuses="out|")
        page = made.page()
        assert (len(page.proxies), page.left_out) == (MOST_PROXIES, 3)
        assert {(len(one.refused), one.refused_count) for one in page.proxies} == {
            (MOST_REFUSED, len(many))
        }
