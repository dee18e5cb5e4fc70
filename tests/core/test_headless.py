"""Headless exports: the mirror, a Service for each named pod, and when to do without."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.core.plan import plan
from isthmus.core.world import LinkView
from isthmus.model import names
from isthmus.model.actions import Create, Delete, Report, Update
from isthmus.model.exports import Export, NamedPod
from isthmus.model.links import LinkSpec
from isthmus.model.objects import EndpointSlice, Key
from tests.support.builders import export, headless, link, namespace, service, view
from tests.support.model import Source

WEST = link("west")
NGINX = Key("shop", "nginx-svc-west")
THREE = headless("nginx-svc", "nginx-set-0", "nginx-set-1", "nginx-set-2")


def shape(local: Source) -> dict[str, str]:
    """The mirrors by name, and whether each has an address of its own."""
    return {
        key.name: "None" if one.spec.cluster_ip == "None" else "ClusterIP"
        for key, one in local.services.items()
    }


def settled(*views: LinkView, local: Source | None = None) -> Source:
    local = local or Source()
    left = local.settle(*views)
    assert [one for one in left if not isinstance(one, Report)] == []
    return local


def slice_of(local: Source, name: str) -> EndpointSlice:
    return local.slices[Key("shop", f"{name}-ipv4")]


def unnamed(name: str, *hostnames: str) -> Export:
    return headless(name, *hostnames, unnamed=True)


@pytest.mark.parametrize(
    "exported, expected",
    [
        pytest.param(
            THREE,
            {
                "nginx-svc-west": "None",
                "nginx-set-0-west": "ClusterIP",
                "nginx-set-1-west": "ClusterIP",
                "nginx-set-2-west": "ClusterIP",
            },
            id="the tutorial's",
        ),
        pytest.param(
            unnamed("db", "db-0"),
            {"db-west": "None", "db-0-west": "ClusterIP"},
            id="named and unnamed pods: the unnamed are left out",
        ),
        pytest.param(unnamed("db"), {"db-west": "ClusterIP"}, id="no pod has a name"),
        pytest.param(headless("db"), {"db-west": "ClusterIP"}, id="no pods, and never had any"),
        pytest.param(export("web"), {"web-west": "ClusterIP"}, id="not headless at all"),
    ],
)
def test_which_mirrors_an_export_gets(exported: Export, expected: dict[str, str]) -> None:
    assert shape(settled(view(WEST, exported))) == expected


def test_headless_services_are_ordinary_ones_unless_the_link_says_otherwise() -> None:
    local = settled(view(link("west", enable_headless_services=False), THREE))
    assert shape(local) == {"nginx-svc-west": "ClusterIP"}
    assert not LinkSpec().enable_headless_services


@pytest.mark.parametrize(
    "before, after, expected",
    [
        pytest.param(
            unnamed("db"),
            headless("db", "db-0"),
            {"db-west": "None", "db-0-west": "ClusterIP"},
            id="names appear",
        ),
        pytest.param(
            headless("db", "db-0"), unnamed("db"), {"db-west": "ClusterIP"}, id="names go"
        ),
        pytest.param(
            headless("db", "db-0"), headless("db"), {"db-west": "None"}, id="scaled to nothing"
        ),
        pytest.param(
            headless("db"),
            headless("db", "db-0"),
            {"db-west": "None", "db-0-west": "ClusterIP"},
            id="scaled up for the first time",
        ),
    ],
)
def test_whether_a_mirror_is_headless_is_decided_at_every_change(
    before: Export, after: Export, expected: dict[str, str]
) -> None:
    local = settled(view(WEST, before))
    assert shape(settled(view(WEST, after), local=local)) == expected


def test_switching_headless_services_off_replaces_the_mirror() -> None:
    local = settled(view(WEST, THREE))
    settled(view(link("west", enable_headless_services=False), THREE), local=local)
    assert shape(local) == {"nginx-svc-west": "ClusterIP"}


def test_the_slice_names_each_pod_at_the_address_of_its_own_mirror() -> None:
    local = settled(view(WEST, THREE))
    found = slice_of(local, "nginx-svc-west")
    assert found.metadata.labels[names.SERVICE_NAME] == "nginx-svc-west"
    assert [port.port for port in found.ports] == [80]
    assert [port.name for port in found.ports] == ["http"]
    for endpoint in found.endpoints:
        stand_in = local.services[Key("shop", f"{endpoint.hostname}-west")]
        assert endpoint.addresses == (stand_in.spec.cluster_ip,)
        assert [port.port for port in stand_in.spec.ports] == [80]
    hostnames = [endpoint.hostname for endpoint in found.endpoints]
    assert hostnames == ["nginx-set-0", "nginx-set-1", "nginx-set-2"]


def test_the_slice_waits_for_addresses_that_are_not_assigned_yet() -> None:
    local = Source()
    local.carry_out(plan(local.world(view(WEST, headless("a", "z-0"))), Key("shop", "a-west")))
    assert slice_of(local, "a-west").endpoints == ()
    settled(view(WEST, headless("a", "z-0")), local=local)
    assert [one.hostname for one in slice_of(local, "a-west").endpoints] == ["z-0"]


@pytest.mark.parametrize(
    "pods, alive, expected",
    [
        pytest.param((True, True), True, [True, True], id="all is well"),
        pytest.param(
            (True, False), True, [True, False], id="a pod that is not ready keeps its name"
        ),
        pytest.param((True, True), False, [False, False], id="the gateway is dead"),
    ],
)
def test_readiness_of_pods(pods: tuple[bool, ...], alive: bool, expected: list[bool]) -> None:
    named = tuple(NamedPod(hostname=f"db-{i}", ready=ready) for i, ready in enumerate(pods))
    exported = replace(headless("db", "x"), pods=named)
    local = settled(view(WEST, exported, gateway_alive=alive))
    assert [one.conditions.ready for one in slice_of(local, "db-west").endpoints] == expected
    for index, ready in enumerate(expected):
        (endpoint,) = slice_of(local, f"db-{index}-west").endpoints
        assert endpoint.conditions.ready is ready


@pytest.mark.parametrize("count", [5, 1, 0])
def test_a_set_grows_and_shrinks_without_touching_siblings(count: int) -> None:
    local = settled(view(WEST, THREE))
    before = dict(local.services)
    other = headless("nginx-svc", *(f"nginx-set-{one}" for one in range(count)))
    for action in (*local.round(view(WEST, other)), *local.round(view(WEST, other))):
        assert (
            not isinstance(action, Update) or action.object.metadata.name == "nginx-svc-west-ipv4"
        )
    kept = before.keys() & local.services.keys()
    assert len(kept) == min(count, 3) + 1
    assert {key: before[key] for key in kept} == {key: local.services[key] for key in kept}
    assert len(slice_of(local, "nginx-svc-west").endpoints) == count
    settled(view(WEST, THREE), local=local)
    assert shape(local).keys() == {key.name for key in before}
    assert local.services[NGINX] == before[NGINX]


def test_a_pod_that_is_replaced_under_its_name_costs_nothing() -> None:
    local = settled(view(WEST, THREE))
    assert local.round(view(WEST, replace(THREE, version="99"))) == []


def test_of_two_sets_with_a_pod_of_the_same_name_the_second_is_refused() -> None:
    local = Source()
    (report,) = local.settle(view(WEST, headless("a", "pod-0"), headless("b", "pod-0", "pod-1")))
    assert isinstance(report, Report)
    assert (report.export, report.reason) == (Key("shop", "b"), "NameTaken")
    assert "pod-0-west" in report.message
    assert [one.hostname for one in slice_of(local, "a-west").endpoints] == ["pod-0"]
    assert [one.hostname for one in slice_of(local, "b-west").endpoints] == ["pod-1"]


def test_the_second_set_takes_over_when_the_first_is_gone() -> None:
    local = Source()
    local.settle(view(WEST, headless("a", "pod-0"), headless("b", "pod-0")))
    settled(view(WEST, headless("b", "pod-0")), local=local)
    assert [one.hostname for one in slice_of(local, "b-west").endpoints] == ["pod-0"]
    assert shape(local) == {"b-west": "None", "pod-0-west": "ClusterIP"}


@pytest.mark.parametrize("first", ["pod", "service"])
def test_a_pod_and_a_service_of_one_name_never_share_it(first: str) -> None:
    pod, named_alike = headless("db", "db-0"), export("db-0")
    local = settled(view(WEST, pod if first == "pod" else named_alike))
    holder = local.services[Key("shop", "db-0-west")]
    (report,) = local.settle(view(WEST, pod, named_alike))
    assert isinstance(report, Report)
    assert report.reason == "NameTaken"
    assert report.export == (named_alike.key if first == "pod" else pod.key)
    assert local.services[Key("shop", "db-0-west")] == holder


def test_a_pod_is_never_led_to_a_service_that_is_not_its_mirror() -> None:
    theirs = service("db-0-west")
    local = Source(services={theirs.metadata.key: theirs})
    (report,) = local.settle(view(WEST, headless("db", "db-0")))
    assert isinstance(report, Report)
    assert (report.reason, report.export) == ("NameTaken", Key("shop", "db"))
    assert slice_of(local, "db-west").endpoints == ()
    assert local.services[theirs.metadata.key] == theirs


def test_naming_can_make_room() -> None:
    roomy = link("west", endpoint_naming="{hostname}-{service}-{cluster}")
    local = settled(view(roomy, headless("a", "pod-0"), headless("b", "pod-0"), export("pod-0")))
    assert shape(local) == {
        "a-west": "None",
        "b-west": "None",
        "pod-0-a-west": "ClusterIP",
        "pod-0-b-west": "ClusterIP",
        "pod-0-west": "ClusterIP",
    }
    assert local.settle(view(roomy)) == []
    assert not local.services


def test_the_same_set_in_two_namespaces_is_two_sets() -> None:
    local = Source()
    local.namespaces["bank"] = namespace("bank")
    both = (headless("db", "db-0"), headless("db", "db-0", namespace="bank"))
    settled(view(WEST, *both), local=local)
    assert len(local.services) == 4
    settled(view(WEST, both[0]), local=local)
    assert {key.namespace for key in local.services} == {"shop"}
    assert len(local.services) == 2


def test_endpoint_mirrors_go_with_their_set() -> None:
    local = settled(view(WEST, THREE))
    done = local.round(view(WEST))
    assert all(isinstance(one, Delete) for one in done)
    assert not local.services
    assert not local.slices


def test_an_edited_endpoint_mirror_is_repaired() -> None:
    local = settled(view(WEST, THREE))
    key = Key("shop", "nginx-set-1-west")
    before = local.services[key]
    local.edit(replace(before, spec=replace(before.spec, selector={"app": "mine"})))
    settled(view(WEST, THREE), local=local)
    assert local.services[key].spec == before.spec


SETS = st.sets(st.integers(0, 6).map("db-{}".format), max_size=6)


@given(sizes=st.lists(SETS, min_size=1, max_size=4))
@settings(max_examples=40)
def test_the_mirrors_are_those_of_the_last_set_whatever_came_before(sizes: list[set[str]]) -> None:
    local = Source()
    for hostnames in sizes:
        settled(view(WEST, headless("db", *hostnames)), local=local)
    names_now = {key.name for key in local.services}
    assert names_now == {"db-west", *(f"{one}-west" for one in sizes[-1])}


def test_every_action_of_a_growing_set_is_a_creation_but_for_its_slice() -> None:
    local = settled(view(WEST, headless("db", "db-0")))
    grown = view(WEST, headless("db", "db-0", "db-1"))
    done = [*local.round(grown), *local.round(grown)]
    updated = [one.object.metadata.name for one in done if isinstance(one, Update)]
    created = [one.object.metadata.name for one in done if isinstance(one, Create)]
    assert updated == ["db-west-ipv4"]
    assert created == ["db-1-west", "db-1-west-ipv4"]
