"""Every fault on the way of a call is named as what it is, by both clusters or by one."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from isthmus.apps.controller.certifying.trust import Unusable
from isthmus.cli.checking.evidence.calls import Case, Source, Target
from isthmus.cli.checking.evidence.sites import Replica, Site, Unseen
from isthmus.cli.checking.walking.steps import Step
from isthmus.cli.checking.walking.walk import WAY, first_broken, walk
from isthmus.model.grants import From, To
from isthmus.model.links import Gateway, RefusedExport
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY, LINK_UID
from isthmus.model.objects import Service, ServicePort
from isthmus.model.pages import Attempt, RefusedResource, Resolved
from isthmus.model.selectors import Selector
from isthmus.pki import bundle
from isthmus.pki.issuer import create_issuer
from isthmus.pki.reports import News
from isthmus.pki.seen import Report
from tests.apps.clusters import START
from tests.cli.checking import worlds
from tests.cli.checking.worlds import AT, DAY, conditions, good, proxy, with_status
from tests.docs.reading import calls
from tests.docs.test_commands import refusal
from tests.support.builders import endpoint, slice_of

Change = Callable[[Case], Case]
HIDDEN = Unseen("forbidden: you may not list anything")


def source(**changes: object) -> Change:
    def change(case: Case) -> Case:
        assert isinstance(case.source, Source)
        return replace(case, source=replace(case.source, **changes))  # type: ignore[arg-type]  # the tests' own shorthand

    return change


def target(**changes: object) -> Change:
    def change(case: Case) -> Case:
        assert isinstance(case.target, Target)
        return replace(case, target=replace(case.target, **changes))  # type: ignore[arg-type]  # as above

    return change


def linked(**changes: object) -> Change:
    """Another link; of its status, refusals and what conditions say may be given."""
    status: dict[str, object] = {}
    if "refused" in changes:
        status["refused"] = changes.pop("refused")
    said = changes.pop("said", None)
    if isinstance(said, dict):
        status["conditions"] = conditions(**said) if said else ()

    def change(case: Case) -> Case:
        assert case.link is not None
        spec = msgspec.structs.replace(case.link.spec, **changes)
        found = with_status(msgspec.structs.replace(case.link, spec=spec), **status)
        return source(link=found, links=(found,))(case)

    return change


def at_source(of: Callable[[Site], Site]) -> Change:
    def change(case: Case) -> Case:
        assert isinstance(case.source, Source)
        return source(site=of(case.source.site))(case)

    return change


def at_target(of: Callable[[Site], Site]) -> Change:
    def change(case: Case) -> Case:
        assert isinstance(case.target, Target)
        return target(site=of(case.target.site))(case)

    return change


def called(**changes: object) -> Change:
    return lambda case: replace(case, called=replace(case.called, **changes))  # type: ignore[arg-type]  # as above


def both(*changes: Change) -> Change:
    def change(case: Case) -> Case:
        for one in changes:
            case = one(case)
        return case

    return change


def unlit(case: Case) -> Case:
    """The mirror's slices as they are if nobody is ready in the target."""
    there = (slice_of("web", endpoint("10.2.0.1", ready=False)),)
    assert case.link is not None
    _, here = worlds.mirrored(worlds.web(), there, case.link)
    return both(target(slices=there), source(slices=here))(case)


def told(of: str, **changes: object) -> Change:
    at = at_source if of == "source" else at_target
    return at(lambda site: worlds.told(site, **changes))


def refuses(role: str) -> object:
    bad = worlds.held("Listener", "refused", "cannot bind: address already in use")
    return (proxy(role, bad),)


def waits(role: str) -> object:
    """A proxy that lacks something because it refuses something else."""
    why = RefusedResource(type="Cluster", name="west|shop/curl", message="no such option")
    return (
        msgspec.structs.replace(
            proxy(role, worlds.held("Listener", "missing")), refused=(why,), refused_count=1
        ),
    )


def failing(reason: str, message: str) -> object:
    return worlds.probe(
        Attempt(address="203.0.113.9", port=4143, answered=False, reason=reason, message=message)
    )


