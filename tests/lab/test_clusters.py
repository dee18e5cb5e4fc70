"""The clusters as values: nothing of one can be taken for another's."""

from ipaddress import ip_address, ip_network
from itertools import combinations

from lab.clusters import CLUSTERS, HOST, USUAL, named
from lab.wire import cable


def test_no_range_of_any_cluster_overlaps_another() -> None:
    ranges = [ip_network(text) for one in CLUSTERS for text in (one.pods, one.services)]
    ranges.append(HOST.network)
    assert not [pair for pair in combinations(ranges, 2) if pair[0].overlaps(pair[1])]


def test_every_node_is_on_the_wire_and_has_an_address_of_its_own() -> None:
    addresses = {ip_address(cluster.address) for cluster in CLUSTERS} | {HOST.ip}
    assert len(addresses) == len(CLUSTERS) + 1
    assert all(address in HOST.network for address in addresses)


def test_names_are_found_and_fit_into_the_name_of_a_device() -> None:
    assert [named(cluster.name) for cluster in CLUSTERS] == list(CLUSTERS)
    assert all(len(cable(cluster)) <= 15 for cluster in CLUSTERS), "the kernel allows no more"


def test_services_have_the_customary_addresses_and_domains() -> None:
    east, west = USUAL
    assert (east.api_address, east.dns_address) == ("10.231.0.1", "10.231.0.10")
    assert (east.domain, west.domain) == ("east.cluster.local", "west.cluster.local")
