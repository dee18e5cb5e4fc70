"""Whatever the routes are, what Envoy is told about them fits together."""

from collections.abc import Iterable, Iterator
from itertools import chain
from random import Random
from typing import TypeVar

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from xds.type.matcher.v3 import matcher_pb2

from isthmus.model.routes import Callers, EgressRoutes, GatewayRoutes, Inbound, Place
from isthmus.xds import access, late, secrets
from isthmus.xds.late import ROOMS
from isthmus.xds.names import CATALOGUE, NOWHERE
from isthmus.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    Clash,
    Resources,
)
from isthmus.xds.snapshot import dangling, snapshot
from isthmus.xds.tunnels import server_name
from tests.support.envoy_files import message
from tests.xds import routes

T = TypeVar("T")
# Building and reading whole configurations takes time; the shapes are few.
FEW = settings(max_examples=30)


def changed(before: Resources, after: Resources) -> set[tuple[str, str]]:
    """Return type and name of all that is not the same before and after."""
    one, other = (
        {(each.type_url, each.name, each.version) for each in routes.flat(resources)}
        for resources in (before, after)
    )
    return {(type_url, name) for type_url, name, _ in one ^ other}


def scopes(resources: Resources) -> Iterator[Message]:
    for one in resources[SCOPED_ROUTES].values():
        yield message(one)


@FEW
@given(routes.gateways)
def test_a_gateway_refers_to_nothing_that_is_not_there(found: GatewayRoutes) -> None:
    assert not list(dangling(snapshot(routes.whole_gateway(found))))


@FEW
@given(routes.egresses)
def test_an_egress_refers_to_nothing_that_is_not_there(found: EgressRoutes) -> None:
    assert not list(dangling(snapshot(routes.whole_egress(found))))


@FEW
@given(routes.egresses)
def test_every_account_of_a_caller_can_reach_every_link(found: EgressRoutes) -> None:
    resources = routes.whole_egress(found)
    chosen = {
        action.cluster
        for one in resources.get(ROUTES, {}).values()
        for action in _cluster_actions(message(one))
    }
    expected = {
        f"{peer.link}|{account}" for peer in found.peers for account in found.callers.values()
    }
    assert chosen == expected
    assert expected <= resources[CLUSTER].keys()


def _cluster_actions(table: Message) -> Iterator[Message]:
    for route in chain.from_iterable(host.routes for host in table.virtual_hosts):
        plugin = message(route.route.inline_cluster_specifier_plugin.extension.typed_config)
        if plugin.cluster_matcher.matcher_tree.input.name != "source":
            continue  # nobody is known: what there is, is for strangers
        for match in plugin.cluster_matcher.matcher_tree.exact_match_map.map.values():
            yield message(match.action.typed_config)


@FEW
@given(routes.egresses)
def test_an_egress_listens_for_what_has_a_gateway_and_for_nothing_else(found: EgressRoutes) -> None:
    linked = {one.link for one in found.peers}
    expected = {f"out|{one.listener}" for one in found.outbound if one.link in linked}
    rooms = {f"{link}:late-{number}" for link in linked for number in range(1, ROOMS + 1)}
    assert routes.whole_egress(found)[LISTENER].keys() == expected | rooms | {"identify"}


@FEW
@given(routes.egresses)
def test_whoever_waits_to_be_known_meets_no_room_twice(found: EgressRoutes) -> None:
    """Or a request of nobody would go round for ever."""
    for link in {one.link for one in found.peers}:
        choice = matcher_pb2.Matcher(**late.choice(link))
        following = {
            number: message(one.action.typed_config).cluster
            for number, one in choice.matcher_tree.exact_match_map.map.items()
        }
        at = message(choice.on_no_match.action.typed_config).cluster
        met = [at]
        while at != NOWHERE:
            at = following[at.rpartition("-")[2]]
            assert at not in met
            met.append(at)
        assert len(met) == ROOMS + 1


@FEW
@given(routes.gateways)
def test_every_route_has_a_name_and_says_whom_it_lets_in(found: GatewayRoutes) -> None:
    """The filter lets through what has no named route, so that a 404 can be told from a 403."""
    for scope in scopes(routes.whole_gateway(found)):
        for host in scope.route_configuration.virtual_hosts:
            for route in host.routes:
                assert route.name == scope.name
                assert access.FILTER in route.typed_per_filter_config


@FEW
@given(routes.gateways)
def test_a_scope_leads_to_its_own_cluster_only(found: GatewayRoutes) -> None:
    for scope in scopes(routes.whole_gateway(found)):
        assert [one.string_key for one in scope.key.fragments] == [scope.name]
        for route in scope.route_configuration.virtual_hosts[0].routes:
            assert route.route.cluster in (scope.name, "")