def stranger(case: Case) -> Case:
    """Somebody else's Service has the mirror's name."""
    found = worlds.web({}, cluster_ip="10.8.8.9")
    return source(mirror=found, stand_in=found)(case)


def untrusting(case: Case) -> Case:
    """A pod of west still uses another anchor."""
    assert isinstance(case.target, Target)
    old = Report(AT, frozenset({worlds.prints(worlds.other_anchor())}), frozenset())
    news = News({"controller-0": {"gateway-0": old}}, {"controller-0.own": {"gateway-0": old}})
    return at_target(lambda site: replace(site, news=news))(case)


UDP = (ServicePort(port=53, name="dns", protocol="UDP"),)
LOST = Resolved(host="gateway.west.example", message="Name or service not known")
ELSEWHERE = create_issuer(worlds.other_anchor(), "west", "isthmus", START)
NAMED = Gateway(addresses=("gateway.west.example",))

FAULTS = [
    # What is exported.
    ("no such Service", target(service=None), "export", "NoService"),
    ("no label", target(service=worlds.web({})), "export", "NotLabelled"),
    (
        "labelled false",
        target(service=worlds.web({"mirror.linkerd.io/exported": "false"})),
        "export",
        "NotLabelled",
    ),
    ("UDP port", target(service=worlds.web(ports=UDP)), "export", "NoTCPPorts"),
    ("no ports", target(service=worlds.web(ports=())), "export", "NoPorts"),
    ("ExternalName", target(service=worlds.web(type="ExternalName")), "export", "ExternalName"),
    ("a pod of no set", called(hostname="web-0"), "export", "NotHeadless"),
    # What the link wants.
    (
        "selector mismatch",
        linked(selector=Selector(match_labels={"team": "blue"})),
        "selector",
        "NotSelected",
    ),
    ("an empty selector", linked(selector=Selector()), "selector", "NotSelected"),
    # What is granted.
    ("no Grant", target(grants=()), "grant", "NoGrant"),
    ("a Grant for another cluster", target(grants=(worlds.grant("north"),)), "grant", "NoGrant"),
    (
        "a Grant for another Service",
        target(grants=(worlds.grant(to=To(services=("shop/db",))),)),
        "grant",
        "NotGranted",
    ),
    (
        "a Grant for another account",
        both(
            target(grants=(worlds.grant(from_=From(service_accounts=("shop/curl",))),)),
            called(account="shop/other"),
        ),
        "grant",
        "AccountNotGranted",
    ),
    (
        "a Grant for nobody",
        target(grants=(worlds.grant(from_=From(namespaces=())),)),
        "grant",
        "NobodyGranted",
    ),
    (
        "a Grant that means nothing",
        target(grants=(worlds.grant(from_=From(service_accounts=("curl",))),)),
        "grant",
        "GrantMalformed",
    ),
    # The link.
    ("Link missing", source(link=None, links=()), "link", "LinkMissing"),
    ("Link not seen", linked(said={}), "link", "LinkNotSeen"),
    ("Link without address", linked(gateway=Gateway()), "link", "NoAddress"),
    (
        "the source's controller is down",
        at_source(lambda site: worlds.without(site, CONTROLLER)),
        "link",
        "ControllerDown",
    ),
    (
        "another cluster answers",
        linked(said={"Connected": ("False", "IdentityChanged", "another UID")}),
        "link",
        "IdentityChanged",
    ),
    (
        "an address that no gateway has",
        linked(said={"AddressRefused": ("True", "BadAddress", "169.254.169.254: metadata")}),
        "link",
        "AddressRefused",
    ),
    # Trust.
    (
        "no issuer",
        at_target(lambda site: replace(site, issuer=Unusable("Secret x does not exist"))),
        "trust",
        "NoIssuer",
    ),
    (
        "no anchors",
        at_source(lambda site: replace(site, anchors=Unusable("ConfigMap x: not PEM"))),
        "trust",
        "NoAnchors",
    ),
    (
        "an issuer that has expired",
        at_target(lambda site: replace(site, issuer=worlds.issuer("west", DAY).certificate)),
        "trust",
        "IssuerExpired",
    ),
    (
        "an issuer of another cluster",
        at_source(lambda site: replace(site, issuer=worlds.issuer("north").certificate)),
        "trust",
        "IssuerOfAnother",
    ),
    (
        "an issuer below another anchor",
        at_target(lambda site: replace(site, issuer=ELSEWHERE.certificate)),
        "trust",
        "WrongAnchor",
    ),
    (
        "another anchor is trusted",
        at_source(
            lambda site: replace(site, anchors=bundle.of([worlds.other_anchor().certificate]))
        ),
        "trust",
        "WrongAnchor",
    ),
    ("an anchor that a pod does not use yet", untrusting, "trust", "AnchorNotInUse"),
    (
        "clock skew of controllers",
        told("target", time=AT + timedelta(minutes=20)),
        "trust",
        "ClockSkew",
    ),
    (
        "clock skew of API servers",
        both(
            at_source(lambda site: replace(site, replicas=(), ahead=-900.0)),
            at_target(lambda site: replace(site, replicas=())),
        ),
        "trust",
        "ClockSkew",
    ),
    (
        "a leaf that has expired",
        source(probe=failing("Untrusted", "x: not trusted: certificate has expired")),
        "trust",
        "CertificateExpired",
    ),
    (
        "a leaf that is not valid yet",
        source(probe=failing("Untrusted", "x: not trusted: certificate is not yet valid")),
        "trust",
        "ClockSkew",
    ),
    (
        "a controller without certificate",
        source(probe=failing("NoAuthority", "this controller has no certificate")),
        "trust",
        "NoIdentity",
    ),
    (
        "somebody else answers",
        source(probe=failing("Untrusted", "x: who answers there does not prove to be west")),
        "trust",
        "WrongIdentity",
    ),
    # The gateway.
    (
        "gateway down",
        at_target(lambda site: worlds.without(site, GATEWAY)),
        "gateway",
        "GatewayDown",
    ),
    (
        "DNS name of the gateway wrong",
        both(
            linked(gateway=NAMED),
            source(probe=worlds.probe(hosts=(LOST,), attempts=())),
        ),
        "gateway",
        "NameNotResolved",
    ),
    (
        "its name leads nowhere any more",
        both(linked(gateway=NAMED), source(probe=worlds.probe(hosts=(LOST,)))),
        "gateway",
        "NameNotResolved",
    ),
    (
        "gateway out of reach",
        source(probe=failing("Unreachable", "203.0.113.9:4143: Connection refused")),
        "gateway",
        "GatewayUnreachable",
    ),
    # The catalogue.
    (
        "un-synced catalogue",
        at_target(lambda site: worlds.without(site, CONTROLLER)),
        "catalogue",
        "TargetControllerDown",
    ),
    (
        "a catalogue that is not served",
        linked(said={"Connected": ("False", "Unavailable", "serves no catalogue now (503)")}),
        "catalogue",
        "Unavailable",
    ),
    (
        "a catalogue that was never read",
        linked(said={"Synced": ("False", "NotSynced", "not read yet")}),
        "catalogue",
        "NotSynced",
    ),
    # The mirror.
    ("missing namespace", source(namespace=None), "mirror", "NamespaceMissing"),
    (
        "name taken, by its controller's word",
        linked(
            refused=(RefusedExport(namespace="shop", name="web", reason="NameTaken", message="x"),)
        ),
        "mirror",
        "NameTaken",
    ),
    ("name taken", stranger, "mirror", "NameTaken"),
    ("no mirror", source(mirror=None, stand_in=None), "mirror", "NoMirror"),
    # Where it leads.
    ("no slice", source(slices=()), "slice", "NoSlice"),
    (
        "a slice that leads elsewhere",
        source(slices=(slice_of("web-west", endpoint("10.66.0.1")),)),
        "slice",
        "SliceAstray",
    ),
    # The egress.
    ("egress down", at_source(lambda site: worlds.without(site, EGRESS)), "egress", "EgressDown"),
    ("an egress that nobody tells", told("source", proxies=()), "egress", "EgressNotConnected"),
    ("NACKed listener", told("source", proxies=refuses("egress")), "egress", "ProxyRefused"),
    ("NACKed cluster", told("source", proxies=waits("egress")), "egress", "ProxyRefused"),
    ("no listener", told("source", listeners=()), "egress", "NoListener"),
    (
        "a listener that is on its way",
        told("source", proxies=(proxy("egress", worlds.held("Listener", "older")),)),
        "egress",
        "NotToldYet",
    ),
    (
        "nobody listens",
        source(listening=failing("ConnectionRefusedError", "connection refused")),
        "egress",
        "NotListening",
    ),
    # The route.
    ("a gateway that nobody tells", told("target", proxies=()), "route", "GatewayNotConnected"),
    ("NACKed route", told("target", proxies=refuses("gateway")), "route", "ProxyRefused"),
    ("no route", told("target", routes=()), "route", "NoRoute"),
    # The pods.
    ("no endpoints", target(slices=()), "endpoints", "NoEndpoints"),
    ("no ready endpoints", unlit, "endpoints", "NoReadyEndpoints"),
]


