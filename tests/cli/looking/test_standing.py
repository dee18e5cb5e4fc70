"""How exports and mirrors stand, by what the core and the Links say."""

import pytest
from msgspec.structs import replace

from isthmus.cli.looking.standing import Granted, Mirrored, exports, mirrors, unnamed
from isthmus.model.grants import From, Grant, GrantSpec, To
from isthmus.model.links import Link, LinkStatus, RefusedExport
from isthmus.model.names import EXPORTED, MIRRORED
from isthmus.model.objects import Condition, Key, Metadata, Service, ServicePort, ServiceSpec
from isthmus.model.selectors import Selector
from tests.support.builders import (
    EXPORT_LABEL,
    by_service,
    endpoint,
    export,
    headless,
    link,
    service,
    slice_of,
    view,
)
from tests.support.model import Source

WEB = Key("shop", "web")
READY = Condition(type="Ready", status="True", reason="Ready")
DOWN = Condition(type="Ready", status="False", reason="ProbeFailed", message="no answer")


def marked(name: str = "web", value: str = "true", **spec: object) -> Service:
    labels = {EXPORTED: value, "tier": "front"}
    given = ServiceSpec(**spec) if spec else None  # type: ignore[arg-type]  # the test's shorthand
    return service(name, labels=labels, spec=given)


def grant(cluster: str = "east", from_: From | None = None, to: To | None = None) -> Grant:
    spec = GrantSpec(cluster=cluster, from_=from_ or From(), to=to or To())
    return Grant(metadata=Metadata(name=cluster), spec=spec)


@pytest.mark.parametrize(
    "found, state, reason",
    [
        pytest.param(marked(), "offered", "", id="fine"),
        pytest.param(marked(value="remote"), "offered", "", id="another value"),
        pytest.param(
            marked(type="ExternalName", external_name="x"), "refused", "ExternalName", id="no pods"
        ),
        pytest.param(
            marked(ports=(ServicePort(port=53, protocol="UDP"),)), "refused", "NoTCPPorts", id="UDP"
        ),
        pytest.param(marked(cluster_ip="None"), "refused", "NoPorts", id="no ports"),
        pytest.param(
            service(labels={**EXPORT_LABEL, MIRRORED: "true"}), "refused", "IsMirror", id="a mirror"
        ),
    ],
)
def test_an_export_is_offered_or_refused_as_the_core_says(
    found: Service, state: str, reason: str
) -> None:
    (one,) = exports([found], {}, [])
    assert (one.key, one.state, one.reason) == (WEB, state, reason)
    assert bool(one.message) == (state == "refused")


def test_what_is_not_marked_is_no_export() -> None:
    assert exports([service(), marked(value="false")], {}, []) == ()


def test_ready_endpoints_are_counted() -> None:
    one = slice_of("web", endpoint("10.0.0.1"), endpoint("10.0.0.2", ready=False))
    other = slice_of("web", endpoint("10.0.0.3", ready=None))
    (found,) = exports([marked()], {WEB: (one, other)}, [])
    assert str(found.endpoints) == "2/3"


@pytest.mark.parametrize(
    "given, expected",
    [
        pytest.param([], (), id="nobody"),
        pytest.param([grant()], (Granted("east"),), id="a cluster"),
        pytest.param(
            [grant("north"), grant("east")], (Granted("north"), Granted("east")), id="two clusters"
        ),
        pytest.param([grant(to=To(namespaces=("other",)))], (), id="to another namespace"),
        pytest.param([grant(to=To(services=("shop/web",)))], (Granted("east"),), id="to it"),
        pytest.param(
            [grant(to=To(selector=Selector(match_labels={"tier": "back"})))],
            (),
            id="to other labels",
        ),
        pytest.param(
            [grant(from_=From(namespaces=("a",), service_accounts=("b/c",)))],
            (Granted("east", ("a/*", "b/c")),),
            id="to some workloads",
        ),
        pytest.param(
            [grant(from_=From(namespaces=()))], (Granted("east", ()),), id="to no workload"
        ),
        pytest.param([grant("not a name")], (), id="malformed"),
        pytest.param(
            [
                replace(
                    grant(),
                    metadata=Metadata(name="e", deletion_timestamp="2026-01-01T00:00:00Z"),
                )
            ],
            (),
            id="going",
        ),
    ],
)
def test_an_export_is_granted_as_the_core_says(
    given: list[Grant], expected: tuple[Granted, ...]
) -> None:
    (found,) = exports([marked()], {}, given)
    assert found.granted == expected


@pytest.mark.parametrize(
    "granted, shown",
    [
        (Granted("east"), "east"),
        (Granted("east", ("a/*", "b/c")), "east(a/*,b/c)"),
        (Granted("east", ()), "east(nobody)"),
    ],
)
def test_a_grant_is_shown_in_a_few_words(granted: Granted, shown: str) -> None:
    assert str(granted) == shown


def imported(to: Link, *, alive: bool = True) -> tuple[Mirrored, ...]:
    """What stands in a source that imports two Services, one of which has no pod."""
    source = Source()
    source.settle(
        view(
            to,
            headless("db", "db-0"),
            export("web", ready=False),
            gateway_alive=alive,
        )
    )
    return mirrors(source.services.values(), by_service(source.slices.values()), [to])


def with_status(condition: Condition, **status: object) -> Link:
    given = LinkStatus(conditions=(condition,), **status)  # type: ignore[arg-type]  # shorthand
    return replace(link(), status=given)


def test_a_mirror_is_ready_if_one_of_its_endpoints_is() -> None:
    found = imported(with_status(READY))
    assert [(one.link, one.key.name, one.state, str(one.endpoints)) for one in found] == [
        ("west", "db-0-west", "ready", "1/1"),
        ("west", "db-west", "ready", "1/1"),
        ("west", "web-west", "unready", "0/1"),
    ]
    assert found[0].remote == "db-0.db.shop.svc.west.cluster.local"
    assert [one.reason for one in found] == ["", "", ""]
    assert found[2].message == "`isthmus why web-west` finds out why"


def test_why_all_of_a_link_is_unready_is_what_the_link_says() -> None:
    found = imported(with_status(DOWN), alive=False)
    assert {(one.state, one.reason, one.message) for one in found} == {
        ("unready", "ProbeFailed", "no answer")
    }


def test_a_mirror_whose_link_is_gone_is_orphaned() -> None:
    source = Source()
    source.settle(view(link(), export("web")))
    (one,) = mirrors(source.services.values(), by_service(source.slices.values()), [])
    assert (one.link, one.state, one.reason) == ("west", "orphaned", "LinkGone")


def test_refused_exports_stand_among_the_mirrors() -> None:
    refused = RefusedExport(namespace="shop", name="x", reason="NameTaken", message="shop/x-west")
    to = with_status(READY, refused=(refused,), refused_count=5)
    (one,) = mirrors([], {}, [to])
    assert (one.link, one.key, one.remote) == ("west", Key("shop", ""), "x.shop")
    assert (one.state, one.reason, one.message) == ("refused", "NameTaken", "shop/x-west")
    assert list(unnamed([to, link("north")])) == [("west", 4)]
