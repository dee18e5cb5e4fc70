"""What proxies are told: all of it or nothing, each change alone, and the same as from scratch."""

import asyncio

from isthmus.model.objects import Key
from isthmus.model.routes import EgressRoutes
from isthmus.runtime.cache import Gone, Listed, Put
from isthmus.xds import egress, gateway, secrets
from isthmus.xds.names import is_room
from isthmus.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    SECRET,
    Resources,
    together,
)
from isthmus.xds.snapshot import Snapshot
from tests.apps import trusting
from tests.apps.clusters import VirtualClock
from tests.apps.telling import (
    ANCHOR,
    API,
    ISSUER,
    SITE,
    WEST,
    exported,
    mirrored,
    slice_of,
    told,
)
from tests.support.builders import pod


def names(snapshot: Snapshot, type_url: str) -> list[str]:
    return sorted(snapshot.of(type_url))


async def test_a_gateway_is_told_what_is_exported_and_an_egress_what_is_mirrored() -> None:
    async with told() as made:
        made.tell(mirrored("db"), "curl")
        await made.settle()
        assert [role for role, _ in made.published] == ["gateway", "egress"]
        found = made.last("gateway")
        ports = ["web-0.shop.svc.cluster.local:80", "web-1.shop.svc.cluster.local:80"]
        assert names(found, SCOPED_ROUTES) == ["catalogue", "probe", *ports]
        assert names(found, SECRET) == ["anchors"]
        found = made.last("egress")
        clusters = [one for one in names(found, CLUSTER) if not is_room(one)]
        assert clusters == ["identify", "west:tcp|shop/curl", "west|shop/curl"]
        assert names(found, SECRET) == ["account/shop/curl", "anchors"]
        assert len([one for one in names(found, LISTENER) if not is_room(one)]) == 2


async def test_nothing_is_said_before_everything_is_known() -> None:
    authority = trusting.fresh()
    async with told(authority) as made:
        made.tell(mirrored("db"), "curl")
        await made.settle()
        assert made.published == []
        trusting.put(authority, trusting.trust_map(ANCHOR), trusting.issuer_secret(ISSUER))
        await made.settle()
        assert {role for role, _ in made.published} == {"gateway", "egress"}


async def test_no_single_missing_list_is_taken_for_an_empty_one() -> None:
    source = mirrored("db")
    for missing in ("exporting", "services", "slices", "links", "pods"):
        async with told() as made:
            parts = made.sources
            if missing != "exporting":
                parts.exporting.fold_services(Listed((API,)))
                parts.exporting.fold_marked(Listed(()))
                parts.exporting.fold_loose(Listed((slice_of("kubernetes", "10.7.7.7", "default"),)))
                parts.exporting.fold_ours(Listed(()))
                parts.exporting.fold_grants(Listed(()))
            if missing != "services":
                parts.carrying.fold_services(Listed(tuple(source.services.values())))
            if missing != "slices":
                parts.carrying.fold_slices(Listed(tuple(source.slices.values())))
            if missing != "links":
                parts.carrying.fold_links(Listed((WEST,)))
            if missing != "pods":
                parts.calling.fold(Listed(()))
            await made.settle()
            assert made.published == [], missing


async def test_a_changed_mirror_changes_its_own_listener_and_nothing_else() -> None:
    source = mirrored(*(f"db-{number}" for number in range(30)))
    async with told() as made:
        made.tell(source, "curl")
        await made.settle()
        before = made.last("egress")
        made.published.clear()
        made.sources.carrying.fold_slices(Gone(Key("shop", "db-7-west-ipv4")))
        await made.settle()
        ((role, after),) = made.published
        assert role == "egress"
        for type_url in (CLUSTER, ENDPOINTS, SECRET, ROUTES):
            assert after.of(type_url) is before.of(type_url)
        old, new = before.of(LISTENER), after.of(LISTENER)
        assert len(old.keys() - new.keys()) == 1
        assert all(new[name] is old[name] for name in new)


async def test_a_changed_export_changes_its_own_endpoints_and_nothing_else() -> None:
    async with told() as made:
        made.tell(mirrored(), exports=30)
        await made.settle()
        before = made.last("gateway")
        made.published.clear()
        made.sources.exporting.fold_marked(Put(slice_of("web-3", "10.0.0.2")))
        await made.settle()
        ((role, after),) = made.published
        assert role == "gateway"
        for type_url in (CLUSTER, SECRET, SCOPED_ROUTES, LISTENER):
            assert after.of(type_url) is before.of(type_url)
        old, new = before.of(ENDPOINTS), after.of(ENDPOINTS)
        assert [name for name in new if new[name] is not old[name]] == [
            "web-3.shop.svc.cluster.local:80"
        ]


async def test_a_burst_of_changes_is_one_snapshot() -> None:
    async with told() as made:
        made.tell(mirrored("db"), "curl")
        await made.settle()
        made.published.clear()
        for number in range(2, 50):
            made.sources.calling.fold(Put(pod(f"curl-{number}", f"10.1.0.{number}")))
        await made.settle()
        assert [role for role, _ in made.published] == ["egress"]