def test_a_call_that_passes_is_well_at_every_step() -> None:
    steps = walk(good())
    assert [(one.name, one.outcome, one.detail) for one in steps if one.outcome != "ok"] == []
    assert len(steps) == len(WAY)
    assert first_broken(steps) is None


@pytest.mark.parametrize(
    "change, step, reason", [pytest.param(*fault[1:], id=fault[0]) for fault in FAULTS]
)
def test_the_first_broken_step_is_the_fault(change: Change, step: str, reason: str) -> None:
    found = first_broken(walk(change(good())))
    assert found is not None
    assert (found.name, found.reason) == (step, reason), found
    assert found.detail
    assert found.fix or found.hint


def scaled_to_nothing(name: str) -> Callable[[Site], Site]:
    def change(site: Site) -> Site:
        assert not isinstance(site.workloads, Unseen)
        none = replace(site.workloads[name], wanted=0, pods=())
        return replace(site, workloads={**site.workloads, name: none})

    return change


def of_a_set(case: Case) -> Case:
    """A pod of a headless Service is asked about."""
    there = (slice_of("web", endpoint("10.2.0.1", "web-0")),)
    change = target(service=worlds.web(cluster_ip="None"), slices=there)
    return called(hostname="web-0")(change(case))


LABEL = "mirror.linkerd.io/exported=true"
FIXES = [
    (
        "no label",
        target(service=worlds.web({})),
        f"kubectl --context west -n shop label service web {LABEL} --overwrite",
    ),
    (
        "no Grant at all",
        target(grants=()),
        "isthmus --context west allow east --to-service shop/web --apply",
    ),
    (
        "no Grant at all, and an account is asked about",
        both(target(grants=()), called(account="shop/curl")),
        "isthmus --context west allow east --to-service shop/web "
        "--from-service-account shop/curl --apply",
    ),
    (
        "a Grant for another Service",
        target(grants=(worlds.grant(to=To(services=("shop/db",))),)),
        "isthmus --context west allow east --name east-web --to-service shop/web --apply",
    ),
    (
        "a Grant for another account",
        both(
            target(grants=(worlds.grant(from_=From(service_accounts=("shop/curl",))),)),
            called(account="shop/other"),
        ),
        "isthmus --context west allow east --name east-other "
        "--from-service-account shop/other --apply",
    ),
    (
        "no Link",
        source(link=None, links=()),
        "isthmus --context west link --cluster-name west | kubectl --context east apply -f -",
    ),
    (
        "no Link, and a pod is asked about",
        both(of_a_set, source(link=None, links=())),
        "isthmus --context west link --cluster-name west --set enableHeadlessServices=true | "
        "kubectl --context east apply -f -",
    ),
    (
        "a context whose name a shell would take apart",
        both(at_source(lambda site: replace(site, context="my east")), source(namespace=None)),
        "kubectl --context 'my east' create namespace shop",
    ),
    (
        "the controller is scaled to nothing",
        at_source(scaled_to_nothing(CONTROLLER)),
        "kubectl --context east -n isthmus scale deployment isthmus-controller --replicas=1",
    ),
    (
        "the gateway is scaled to nothing",
        at_target(scaled_to_nothing(GATEWAY)),
        "kubectl --context west -n isthmus scale deployment isthmus-gateway --replicas=1",
    ),
    (
        "the egress is scaled to nothing",
        at_source(scaled_to_nothing(EGRESS)),
        "kubectl --context east -n isthmus scale deployment isthmus-egress --replicas=1",
    ),
    (
        "missing namespace",
        source(namespace=None),
        "kubectl --context east create namespace shop",
    ),
    (
        "missing namespace, by its controller's word",
        linked(
            refused=(
                RefusedExport(namespace="shop", name="web", reason="NamespaceMissing", message="x"),
            )
        ),
        "kubectl --context east create namespace shop",
    ),
    (
        "sets are not mirrored",
        both(of_a_set, linked(enable_headless_services=False)),
        "kubectl --context east patch link west --type=merge "
        """-p '{"spec":{"enableHeadlessServices":true}}'""",
    ),
]


