"""Listener ports of the egress: stable, unique, and remembered by nothing but the slices."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.core import listeners
from isthmus.core.world import LinkView
from isthmus.model.actions import Report
from isthmus.model.exports import Port
from isthmus.model.objects import EndpointPort, EndpointSlice, Key, Metadata
from tests.support.builders import export, link, view
from tests.support.model import Source

WEST = link("west")
WEB, DB = Key("shop", "web-west"), Key("shop", "db-west")
EVERY = range(listeners.FIRST, listeners.LAST + 1)


def ports(local: Source) -> dict[str, dict[str, int | None]]:
    return {
        key.name: {port.name: port.port for port in one.ports} for key, one in local.slices.items()
    }


def settled(seen: LinkView, local: Source | None = None) -> Source:
    local = local or Source()
    assert local.settle(seen) == []
    return local


def two_ports(*names: str) -> LinkView:
    return view(WEST, export(ports=tuple(Port(port=80 + i, name=n) for i, n in enumerate(names))))


def test_every_mirrored_port_has_a_listener_of_its_own() -> None:
    both = (Port(port=1, name="a"), Port(port=2, name="b"))
    exports = [export(f"web-{one}", ports=both) for one in range(50)]
    local = settled(view(WEST, *exports))
    used = [port for one in ports(local).values() for port in one.values()]
    assert len(used) == len(set(used)) == 100
    assert set(used) <= set(EVERY)


def test_a_listener_is_kept_as_long_as_its_slice_says_so() -> None:
    local = settled(two_ports("http"))
    recorded = local.slices[Key("shop", "web-west-ipv4")]
    local.edit(replace(recorded, ports=(EndpointPort(name="http", port=31_234),)))
    settled(two_ports("http"), local)  # a restart: all else is forgotten
    assert ports(local) == {"web-west-ipv4": {"http": 31_234}}


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(("a", "b"), ("a", "b", "c"), id="a port more"),
        pytest.param(("a", "b"), ("b",), id="a port less"),
        pytest.param(("a", "b"), ("b", "a"), id="in another order"),
        pytest.param(("a", "b"), ("z", "b"), id="one has another name"),
    ],
)
def test_the_ports_that_stay_keep_their_listeners(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    local = settled(two_ports(*before))
    old = ports(local)["web-west-ipv4"]
    new = ports(settled(two_ports(*after), local))["web-west-ipv4"]
    assert list(new) == list(after)
    assert {name: new[name] for name in new.keys() & old.keys()} == {
        name: old[name] for name in new.keys() & old.keys()
    }


def test_a_mirror_made_anew_gets_the_listener_it_had() -> None:
    local = settled(two_ports("http"))
    old = ports(local)
    settled(view(WEST), local)
    assert ports(settled(two_ports("http"), local)) == old


def test_of_two_mirrors_that_claim_one_listener_the_second_moves() -> None:
    both = view(WEST, export("db"), export("web"))
    local = settled(both)
    db, web = (local.slices[Key("shop", f"{name}-west-ipv4")] for name in ("db", "web"))
    local.edit(replace(web, ports=db.ports))
    settled(both, local)
    assert ports(local)["db-west-ipv4"] == {"http": db.ports[0].port}
    assert ports(local)["web-west-ipv4"] != {"http": db.ports[0].port}


@pytest.mark.parametrize(
    "known, taken, wanted, expected",
    [
        pytest.param({"http": 20_005}, {}, ["http"], {"http": 20_005}, id="recorded"),
        pytest.param(
            {"http": 20_005}, {20_005: WEB}, ["http"], {"http": 20_005}, id="recorded and mine"
        ),
        pytest.param(
            {"a": 20_005, "b": 20_005}, {}, ["a", "b"], {"a": 20_005, "b": ...}, id="twice the same"
        ),
        pytest.param({"http": 20_005}, {20_005: DB}, ["http"], {"http": ...}, id="another's"),
    ],
)
def test_a_recorded_listener_is_used_unless_it_is_anothers(
    known: dict[str, int], taken: dict[int, Key], wanted: list[str], expected: dict[str, object]
) -> None:
    found = listeners.chosen(WEB, wanted, known, taken)
    assert found.keys() == expected.keys()
    for name, port in expected.items():
        assert found[name] == port if port is not ... else found[name] != 20_005


@pytest.mark.parametrize("port", [None, 80, 19_999, 60_000])
def test_a_port_that_no_listener_can_have_is_not_remembered(port: int | None) -> None:
    one = EndpointSlice(
        metadata=Metadata(name="x"), address_type="IPv4", ports=(EndpointPort(port=port),)
    )
    assert listeners.recorded([one]) == {}


def test_the_last_free_listener_is_found() -> None:
    taken = {port: DB for port in EVERY if port != 45_678}
    assert listeners.chosen(WEB, ["http"], {}, taken) == {"http": 45_678}


def test_without_a_free_listener_the_export_is_refused_and_others_keep_theirs() -> None:
    full = EndpointSlice(
        metadata=Metadata(
            namespace="shop", name="full", labels={"kubernetes.io/service-name": "db-west"}
        ),
        address_type="IPv4",
        ports=tuple(EndpointPort(name=f"p{port}", port=port) for port in EVERY[1:]),
    )
    local = Source(slices={full.metadata.key: full})
    settled(view(WEST, export("web")), local)
    (report,) = local.settle(view(WEST, export("web"), export("zoo")))
    assert isinstance(report, Report)
    assert (report.export, report.reason) == (Key("shop", "zoo"), "NoListenerPort")
    assert [key.name for key in local.services] == ["web-west"]


@given(
    keys=st.lists(st.sampled_from([WEB, DB, Key("bank", "web-west")]), min_size=1, max_size=3),
    known=st.dictionaries(st.sampled_from("abc"), st.integers(19_000, 21_000)),
    taken=st.dictionaries(st.integers(20_000, 20_050), st.sampled_from([WEB, DB])),
)
@settings(max_examples=50)
def test_nobody_is_given_what_another_has(
    keys: list[Key], known: dict[str, int], taken: dict[int, Key]
) -> None:
    known = {name: port for name, port in known.items() if port in EVERY}
    for key in keys:
        found = listeners.chosen(key, "abc", known, taken)
        assert len(set(found.values())) == 3
        assert all(taken.get(port, key) == key for port in found.values())
        assert found == listeners.chosen(key, "abc", found, taken), "stable once recorded"
        taken = taken | dict.fromkeys(found.values(), key)