@FEW
@given(routes.gateways, routes.egresses, st.integers())
def test_order_does_not_matter(inward: GatewayRoutes, outward: EgressRoutes, seed: int) -> None:
    def mixed(items: Iterable[T]) -> tuple[T, ...]:
        known = list(items)
        return tuple(Random(seed).sample(known, len(known)))

    other_way = replace(
        inward,
        inbound=mixed(tuple(replace(one, places=mixed(one.places)) for one in inward.inbound)),
        catalogue=mixed(inward.catalogue),
    )
    assert list(routes.flat(routes.whole_gateway(other_way))) == list(
        routes.flat(routes.whole_gateway(inward))
    )
    other_out = replace(
        outward,
        outbound=mixed(outward.outbound),
        peers=mixed(outward.peers),
        callers=dict(mixed(tuple(outward.callers.items()))),
    )
    assert list(routes.flat(routes.whole_egress(other_out))) == list(
        routes.flat(routes.whole_egress(outward))
    )


WEB = routes.inbound("web", "http")
ELSEWHERE = Place(address="10.2.0.7", port=8080)


@pytest.mark.parametrize(
    "after, expected",
    [
        pytest.param(replace(WEB, callers=Callers()), [SCOPED_ROUTES], id="another grant"),
        pytest.param(replace(WEB, places=(ELSEWHERE,)), [ENDPOINTS], id="other pods"),
        pytest.param(replace(WEB, protocol="http2"), [CLUSTER], id="another HTTP"),
        pytest.param(None, [CLUSTER, ENDPOINTS, SCOPED_ROUTES], id="no export"),
    ],
)
def test_one_changed_export_changes_only_what_is_its_own(
    after: Inbound | None, expected: list[str]
) -> None:
    others = tuple(one for one in routes.GATEWAY.inbound if one.service != "web")
    now = (*others, after) if after else others
    assert changed(
        routes.whole_gateway(replace(routes.GATEWAY, inbound=(WEB, *others))),
        routes.whole_gateway(replace(routes.GATEWAY, inbound=now)),
    ) == {(type_url, WEB.authority) for type_url in expected}


DOOR = f"tunnel|{server_name(WEB.authority)}"


@pytest.mark.parametrize(
    "after, expected",
    [
        pytest.param(replace(WEB, callers=Callers()), {(LISTENER, DOOR)}, id="another grant"),
        pytest.param(
            replace(WEB, places=(ELSEWHERE,)), {(ENDPOINTS, WEB.authority)}, id="other pods"
        ),
        pytest.param(
            None,
            {
                (CLUSTER, WEB.authority),
                (ENDPOINTS, WEB.authority),
                (CLUSTER, DOOR),
                (LISTENER, DOOR),
            },
            id="no export",
        ),
    ],
)
def test_a_port_for_connections_has_a_door_of_its_own(
    after: Inbound | None, expected: set[tuple[str, str]]
) -> None:
    before = replace(WEB, protocol="tcp")
    now = () if after is None else (replace(after, protocol="tcp"),)
    assert (
        changed(
            routes.whole_gateway(replace(routes.GATEWAY, inbound=(before,))),
            routes.whole_gateway(replace(routes.GATEWAY, inbound=now)),
        )
        == expected
    )


POD = {"10.1.0.9": "default/curl"}


@pytest.mark.parametrize(
    "after, expected",
    [
        pytest.param(
            replace(routes.EGRESS, outbound=routes.EGRESS.outbound[1:]),
            {(LISTENER, "out|20001")},
            id="a mirror less",
        ),
        pytest.param(
            replace(routes.EGRESS, callers={**routes.EGRESS.callers, **POD}),
            {(LISTENER, "identify"), (ROUTES, "west")},
            id="a pod more",
        ),
        pytest.param(
            replace(routes.EGRESS, peers=(replace(routes.EGRESS.peers[0], places=(ELSEWHERE,)),)),
            {(ENDPOINTS, "west")},
            id="other gateways",
        ),
    ],
)
def test_one_change_of_an_egress_changes_only_what_it_must(
    after: EgressRoutes, expected: set[tuple[str, str]]
) -> None:
    assert changed(routes.whole_egress(routes.EGRESS), routes.whole_egress(after)) == expected


def test_two_exports_of_one_authority_are_refused() -> None:
    twice = replace(routes.GATEWAY, inbound=(WEB, replace(WEB, callers=Callers())))
    with pytest.raises(Clash, match=r"two different resources .* are called 'web\.default"):
        routes.whole_gateway(twice)


def test_nobody_is_let_in_by_saying_nothing() -> None:
    allowed = message(access.allowing(Callers())[access.FILTER])
    assert not allowed.rbac.rules.policies
    assert allowed.rbac.HasField("rules")  # without rules, everybody would be


def test_without_a_known_controller_there_is_no_catalogue() -> None:
    resources = routes.whole_gateway(replace(routes.GATEWAY, controller=""))
    assert CATALOGUE not in resources[CLUSTER]
    assert CATALOGUE not in resources[SCOPED_ROUTES]


def test_a_key_is_shown_by_nothing() -> None:
    secret = secrets.account("default/curl", b"CHAIN", b"PRIVATE")
    assert "PRIVATE" not in repr(secret) + str(secret)
    assert b"PRIVATE" in secret.value
