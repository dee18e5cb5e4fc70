"""The mirror of a ClusterIP export: what it looks like, and what is repaired on it."""

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from isthmus.model import names
from isthmus.model.actions import Create, Delete, Report, Update
from isthmus.model.exports import Export, Port
from isthmus.model.objects import Key, Service, ServicePort, ServiceSpec
from tests.support.builders import export, headless, link, service, view
from tests.support.model import Source

WEST = link("west")
WEB = Key("shop", "web-west")
PORTS = (
    Port(port=80, name="http", target_port="web", app_protocol="kubernetes.io/h2c"),
    Port(port=443, name="tls"),
)


def mirrored(*exports: Export) -> Source:
    """A source in which ``exports`` are mirrored already."""
    local = Source()
    assert local.settle(view(WEST, *exports)) == []
    return local


def test_the_ports_are_copied_and_nothing_else_of_the_spec() -> None:
    (made,) = (
        one.object
        for one in Source().round(view(WEST, export(ports=PORTS)))
        if isinstance(one, Create) and isinstance(one.object, Service)
    )
    assert made.spec == ServiceSpec(
        type="ClusterIP",
        ports=(
            ServicePort(port=80, name="http", target_port="web", app_protocol="kubernetes.io/h2c"),
            ServicePort(port=443, name="tls", target_port=443),
        ),
    )
    assert made.spec.selector == {}


@pytest.mark.parametrize(
    "after, written",
    [
        pytest.param(export(version="8"), [], id="a new version alone is no reason to write"),
        pytest.param(
            export(ports=(Port(port=81, name="http"),)), [WEB], id="a port has another number"
        ),
        pytest.param(
            export(ports=(Port(port=80, name="http", app_protocol="http"),)),
            [WEB, "slice"],
            id="a port has an appProtocol",
        ),
        pytest.param(
            export(ports=(*export().ports, Port(port=90, name="more"))),
            [WEB, "slice"],
            id="a port more",
        ),
        pytest.param(
            export(labels={"mirror.linkerd.io/exported": "true", "team": "a"}),
            [WEB],
            id="a label more",
        ),
        pytest.param(export(annotations={"note": "x"}), [WEB], id="an annotation more"),
        pytest.param(export(uid="new"), [WEB, "slice"], id="deleted and made again: a new UID"),
        pytest.param(export(ready=False), ["slice"], id="no endpoint is ready any more"),
    ],
)
def test_the_mirror_follows_its_export_and_writes_no_more_than_that(
    after: Export, written: list[object]
) -> None:
    local = mirrored(export())
    updates = [one for one in local.round(view(WEST, after)) if isinstance(one, Update)]
    found = [
        one.object.metadata.key if isinstance(one.object, Service) else "slice" for one in updates
    ]
    assert found == written
    assert local.round(view(WEST, after)) == []


def test_the_version_is_brought_up_to_date_by_a_write_that_has_a_reason() -> None:
    local = mirrored(export())
    local.round(view(WEST, export(version="8", annotations={"note": "x"})))
    assert local.services[WEB].metadata.annotations[names.REMOTE_VERSION] == "8"


def test_a_new_remote_object_gets_the_old_mirror_with_its_address() -> None:
    local = mirrored(export())
    before = local.services[WEB]
    local.round(view(WEST, export(uid="new")))
    after = local.services[WEB]
    assert after.metadata.annotations[names.REMOTE_UID] == "new"
    assert (after.metadata.uid, after.spec) == (before.metadata.uid, before.spec)


def with_spec(**changes: object) -> Callable[[Service], Service]:
    return lambda one: replace(one, spec=replace(one.spec, **changes))


def with_labels(**labels: str) -> Callable[[Service], Service]:
    return lambda one: replace(
        one, metadata=replace(one.metadata, labels={**one.metadata.labels, **labels})
    )


def without(*keys: str) -> Callable[[Service], Service]:
    def kept(found: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in found.items() if key not in keys}

    return lambda one: replace(
        one,
        metadata=replace(
            one.metadata,
            labels=kept(one.metadata.labels),
            annotations=kept(one.metadata.annotations),
        ),
    )


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(with_spec(ports=(ServicePort(port=81),)), id="another port"),
        pytest.param(with_spec(ports=()), id="no ports"),
        pytest.param(with_spec(selector={"app": "mine"}), id="a selector, to capture calls"),
        pytest.param(with_spec(external_ips=("203.0.113.66",)), id="externalIPs"),
        pytest.param(with_spec(load_balancer_ip="203.0.113.66"), id="loadBalancerIP"),
        pytest.param(with_spec(type="NodePort"), id="type NodePort"),
        pytest.param(with_spec(type="LoadBalancer"), id="type LoadBalancer"),
        pytest.param(
            with_spec(type="ExternalName", external_name="example.org"), id="type ExternalName"
        ),
        pytest.param(with_spec(publish_not_ready_addresses=True), id="publishNotReadyAddresses"),
        pytest.param(with_spec(internal_traffic_policy="Local"), id="only endpoints of the node"),
        pytest.param(with_spec(session_affinity="ClientIP"), id="session affinity"),
        pytest.param(with_spec(traffic_distribution="PreferClose"), id="traffic distribution"),
        pytest.param(with_labels(team="mine"), id="a label more"),
        pytest.param(without(names.CLUSTER), id="the cluster's label gone"),
        pytest.param(without(names.REMOTE_NAME), id="the remote name gone"),
        pytest.param(without(names.REMOTE_UID), id="the remote UID gone"),
    ],
)
def test_what_a_user_edits_on_a_mirror_is_repaired_in_one_write(
    edit: Callable[[Service], Service],
) -> None:
    local = mirrored(export())
    before = local.services[WEB]
    local.edit(edit(before))
    (repair,) = local.round(view(WEST, export()))
    assert isinstance(repair, Update)
    after = local.services[WEB]
    assert after.spec == before.spec
    assert after.metadata.labels == before.metadata.labels
    assert after.metadata.annotations == before.metadata.annotations


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(without(names.MIRRORED), id="the label is gone"),
        pytest.param(with_labels(**{names.MIRRORED: "false"}), id="the label says no"),
        pytest.param(without(names.LINK_UID), id="the link's UID is gone"),
        pytest.param(without(names.MIRRORED, names.LINK_UID), id="both are gone"),
    ],
)
@pytest.mark.parametrize("exports", [[export()], []], ids=["exported", "no longer exported"])
def test_a_mirror_that_a_user_has_made_their_own_is_not_seized(
    edit: Callable[[Service], Service], exports: list[Export]
) -> None:
    local = mirrored(export())
    local.edit(edit(local.services[WEB]))
    theirs = local.services[WEB]
    done = local.settle(view(WEST, *exports))
    assert [one.reason for one in done if isinstance(one, Report)] == ["NameTaken"] * len(exports)
    assert local.services == {WEB: theirs}
    assert not local.slices, "our slices would keep sending its callers away"