@pytest.mark.parametrize("change, command", [pytest.param(*one[1:], id=one[0]) for one in FIXES])
def test_a_fix_is_what_mends_it(change: Change, command: str) -> None:
    found = first_broken(walk(change(good())))
    assert found is not None
    assert found.fix == command


@pytest.mark.parametrize("change", [pytest.param(one[1], id=one[0]) for one in FAULTS])
def test_what_is_called_a_fix_can_be_typed_and_changes_something(change: Change) -> None:
    for step in walk(change(good())):
        if step.fix:
            words = shlex.split(step.fix)
            assert words[0] in ("isthmus", "kubectl"), step
            assert not {"get", "describe", "logs"} & set(words), step
            assert not [why for typed in calls(step.fix) if (why := refusal(typed))], step


def test_whoever_has_no_way_into_the_target_is_told_where_to_type_it() -> None:
    said = {"Connected": ("False", "Forbidden", "cluster west has no Grant")}
    ungranted = both(linked(said=said), source(probe=None), called(account="shop/curl"))
    for change, hint in (
        (ungranted, "in the context of west: isthmus allow east --to-service shop/web "),
        (source(link=None, links=()), "make it in the context of west: isthmus link "),
    ):
        found = first_broken(walk(replace(change(good()), target=HIDDEN)))
        assert found is not None
        assert found.fix == ""
        assert found.hint.startswith(hint)