async def test_an_account_whose_last_pod_is_gone_loses_its_certificate_and_clusters() -> None:
    async with told() as made:
        made.tell(mirrored("db"), "curl", "web")
        await made.settle()
        assert names(made.last("egress"), SECRET)[:2] == ["account/shop/curl", "account/shop/web"]
        made.sources.calling.fold(Gone(Key("shop", "web")))
        await made.settle()
        found = made.last("egress")
        assert names(found, SECRET) == ["account/shop/curl", "anchors"]
        clusters = [one for one in names(found, CLUSTER) if not is_room(one)]
        assert clusters == ["identify", "west:tcp|shop/curl", "west|shop/curl"]


async def test_a_new_anchor_reaches_both_roles_and_renews_every_certificate() -> None:
    async with told() as made:
        made.tell(mirrored("db"), "curl")
        await made.settle()
        before = {role: made.last(role).of(SECRET) for role in ("gateway", "egress")}
        other = trusting.anchor()
        trusting.put(made.authority, trusting.trust_map(ANCHOR, other))
        trusting.put(made.authority, trusting.issuer_secret(trusting.issuer(other)))
        await made.settle()
        for role in ("gateway", "egress"):
            after = made.last(role).of(SECRET)
            assert after.keys() == before[role].keys()
            assert all(after[name].version != before[role][name].version for name in after)


async def test_where_nobody_knows_the_gateways_proxies_keep_those_that_they_have_known() -> None:
    async with told() as made:
        made.gateways[WEST.uid] = ()
        made.tell(mirrored("db"), "curl")
        await made.settle()
        found = made.last("egress")
        assert names(found, ENDPOINTS) == []
        assert "west|shop/curl" in names(found, CLUSTER)
        made.gateways[WEST.uid] = ("10.0.0.9",)
        made.sources.carrying.moved(WEST.uid)
        await made.settle()
        assert names(made.last("egress"), ENDPOINTS) == ["west"]


async def test_a_link_that_goes_takes_everything_of_it_along() -> None:
    async with told() as made:
        made.tell(mirrored("db"), "curl")
        await made.settle()
        made.sources.carrying.fold_links(Gone(WEST.metadata.key))
        await made.settle()
        found = made.last("egress")
        assert names(found, CLUSTER) == ["identify"]
        assert (names(found, ENDPOINTS), names(found, ROUTES)) == ([], [])
        assert names(found, LISTENER) == ["identify"]


async def test_after_any_changes_it_is_what_it_would_be_from_scratch() -> None:
    source = mirrored("db", "mq")
    async with told() as made:
        made.tell(source, "curl", "web")
        await made.settle()
        made.sources.carrying.fold_slices(Gone(Key("shop", "db-west-ipv4")))
        made.sources.calling.fold(Put(pod("late", "10.1.9.9", service_account_name="late")))
        await made.settle()
        made.sources.calling.fold(Gone(Key("shop", "web")))
        made.sources.carrying.fold_slices(Put(source.slices[Key("shop", "db-west-ipv4")]))
        made.sources.exporting.fold_services(Gone(Key("shop", "web-0")))
        await made.settle()
        parts = made.sources
        carrying, authority = parts.carrying, parts.authority
        routes = EgressRoutes(
            outbound=tuple(one for each in carrying.outbound.values() for one in each),
            peers=tuple(carrying.peers.values()),
            callers=dict(parts.calling.callers),
        )
        anchors = secrets.anchors(authority.anchors.pem())
        leaves = {name: authority.account(*name.split("/")) for name in parts.calling.accounts}
        own = [secrets.account(name, one.chain_pem, one.key_pem) for name, one in leaves.items()]
        assert versions(made.last("egress")) == {
            **listed(egress.egress(routes, SITE.address)),
            **listed(together([anchors, *own])),
        }
        assert versions(made.last("gateway")) == {
            **listed(gateway.gateway(parts.exporting.routes(), SITE)),
            **listed(together([anchors])),
        }


def versions(snapshot: Snapshot) -> dict[tuple[str, str], str]:
    return {
        (type_url, name): entry.version
        for type_url, entries in snapshot.types.items()
        for name, entry in entries.items()
    }


def listed(resources: Resources) -> dict[tuple[str, str], str]:
    return {
        (type_url, name): one.version
        for type_url, of in resources.items()
        for name, one in of.items()
    }


async def test_proxies_are_told_though_something_changes_at_every_moment() -> None:
    """A Grant that is withdrawn must not wait until no pod comes or goes any more."""
    changes = 0

    class Restless(VirtualClock):
        async def sleep(self, seconds: float) -> None:
            nonlocal changes
            if not seconds and changes < 1_000:
                changes += 1
                one = pod(f"p{changes}", f"10.9.{changes // 250}.{changes % 250}")
                made.sources.calling.fold(Put(one))
                made.sources.exporting.fold_services(Put(exported(f"web-{changes}")))
            await super().sleep(seconds)

    async with told() as made:
        made.proxies._clock = Restless()
        made.tell(mirrored("db"), "curl", exports=350)
        await asyncio.sleep(1)
        assert 0 < changes < 1_000
        assert [role for role, _ in made.published][:2] == ["gateway", "egress"]