@pytest.mark.parametrize(
    "labels, annotations",
    [
        pytest.param({}, {}, id="a user's service"),
        pytest.param({names.MIRRORED: "true", names.CLUSTER: "west"}, {}, id="a mirror of Linkerd"),
        pytest.param(
            {names.MIRRORED: "true"}, {names.LINK_UID: "gone"}, id="a mirror of a link long gone"
        ),
        pytest.param({}, {names.LINK_UID: "link-west"}, id="our annotation without our label"),
    ],
)
def test_a_service_that_is_not_ours_is_left_alone(
    labels: dict[str, str], annotations: dict[str, str]
) -> None:
    theirs = service("web-west", labels=labels, annotations=annotations)
    local = Source(services={WEB: theirs})
    (report,) = local.settle(view(WEST, export()))
    assert isinstance(report, Report)
    assert (report.export, report.reason) == (Key("shop", "web"), "NameTaken")
    assert local.services == {WEB: theirs}
    assert not local.slices
    assert local.settle(view(WEST)) == []
    assert local.services == {WEB: theirs}


def test_the_mirror_appears_when_its_name_is_free() -> None:
    local = Source(services={WEB: service("web-west")})
    local.settle(view(WEST, export()))
    local.remove(local.services[WEB])
    assert local.settle(view(WEST, export())) == []
    assert local.services[WEB].metadata.annotations[names.LINK_UID] == "link-west"


@pytest.mark.parametrize("kind", ["services", "slices"])
def test_what_a_user_deletes_comes_back(kind: str) -> None:
    local = mirrored(export())
    services, slices = dict(local.services), dict(local.slices)
    for one in (services if kind == "services" else slices).values():
        local.remove(one)
    (done,) = local.round(view(WEST, export()))
    assert isinstance(done, Create)
    assert local.services.keys() == services.keys()
    assert local.slices.keys() == slices.keys()


def test_a_mirror_that_somebody_holds_with_a_finalizer_is_waited_for() -> None:
    local = mirrored(export())
    held = replace(
        local.services[WEB].metadata,
        finalizers=("example.org/hold",),
        deletion_timestamp="2026-02-01T00:00:00Z",
    )
    local.edit(replace(local.services[WEB], metadata=held))
    assert local.round(view(WEST)) == []
    assert local.round(view(WEST, export(annotations={"note": "x"}))) == []


@pytest.mark.parametrize(
    "before, after",
    [
        pytest.param(export("db"), headless("db", "db-0"), id="to headless"),
        pytest.param(headless("db", "db-0"), export("db"), id="from headless"),
    ],
)
def test_a_mirror_is_replaced_when_its_export_changes_type(before: Export, after: Export) -> None:
    local = mirrored(before)
    key = Key("shop", "db-west")
    old = local.services[key]
    done = local.round(view(WEST, after))
    own = [
        type(one)
        for one in done
        if isinstance(one, (Create, Delete)) and one.object.metadata.key == key
    ]
    assert own == [Delete, Create]
    new = local.services[key]
    assert new.metadata.uid != old.metadata.uid
    assert (new.spec.cluster_ip == "None") is after.headless
    local.round(view(WEST, after))
    assert local.round(view(WEST, after)) == []


def test_no_rival_gets_the_name_while_a_mirror_is_replaced() -> None:
    older = view(link("east-west", "2025-01-01T00:00:00Z"), export("foo"))
    local = mirrored(export("foo-east"))
    local.settle(older, view(WEST, export("foo-east")))
    done = local.settle(older, view(WEST, headless("foo-east", "foo-0")))
    assert [one.link_uid for one in done if isinstance(one, Report)] == ["link-east-west"]
    (found,) = (one for key, one in local.services.items() if key.name == "foo-east-west")
    assert found.metadata.annotations[names.LINK_UID] == "link-west"


def test_no_rival_gets_the_name_when_a_user_deletes_the_mirror() -> None:
    older = view(link("east-west", "2025-01-01T00:00:00Z"), export("foo"))
    newer = view(WEST, export("foo-east"))
    local = mirrored(export("foo-east"))
    local.remove(local.services[Key("shop", "foo-east-west")])
    done = local.settle(older, newer)
    assert [one.link_uid for one in done if isinstance(one, Report)] == ["link-east-west"]
