"""What the egress listens for, as mirrors, slices and links change."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.apps.controller.carrying.outgoing import Carrying
from isthmus.apps.controller.config import Config
from isthmus.model.links import Link
from isthmus.model.objects import EndpointPort, EndpointSlice, Key, Service
from isthmus.model.routes import Outbound
from isthmus.runtime.cache import Gone, Listed, Put
from tests.support.builders import export, link, service, view
from tests.support.model import Source

WEST = link("west")
CONFIG = Config(cluster_name="east")


class Heard:
    """A source with mirrors, and somebody who is told what the egress carries."""

    def __init__(self, *names: str) -> None:
        self.source = Source()
        assert self.source.settle(view(WEST, *map(export, names))) == []
        self.gateways: dict[str, tuple[str, ...]] = {}
        self.told = 0
        self.carrying = Carrying(CONFIG, lambda uid: self.gateways.get(uid, ()))
        self.carrying.tell(self._count)

    def _count(self) -> None:
        self.told += 1

    def list_all(self, *links: Link) -> None:
        self.carrying.fold_links(Listed(links))
        self.carrying.fold_slices(Listed(tuple(self.source.slices.values())))
        self.carrying.fold_services(Listed(tuple(self.source.services.values())))
        self.carrying.news()
        self.told = 0

    @property
    def listeners(self) -> dict[int, str]:
        served = [one for each in self.carrying.outbound.values() for one in each]
        found = {one.listener: one.service for one in served}
        assert len(found) == len(served), "one port, one listener"
        return found

    def slice_of(self, name: str) -> EndpointSlice:
        return self.source.slices[Key("shop", f"{name}-ipv4")]


def test_one_changed_mirror_is_one_decision() -> None:
    heard = Heard("web", "db", "mq")
    heard.list_all(WEST)
    assert sorted(heard.listeners.values()) == ["db-west", "mq-west", "web-west"]
    heard.carrying.fold_slices(Gone(Key("shop", "db-west-ipv4")))
    assert (heard.told, heard.carrying.news()) == (1, frozenset({Key("shop", "db-west")}))
    assert heard.carrying.news() == frozenset()
    assert sorted(heard.listeners.values()) == ["mq-west", "web-west"]


def test_a_links_status_is_nothing_to_its_mirrors() -> None:
    heard = Heard("web")
    heard.list_all(WEST)
    heard.carrying.fold_links(Put(replace(WEST, status=replace(WEST.status, mirrors=7))))
    assert (heard.told, heard.carrying.news()) == (0, frozenset())


def test_a_link_that_somebody_else_carries_is_carried_no_longer() -> None:
    heard = Heard("web")
    heard.gateways[WEST.uid] = ("10.0.0.9",)
    heard.list_all(WEST)
    assert (len(heard.listeners), list(heard.carrying.peers)) == (1, ["west"])
    heard.carrying.fold_links(Put(link("west", data_plane="external")))
    assert (heard.listeners, heard.carrying.peers) == ({}, {})
    assert heard.told >= 1
    assert heard.carrying.news() == {Key("shop", "web-west")}


def test_a_gateway_that_moves_is_told_once() -> None:
    heard = Heard("web")
    heard.list_all(WEST)
    heard.gateways[WEST.uid] = ("10.0.0.9",)
    for _ in range(2):
        heard.carrying.moved(WEST.uid)
    assert (heard.told, heard.carrying.news()) == (1, frozenset())
    assert [one.address for one in heard.carrying.peers["west"].places] == ["10.0.0.9"]


def with_ports(one: EndpointSlice, *ports: int) -> EndpointSlice:
    return replace(one, ports=tuple(EndpointPort(name="http", port=port) for port in ports))


def aged(one: Service, created: str) -> Service:
    return replace(one, metadata=replace(one.metadata, creation_timestamp=created))


def test_a_port_that_two_mirrors_claim_stays_with_the_older_one() -> None:
    heard = Heard("web", "db")
    for name, created in (
        ("web-west", "2026-01-01T00:00:00Z"),
        ("db-west", "2026-01-02T00:00:00Z"),
    ):
        key = Key("shop", name)
        heard.source.services[key] = aged(heard.source.services[key], created)
    heard.list_all(WEST)
    (port,) = (port for port, name in heard.listeners.items() if name == "web-west")
    own = heard.slice_of("db-west")
    heard.carrying.fold_slices(Put(with_ports(own, port)))
    assert heard.listeners == {port: "web-west"}
    heard.carrying.fold_slices(Gone(Key("shop", "web-west-ipv4")))
    assert heard.listeners == {port: "db-west"}
    heard.carrying.fold_slices(Put(own))
    assert list(heard.listeners.values()) == ["db-west"]


def test_what_is_no_mirror_is_not_looked_at() -> None:
    heard = Heard()
    heard.list_all(WEST)
    heard.carrying.fold_services(Put(service()))
    assert (heard.told, heard.carrying.outbound) == (0, {})


NAMES = ("web", "db", "mq")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(["service", "slice", "no service", "no slice"]),
        st.integers(20_000, 20_002),
    ),
    max_size=15,
)


@given(STEPS)
def test_whatever_happened_only_what_is_there_now_counts(
    steps: Iterable[tuple[str, str, int]],
) -> None:
    heard = Heard(*NAMES)
    services, slices = dict(heard.source.services), dict(heard.source.slices)
    heard.list_all(WEST)
    for name, what, port in steps:
        key, slice_key = Key("shop", f"{name}-west"), Key("shop", f"{name}-west-ipv4")
        match what:
            case "service":
                services[key] = heard.source.services[key]
                heard.carrying.fold_services(Put(services[key]))
            case "slice":
                slices[slice_key] = with_ports(heard.source.slices[slice_key], port)
                heard.carrying.fold_slices(Put(slices[slice_key]))
            case "no service":
                services.pop(key, None)
                heard.carrying.fold_services(Gone(key))
            case _:
                slices.pop(slice_key, None)
                heard.carrying.fold_slices(Gone(slice_key))
    fresh = Heard(*NAMES)
    fresh.source.services, fresh.source.slices = services, slices
    fresh.list_all(WEST)
    assert heard.listeners == fresh.listeners
    assert outbound(heard) == outbound(fresh)


def outbound(heard: Heard) -> dict[Key, tuple[Outbound, ...]]:
    return dict(heard.carrying.outbound)


def test_a_mirror_may_be_seen_before_its_link_and_after_it() -> None:
    heard = Heard("web")
    heard.list_all()
    assert heard.listeners == {}
    heard.carrying.fold_links(Put(WEST))
    assert list(heard.listeners.values()) == ["web-west"]
    heard.carrying.fold_links(Gone(WEST.metadata.key))
    assert heard.listeners == {}