# Of these faults the source alone knows, because its controller has met them or because they are
# its own.
BY_SOURCE = [
    (
        "no Grant",
        linked(said={"Connected": ("False", "Forbidden", "cluster west has no Grant")}),
        "grant",
        "NoGrant",
    ),
    (
        "UDP port",
        linked(
            refused=(RefusedExport(namespace="shop", name="web", reason="NoTCPPorts", message="x"),)
        ),
        "export",
        "NoTCPPorts",
    ),
    (
        "wrong anchor",
        linked(said={"Connected": ("False", "TLSVerify", "x: self-signed certificate in chain")}),
        "trust",
        "WrongAnchor",
    ),
    (
        "expired certificate",
        linked(said={"Connected": ("False", "TLSVerify", "x: certificate has expired")}),
        "trust",
        "CertificateExpired",
    ),
    (
        "clock skew",
        linked(said={"Connected": ("False", "TLSVerify", "x: certificate is not yet valid")}),
        "trust",
        "ClockSkew",
    ),
    (
        "no certificate of its own",
        linked(said={"Connected": ("False", "NoIdentity", "this controller has no certificate")}),
        "trust",
        "NoIdentity",
    ),
    (
        "gateway down",
        both(
            source(probe=Unseen("no controller")),
            linked(said={"GatewayAlive": ("False", "ProbeFailed", "no answer on port 4143")}),
        ),
        "gateway",
        "GatewayUnreachable",
    ),
    (
        "DNS name wrong",
        both(
            source(probe=Unseen("no controller")),
            linked(said={"Connected": ("False", "NoAddress", "its gateway has no address")}),
        ),
        "gateway",
        "NameNotResolved",
    ),
    (
        "un-synced catalogue",
        linked(said={"Connected": ("False", "Unavailable", "serves no catalogue now (503)")}),
        "catalogue",
        "Unavailable",
    ),
    (
        "NACKed configuration",
        both(
            at_source(lambda site: replace(site, replicas=(Replica("c", HIDDEN, AT),))),
            linked(said={"ProxyRefused": ("True", "ConfigurationRefused", "Listener out|1: bad")}),
        ),
        "egress",
        "ProxyRefused",
    ),
    ("no ready endpoints", unlit, "endpoints", "NoReadyEndpoints"),
]


