"""What a check says about clusters: nothing but good about one that is well, and every fault."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from isthmus.cli.checking.checks import Check, failed
from isthmus.cli.checking.evidence.clusters import Before, Census, Right
from isthmus.cli.checking.evidence.objects import ContainerStatus, State, Waiting
from isthmus.cli.checking.evidence.sites import ROLES, Replica, Unseen, Workload
from isthmus.cli.checking.judging.before import before
from isthmus.cli.checking.judging.installed import installed
from isthmus.cli.checking.judging.joined import joined
from isthmus.cli.checking.judging.linked import linked
from isthmus.cli.checking.judging.mirrored import mirrored
from isthmus.cli.checking.judging.trusted import trusted
from isthmus.install.definitions import definitions
from isthmus.model.grants import GrantStatus
from isthmus.model.links import Link, RefusedExport
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.model.objects import Condition, Lease, LeaseSpec, Metadata, ServiceStatus
from isthmus.model.pages import Attempt, RefusedResource
from isthmus.model.times import micro_time, second_time
from isthmus.pki import bundle
from isthmus.pki.reports import News
from tests.cli.checking import worlds
from tests.cli.checking.worlds import AT, DAY, census, conditions, site, with_status
from tests.support.builders import endpoint, namespace, slice_of

HIDDEN = Unseen("forbidden: you may not look")
PENDING = msgspec.structs.replace(worlds.gateway("east"), status=ServiceStatus())


def judged(found: Census) -> list[Check]:
    return [*installed(found), *trusted(found.site), *linked(found), *mirrored(found)]


def amiss(found: Iterable[Check]) -> list[tuple[str, str]]:
    """What is not well, and how bad it is; every failure has its cause and a hint."""
    bad = [one for one in found if one.outcome != "ok"]
    assert all(one.detail and one.hint for one in bad), bad
    return [(one.outcome, one.name) for one in bad]


def test_a_cluster_that_is_well() -> None:
    assert amiss(judged(census())) == []
    assert amiss(judged(census("west"))) == []


def test_two_clusters_that_fit_together() -> None:
    assert amiss(joined(census("east"), census("west"))) == []


def at(**changes: object) -> Census:
    return census(site=replace(site(), **changes))  # type: ignore[arg-type]  # as above


def rolling(age: timedelta = timedelta(seconds=5), **status: object) -> Census:
    """A gateway that is ready, and another pod of it that is to replace it."""
    stood = worlds.workload(GATEWAY)
    comes = worlds.pod("gateway-1", GATEWAY, ready=False)
    born = msgspec.structs.replace(comes.metadata, creation_timestamp=second_time(AT - age))
    status_then = msgspec.structs.replace(comes.status, **status)
    comes = msgspec.structs.replace(comes, metadata=born, status=status_then)
    gateway = replace(stood, pods=(*stood.pods, comes))
    return at(workloads={**{name: worlds.workload(name) for name in ROLES}, GATEWAY: gateway})


def unready(since: timedelta) -> Condition:
    return Condition(type="Ready", status="False", last_transition_time=second_time(AT - since))


def waiting(reason: str, message: str = "") -> tuple[ContainerStatus, ...]:
    return (ContainerStatus(state=State(waiting=Waiting(reason=reason, message=message))),)


@pytest.mark.parametrize(
    "found, says",
    [
        pytest.param(
            rolling(container_statuses=waiting("RunContainerError", "no such user")),
            "pod gateway-1: RunContainerError: no such user",
            id="it cannot run",
        ),
        pytest.param(
            rolling(container_statuses=(ContainerStatus(restart_count=3),)),
            "pod gateway-1: runs, but is not ready; restarts: 3",
            id="it runs for a moment, again and again",
        ),
        pytest.param(
            rolling(
                phase="Pending",
                conditions=(
                    Condition(
                        type="PodScheduled", status="False", reason="Unschedulable", message="full"
                    ),
                ),
            ),
            "pod gateway-1: Unschedulable: full",
            id="no node has room",
        ),
        pytest.param(rolling(container_statuses=waiting("ContainerCreating")), "", id="it starts"),
        pytest.param(
            rolling(timedelta(minutes=2)),
            "pod gateway-1: runs, but is not ready",
            id="it runs and never gets ready",
        ),
        pytest.param(
            rolling(timedelta(minutes=2), phase="Pending"), "", id="it waits for its image"
        ),
        pytest.param(rolling(), "", id="it is about to be ready"),
        pytest.param(
            rolling(timedelta(hours=2), conditions=(unready(timedelta(seconds=5)),)),
            "",
            id="it was ready until a moment ago",
        ),
        pytest.param(
            rolling(timedelta(hours=2), conditions=(unready(timedelta(minutes=2)),)),
            "pod gateway-1: runs, but is not ready",
            id="it was ready until long ago",
        ),
    ],
)
def test_a_rollout_that_is_stuck_shows_although_the_last_pods_still_serve(
    found: Census, says: str
) -> None:
    (check,) = [one for one in installed(found) if one.name == "the gateway runs"]
    assert check.outcome == ("warning" if says else "ok")
    assert check.detail == "1 of 1 pods are ready" + (f", but {says}" if says else "")


def test_hints_about_another_namespace_name_it() -> None:
    found = at(namespace="mesh", workloads={name: Workload(name=name) for name in ROLES})
    (check,) = [one for one in installed(found) if one.name == "the gateway runs"]
    assert check.hint == "isthmus install --namespace mesh --apply brings it"


def other_definition() -> dict[str, object]:
    found = {one["metadata"]["name"]: one for one in definitions()}
    changed = msgspec.json.decode(msgspec.json.encode(found["links.isthmus.dev"]))
    del changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return {**found, "links.isthmus.dev": changed}


def leased(**spec: object) -> Lease:
    given: dict[str, object] = {"holder_identity": "c", "lease_duration_seconds": 15}
    made = LeaseSpec(**(given | spec))  # type: ignore[arg-type]  # the tests' own shorthand
    return Lease(metadata=Metadata(name="isthmus-controller"), spec=made)


def west(**status: object) -> tuple[Link, ...]:
    return (with_status(worlds.west(), **status),)


REFUSING = msgspec.structs.replace(
    worlds.proxy("egress"),
    refused=(RefusedResource(type="Listener", name="out|1", message="cannot bind"),),
    refused_count=2,
)
_BAD = Condition(type="Accepted", status="False", reason="Malformed", message="not an account")
MALFORMED = msgspec.structs.replace(worlds.grant(), status=GrantStatus(conditions=(_BAD,)))
TAKEN = RefusedExport(namespace="shop", name="db", reason="NameTaken")
SILENT = Attempt(
    address="203.0.113.9", port=4143, answered=False, reason="Unreachable", message="timed out"
)
DARK = worlds.mirrored(
    worlds.web(), (slice_of("web", endpoint("10.2.0.1", ready=False)),), worlds.west()
)[1]


@pytest.mark.parametrize(
    "found, outcome, name",
    [
        pytest.param(
            census(present=worlds.present(definitions={})),
            "error",
            "grants.isthmus.dev is defined as this version needs it",
            id="a kind is missing",
        ),
        pytest.param(
            census(present=worlds.present(definitions=other_definition())),
            "warning",
            "links.isthmus.dev is defined as this version needs it",
            id="a kind is of another version",
        ),
        pytest.param(
            census(lacking=(Right("create", "services"),)),
            "error",
            "the controller may do what it has to",
            id="a right is missing",
        ),
        pytest.param(
            census(site=worlds.without(site(), CONTROLLER)),
            "error",
            "the controller runs",
            id="no controller",
        ),
        pytest.param(
            census(site=worlds.without(site(), GATEWAY)), "error", "the gateway runs", id="gateway"
        ),
        pytest.param(
            census(site=worlds.without(site(), EGRESS)), "error", "the egress runs", id="egress"
        ),
        pytest.param(
            at(
                workloads={
                    **{name: worlds.workload(name) for name in ROLES},
                    EGRESS: replace(worlds.workload(EGRESS), wanted=2),
                }
            ),
            "warning",
            "the egress runs",
            id="one of two",
        ),
        pytest.param(
            at(
                workloads={
                    **{name: worlds.workload(name) for name in ROLES},
                    GATEWAY: replace(worlds.workload(GATEWAY), version="0.0.1"),
                }
            ),
            "warning",
            "all workloads are of the version of this command",
            id="another version",
        ),
        pytest.param(at(lease=None), "error", "a controller leads", id="no lease"),
        pytest.param(
            at(lease=leased(renew_time=micro_time(AT - timedelta(minutes=5)))),
            "error",
            "a controller leads",
            id="an old lease",
        ),
        pytest.param(at(lease=leased()), "error", "a controller leads", id="never renewed"),
        pytest.param(
            census(gateway=None),
            "error",
            "the gateway has an address for other clusters",
            id="no Service",
        ),
        pytest.param(
            census(gateway=PENDING),
            "warning",
            "the gateway has an address for other clusters",
            id="no address",
        ),
        pytest.param(
            census(site=worlds.told(site(), proxies=(REFUSING,))),
            "error",
            "every proxy takes what it is told",
            id="NACK",
        ),
        pytest.param(
            census(site=worlds.told(site(), proxies=())),
            "warning",
            "every proxy takes what it is told",
            id="nobody is connected",
        ),
        pytest.param(
            at(issuer=worlds.issuer("north").certificate),
            "error",
            "issuer and anchors fit together, and this cluster",
            id="an issuer of another cluster",
        ),
        pytest.param(
            at(anchors=bundle.of([worlds.other_anchor().certificate])),
            "error",
            "issuer and anchors fit together, and this cluster",
            id="another anchor",
        ),
        pytest.param(
            at(issuer=worlds.issuer("east", 30 * DAY).certificate),
            "ok",
            "the issuer holds for a while",
            id="20 of 30 days are left",
        ),
        pytest.param(
            at(issuer=worlds.issuer("east", 35 * DAY).certificate, at=AT + 10 * DAY),
            "warning",
            "the issuer holds for a while",
            id="15 of 35 days are left",
        ),
        pytest.param(
            at(issuer=worlds.issuer("east", 16 * DAY).certificate, at=AT + 5 * DAY),
            "error",
            "the issuer holds for a while",
            id="a day of 16 is left",
        ),
        pytest.param(
            at(issuer=worlds.issuer("east", DAY).certificate),
            "error",
            "the issuer holds for a while",
            id="expired",
        ),
        pytest.param(
            at(news=News({}, {})),
            "warning",
            "every pod uses the anchors that it was given",
            id="nobody has said what it uses",
        ),
        pytest.param(
            census(site=worlds.told(site(), problems=("the issuer expired",))),
            "error",
            "controllers can use what they were given",
            id="a controller complains",
        ),
        pytest.param(
            at(ahead=120.0),
            "warning",
            "the clocks of the API server and of this machine agree",
            id="two minutes",
        ),
        pytest.param(
            census(site=worlds.told(site(), time=AT - timedelta(minutes=10))),
            "error",
            "the clocks of controllers and API server agree",
            id="a controller's clock",
        ),
        pytest.param(
            census(links=west(conditions=conditions(Connected=("False", "Forbidden", "no Grant")))),
            "error",
            "link west follows its target",
            id="not connected",
        ),
        pytest.param(
            census(
                links=west(
                    conditions=conditions(Synced=("False", "Stale", "as it was")),
                    stale_since=micro_time(AT - timedelta(minutes=9)),
                )
            ),
            "error",
            "link west follows its target",
            id="stale",
        ),
        pytest.param(
            census(links=west(conditions=())),
            "error",
            "link west follows its target",
            id="not seen",
        ),
        pytest.param(
            census(probes={"west": worlds.probe(SILENT)}),
            "error",
            "gateway of west answers and proves who it is",
            id="no answer",
        ),
        pytest.param(
            census(
                probes={},
                links=west(conditions=conditions(GatewayAlive=("False", "ProbeFailed", "x"))),
            ),
            "error",
            "gateway of west answers and proves who it is",
            id="by its last probes",
        ),
        pytest.param(
            census(links=west(refused=(TAKEN,), refused_count=1)),
            "warning",
            "link west mirrors every export",
            id="refused",
        ),
        pytest.param(
            census(
                links=west(
                    conditions=conditions(ProxyRefused=("True", "ConfigurationRefused", "x"))
                )
            ),
            "error",
            "link west has nothing to complain about",
            id="an alarm",
        ),
        pytest.param(
            census(grants=(MALFORMED,)),
            "error",
            "every Grant is understood",
            id="a Grant",
        ),
        pytest.param(
            census(slices=DARK), "warning", "every mirror has a ready endpoint", id="dark"
        ),
        pytest.param(
            census(links=()),
            "warning",
            "nothing was left behind by a Link that is gone",
            id="orphans",
        ),
    ],
)
def test_a_cluster_that_is_not_well(found: Census, outcome: str, name: str) -> None:
    checks = judged(found)
    amiss(checks)
    assert (outcome, name) in {(one.outcome, one.name) for one in checks}
    assert failed(checks) == any(one.outcome == "error" for one in checks)


def test_what_may_not_be_looked_at_is_a_warning_and_no_error() -> None:
    found = census(
        site=replace(
            site(),
            uid=HIDDEN,
            workloads=HIDDEN,
            issuer=HIDDEN,
            anchors=HIDDEN,
            news=HIDDEN,
            lease=HIDDEN,
            replicas=(Replica("controller-0", HIDDEN, AT),),
        ),
        present=worlds.present(
            definitions={"links.isthmus.dev": HIDDEN, "grants.isthmus.dev": HIDDEN}
        ),
        lacking=HIDDEN,
        gateway=HIDDEN,
        links=HIDDEN,
        grants=HIDDEN,
        mirrors=HIDDEN,
        slices=HIDDEN,
        probes={},
    )
    checks = judged(found)
    assert {outcome for outcome, _ in amiss(checks)} == {"warning"}
    assert all(HIDDEN.why in one.detail or one.detail for one in checks if one.outcome != "ok")


def test_the_age_of_what_is_known_is_said() -> None:
    since = micro_time(AT - timedelta(minutes=9))
    stale = west(conditions=conditions(Synced=("False", "Stale", "x")), stale_since=since)
    (check,) = [one for one in linked(census(links=stale)) if "follows" in one.name]
    assert "what is known is 9m old" in check.detail


@pytest.mark.parametrize(
    "one, other, outcome, name",
    [
        pytest.param(
            census("east"),
            census("east"),
            "error",
            "they are two clusters",
            id="the same cluster",
        ),
        pytest.param(
            census("east"),
            census("west", site=replace(site("east"), uid="another")),
            "error",
            "they are two clusters",
            id="the same name",
        ),
        pytest.param(
            census("east"),
            census(
                "west",
                site=replace(site("west"), anchors=bundle.of([worlds.other_anchor().certificate])),
            ),
            "error",
            "each trusts the certificates of the other, in every pod",
            id="another anchor",
        ),
        pytest.param(
            census("east"),
            census("west", site=worlds.told(site("west"), time=AT + timedelta(minutes=6))),
            "error",
            "their clocks agree",
            id="clocks",
        ),
        pytest.param(
            census("east", links=west(cluster_uid="another")),
            census("west"),
            "error",
            "the Link of east leads to west",
            id="another cluster",
        ),
        pytest.param(
            census("east"),
            census("west", gateway=worlds.gateway("east")),
            "warning",
            "the Link of east names the address of west's gateway",
            id="another address",
        ),
        pytest.param(
            census("east"),
            census("west", grants=()),
            "error",
            "west has a Grant for east",
            id="no Grant",
        ),
        pytest.param(
            census("east"),
            census("west", site=replace(site("west"), issuer=HIDDEN)),
            "warning",
            "each trusts the certificates of the other, in every pod",
            id="not seen",
        ),
    ],
)
def test_two_clusters_that_do_not_fit(one: Census, other: Census, outcome: str, name: str) -> None:
    found = list(joined(one, other))
    amiss(found)
    assert (outcome, name) in {(each.outcome, each.name) for each in found}


@pytest.mark.parametrize(
    "found, expected",
    [
        pytest.param(worlds.before(), [], id="again"),
        pytest.param(
            worlds.before(
                present=worlds.present(
                    namespace=None,
                    definitions=dict.fromkeys(["links.isthmus.dev", "grants.isthmus.dev"]),
                ),
                balanced=(),
            ),
            [],
            id="nothing is there",
        ),
        pytest.param(
            worlds.before(lacking=("you may not create clusterroles",)),
            [("error", "you may create what an installation consists of")],
            id="a right is missing",
        ),
        pytest.param(
            worlds.before(present=worlds.present(namespace=namespace("isthmus", terminating=True))),
            [("error", "namespace isthmus can be used")],
            id="the namespace is going",
        ),
        pytest.param(
            worlds.before(
                present=worlds.present(
                    definitions={"links.isthmus.dev": {"metadata": {"name": "links.isthmus.dev"}}}
                )
            ),
            [("error", "our kinds can be defined")],
            id="another product's kind",
        ),
        pytest.param(
            worlds.before(balanced=(PENDING,)),
            [("warning", "the gateway's Service can get an address")],
            id="no load balancer",
        ),
        pytest.param(
            worlds.before(
                present=worlds.present(namespace=HIDDEN, definitions={"links.isthmus.dev": HIDDEN}),
                lacking=HIDDEN,
                balanced=HIDDEN,
            ),
            [
                ("warning", "you may create what an installation consists of"),
                ("warning", "namespace isthmus can be used"),
                ("warning", "our kinds can be defined"),
                ("warning", "the gateway's Service can get an address"),
            ],
            id="not seen",
        ),
    ],
)
def test_before_an_installation(found: Before, expected: list[tuple[str, str]]) -> None:
    assert amiss(before(found, "isthmus")) == expected
