"""An embedded cluster on loopback addresses, and that no other one accepts them."""

from ipaddress import ip_address, ip_network

import pytest

from isthmus.embedded.cluster import Cluster
from isthmus.kube.client import Client
from isthmus.kube.errors import Rejected
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES
from isthmus.model.objects import (
    Endpoint,
    EndpointSlice,
    Metadata,
    Service,
    ServicePort,
    ServiceSpec,
)


def naming(address: str) -> EndpointSlice:
    return EndpointSlice(
        metadata=Metadata(name="web", namespace="default"),
        address_type="IPv4",
        endpoints=(Endpoint(addresses=(address,)),),
    )


@pytest.mark.parametrize("address", ["127.2.0.1", "10.1.2.3"])
async def test_slices_may_name_loopback_addresses_where_that_is_asked_for(address: str) -> None:
    client = Client(Cluster("west", loopback=True).transport())
    made = await client.create(ENDPOINT_SLICES, naming(address))
    assert made.endpoints[0].addresses == (address,)


async def test_slices_may_name_no_loopback_address_otherwise() -> None:
    client = Client(Cluster("west").transport())
    with pytest.raises(Rejected, match="may not be in the loopback range"):
        await client.create(ENDPOINT_SLICES, naming("127.2.0.1"))


async def test_no_cluster_accepts_an_address_that_only_this_link_knows() -> None:
    client = Client(Cluster("west", loopback=True).transport())
    with pytest.raises(Rejected, match="may not be in the link-local range"):
        await client.create(ENDPOINT_SLICES, naming("169.254.169.254"))


async def test_services_get_addresses_of_the_range() -> None:
    client = Client(Cluster("west", service_range="127.96.0.0/16", loopback=True).transport())
    made = await client.create(
        SERVICES,
        Service(
            metadata=Metadata(name="web", namespace="default"),
            spec=ServiceSpec(ports=(ServicePort(port=80),)),
        ),
    )
    assert ip_address(made.spec.cluster_ip) in ip_network("127.96.0.0/16")