@pytest.mark.parametrize(
    "change, step, reason", [pytest.param(*fault[1:], id=fault[0]) for fault in BY_SOURCE]
)
def test_what_the_source_alone_knows(change: Change, step: str, reason: str) -> None:
    case = change(good())
    if case.condition("Connected") != good().condition("Connected"):
        case = source(probe=None)(case)  # nobody has just met the gateway
    found = first_broken(walk(replace(case, target=HIDDEN)))
    assert found is not None
    assert (found.name, found.reason) == (step, reason), found


def by_name(steps: tuple[Step, ...]) -> dict[str, Step]:
    return {one.name: one for one in steps}


def test_a_target_that_cannot_be_looked_at_is_said_to_be_so() -> None:
    steps = by_name(walk(replace(good(), target=HIDDEN)))
    assert {name for name, one in steps.items() if one.outcome == "unknown"} == {"route"}
    assert steps["route"].detail == HIDDEN.why
    assert "west itself was not looked at" in steps["export"].detail


def test_a_source_that_cannot_be_looked_at_leaves_the_targets_half() -> None:
    steps = by_name(walk(replace(good(), source=HIDDEN)))
    assert {name for name, one in steps.items() if one.outcome == "ok"} == {
        "export",
        "grant",
        "route",
        "endpoints",
    }
    assert not any(one.outcome == "broken" for one in steps.values())


def test_what_may_not_be_read_is_not_what_is_not_there() -> None:
    case = both(
        source(mirror=HIDDEN, stand_in=HIDDEN, slices=HIDDEN, namespace=HIDDEN, probe=HIDDEN),
        target(service=HIDDEN, slices=HIDDEN, grants=HIDDEN, gateway=HIDDEN),
        at_source(lambda site: replace(site, workloads=HIDDEN, issuer=HIDDEN, anchors=HIDDEN)),
        at_target(lambda site: replace(site, workloads=HIDDEN, issuer=HIDDEN, anchors=HIDDEN)),
    )(good())
    steps = walk(case)
    assert [one for one in steps if one.outcome == "broken"] == []


def test_pods_of_a_set_need_headless_services() -> None:
    export = worlds.web(cluster_ip="None")
    there = (slice_of("web", endpoint("10.2.0.1", "web-0")),)
    to = worlds.west(enable_headless_services=False)
    case = both(
        target(service=export, slices=there),
        source(link=to, links=(to,)),
        called(hostname="web-0"),
    )(good())
    found = first_broken(walk(case))
    assert found is not None
    assert (found.name, found.reason) == ("mirror", "HeadlessNotEnabled")


def test_a_data_plane_of_somebody_else_needs_nothing_of_ours() -> None:
    to = worlds.west(data_plane="external", via="api")
    made, here = worlds.mirrored(worlds.web(), (slice_of("web", endpoint("10.2.0.1")),), to)
    case = both(
        source(link=to, links=(to,), mirror=made, stand_in=made, slices=here),
        target(grants=()),
    )(good())
    assert first_broken(walk(case)) is None


def test_a_mirror_of_a_former_link_is_not_this_links() -> None:
    case = good()
    assert isinstance(case.source, Source)
    found = case.source.mirror
    assert isinstance(found, Service)
    annotations = {**found.metadata.annotations, LINK_UID: "gone"}
    metadata = msgspec.structs.replace(found.metadata, annotations=annotations)
    other = msgspec.structs.replace(found, metadata=metadata)
    broken = first_broken(walk(source(mirror=other, stand_in=other)(case)))
    assert broken is not None
    assert (broken.name, broken.reason) == ("mirror", "NameTaken")


def test_what_a_link_says_of_yesterday_is_not_believed_over_a_probe_of_now() -> None:
    said = {"Connected": ("False", "TLSVerify", "x: certificate has expired")}
    found = first_broken(walk(linked(said=said)(good())))
    assert found is not None
    assert (found.name, found.reason) == ("catalogue", "TLSVerify")
