"""No mirror leads its callers back into the cluster that it stands in."""

import asyncio

import pytest

from isthmus.apps.controller.config import Config
from isthmus.apps.controller.mirroring.local import Local
from isthmus.model.links import LinkSpec
from isthmus.model.objects import Key, Service, ServiceSpec
from isthmus.runtime.cache import Cache, Gone, Put
from tests.apps.clusters import (
    SERVICES,
    SLICES,
    Air,
    Place,
    controlling,
    endpoints,
    exported,
    join,
    place,
    settled,
    source,
)
from tests.apps.test_mirroring import mirror_slices
from tests.support.builders import endpoint, service, slice_of

CONFIG = Config(cluster_name="east", local_cidrs=("10.42.0.0/16", "fd00:42::/48"))
OF_A_SERVICE = "the address of Service shop/web of this cluster"
API_SERVER = "this cluster's API server"
OF_PODS = "in 10.42.0.0/16, which --local-cidr says is this cluster's"


def local() -> tuple[Local, Cache[Key, Service]]:
    """A cluster with one Service of two families, one without an address, and an API server."""
    services: Cache[Key, Service] = Cache(lambda one: one.metadata.key)
    found = Local(services)
    both = ServiceSpec(cluster_ip="10.96.0.10", cluster_ips=("10.96.0.10", "fd00:96::a"))
    services.fold(Put(service("web", spec=both)))
    services.fold(Put(service("db", spec=ServiceSpec(cluster_ip="None", cluster_ips=("None",)))))
    found.fold_api_servers(Put(slice_of("kubernetes", endpoint("192.0.2.1"))))
    return found, services


@pytest.mark.parametrize(
    "host, why",
    [
        pytest.param("203.0.113.9", None, id="elsewhere"),
        pytest.param("gw.example", None, id="a name: what it leads to is judged"),
        pytest.param("10.96.0.10", OF_A_SERVICE, id="a Service"),
        pytest.param("fd00:96::a", OF_A_SERVICE, id="its second family"),
        pytest.param("FD00:96:0::000a", OF_A_SERVICE, id="written in another way"),
        pytest.param("::ffff:10.96.0.10", OF_A_SERVICE, id="mapped into IPv6"),
        pytest.param("64:ff9b::a60:a", OF_A_SERVICE, id="by way of NAT64"),
        pytest.param("10.96.0.11", None, id="an address that no Service has"),
        pytest.param("192.0.2.1", API_SERVER, id="the API server"),
        pytest.param("10.42.7.8", OF_PODS, id="a pod"),
        pytest.param("fd00:42::8", OF_PODS.replace("10.42.0.0/16", "fd00:42::/48"), id="IPv6 pod"),
        pytest.param("127.0.0.1", "a loopback address", id="what is refused anyway"),
    ],
)
@pytest.mark.parametrize("data_plane", ["external", "linkerd"])
def test_the_clusters_own_addresses_are_no_gateways(
    host: str, why: str | None, data_plane: str
) -> None:
    found, _ = local()
    spec = LinkSpec(data_plane=data_plane)  # type: ignore[arg-type]  # one of three words
    assert found.refusal(host, spec, CONFIG) == why


@pytest.mark.parametrize("host", ["10.96.0.10", "192.0.2.1", "10.42.7.8"])
def test_our_own_proxies_check_who_is_there_and_may_try(host: str) -> None:
    assert local()[0].refusal(host, LinkSpec(data_plane="envoy"), CONFIG) is None


def test_an_address_is_free_again_when_its_service_is_gone() -> None:
    found, services = local()
    services.fold(Gone(Key("shop", "web")))
    assert found.refusal("10.96.0.10", LinkSpec(data_plane="external"), CONFIG) is None


async def addresses(east: Place) -> list[str]:
    found = await mirror_slices(east, "web-west")
    return [ip for each in found for one in each["endpoints"] or () for ip in one["addresses"]]


async def linked(**spec: object) -> tuple[Place, Place]:
    east, west = await source(), place("west", 1)
    await join(east, west, dataPlane="external", **spec)
    await west.create(SERVICES, exported("web"))
    await west.create(SLICES, endpoints("web", "10.2.0.1"))
    return east, west


async def test_a_name_that_turns_to_the_own_api_server_is_not_followed() -> None:
    east, west = await linked(gateway={"addresses": ["gw.example"]})
    air = Air(names={"gw.example": ("203.0.113.7",)})
    async with controlling(east, [west], air=air):
        await settled(east, ["web-west"])
        assert await addresses(east) == ["203.0.113.7"]
        for hostile in (("10.96.0.1",), ("192.0.2.1",), ("10.96.0.1", "203.0.113.8")):
            air.names["gw.example"] = hostile
            await asyncio.sleep(60)
            assert await addresses(east) == [
                "203.0.113.8" if "203.0.113.8" in hostile else "203.0.113.7"
            ]
        assert await east.condition("AddressRefused") == ("True", "BadAddress")
        assert await east.condition("Ready") == ("False", "AddressRefused")
        conditions = (await east.link())["status"]["conditions"]
        assert any(
            "10.96.0.1: the address of Service default/kubernetes" in one["message"]
            for one in conditions
        )
        air.names["gw.example"] = ("203.0.113.8",)
        await asyncio.sleep(60)
        assert await east.condition("AddressRefused") == ("", "")
        assert await east.condition("Ready") == ("True", "Ready")


async def test_a_link_to_an_address_of_this_cluster_gets_mirrors_without_endpoints() -> None:
    east, west = await linked(gateway={"addresses": ["10.96.0.1"]})
    async with controlling(east, [west]):
        await settled(east, ["web-west"])
        assert await addresses(east) == []
        assert await east.condition("Ready") == ("False", "AddressRefused")


async def test_a_name_with_very_many_addresses_fills_no_slices() -> None:
    east, west = await linked(gateway={"addresses": ["gw.example"]})
    many = tuple(f"203.0.{one // 250}.{one % 250 + 1}" for one in range(4000))
    async with controlling(east, [west], air=Air(names={"gw.example": many})):
        await settled(east, ["web-west"])
        assert await addresses(east) == sorted(many[:32])


async def test_one_edited_slice_does_not_lead_all_mirrors_astray_while_a_name_is_unknown() -> None:
    east, west = await linked(gateway={"addresses": ["gw.example"]})
    for name in ("db", "kv"):
        await west.create(SERVICES, exported(name))
        await west.create(SLICES, endpoints(name, "10.2.0.1"))
    air = Air(names={"gw.example": ("203.0.113.7",)})
    async with controlling(east, [west], air=air):
        await settled(east, ["db-west", "kv-west", "web-west"])
    air.names.clear()
    edited = {"endpoints": [{"addresses": ["10.42.0.66"], "conditions": {"ready": True}}]}
    await east.edit(SLICES, "db-west-ipv4", edited)
    async with controlling(east, [west], air=air, seed=2):
        await asyncio.sleep(60)
        for name in ("db-west", "kv-west", "web-west"):
            (found,) = await mirror_slices(east, name)
            assert [one["addresses"] for one in found["endpoints"]] == [["203.0.113.7"]]
