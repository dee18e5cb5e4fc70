"""Clusters and calls as they were seen, all well unless a test says otherwise."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache

import msgspec

from isthmus import __version__
from isthmus.cli.checking.evidence.calls import Called, Case, Source, Target
from isthmus.cli.checking.evidence.clusters import Before, Census, Present
from isthmus.cli.checking.evidence.objects import Container, Pod, PodSpec, PodStatus
from isthmus.cli.checking.evidence.sites import ROLES, Replica, Site, Workload
from isthmus.cli.checking.walking import meaning
from isthmus.core import mirror, slices
from isthmus.core.export import digest
from isthmus.core.world import Address, Claim, World
from isthmus.install.definitions import definitions
from isthmus.model.exports import Export
from isthmus.model.grants import Grant, GrantSpec, GrantStatus
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.links import Link, LinkStatus
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.model.objects import (
    Condition,
    EndpointSlice,
    Ingress,
    Key,
    Lease,
    LeaseSpec,
    LoadBalancer,
    Metadata,
    Service,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
)
from isthmus.model.pages import Attempt, HeldResource, Listener, Probe, Proxies, Proxy, Route
from isthmus.model.times import micro_time
from isthmus.pki import bundle
from isthmus.pki.anchor import create_anchor
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import Pair, fingerprint
from isthmus.pki.reports import News
from isthmus.pki.seen import Report
from tests.apps.clusters import START
from tests.support.builders import EXPORT_LABEL, endpoint, link, namespace, slice_of, view

DAY = timedelta(days=1)
AT = START + 10 * DAY
WEB = Key("shop", "web")
ADDRESSES = {"east": "203.0.113.1", "west": "203.0.113.9"}
IPS = {CONTROLLER: "10.1.0.1", GATEWAY: "10.1.0.2", EGRESS: "10.1.0.7"}


@cache
def anchor() -> Pair:
    return create_anchor(MESH_DOMAIN, START)


@cache
def other_anchor() -> Pair:
    return create_anchor(MESH_DOMAIN, START)


@cache
def issuer(cluster: str, lifetime: timedelta = 365 * DAY) -> Pair:
    return create_issuer(anchor(), cluster, MESH_DOMAIN, START, lifetime)


# One cluster.


def pod(name: str, account: str, *, ready: bool = True) -> Pod:
    status = "True" if ready else "False"
    return Pod(
        metadata=Metadata(name=name, namespace="isthmus"),
        spec=PodSpec(service_account_name=account),
        status=PodStatus(
            phase="Running",
            pod_ip=IPS[account],
            conditions=(Condition(type="Ready", status=status),),
        ),
    )


def workload(name: str, cluster: str = "east") -> Workload:
    words = ("controller", "--cluster-name", cluster)
    return Workload(
        name=name,
        wanted=1,
        version=__version__,
        containers=(Container(args=words if name == CONTROLLER else ()),),
        pods=(pod(f"{ROLES[name]}-0", name),),
    )


def down(name: str, cluster: str = "east") -> Workload:
    found = workload(name, cluster)
    return replace(
        found, pods=tuple(pod(one.metadata.name, name, ready=False) for one in found.pods)
    )


def proxy(role: str, *resources: HeldResource) -> Proxy:
    return Proxy(
        name=f"{role}-0",
        role=role,
        identity=f"spiffe://east.isthmus/ns/isthmus/sa/isthmus-{role}",
        since=AT,
        quiet=0.1,
        pending=0,
        resources=resources,
    )


def page(cluster: str, **changes: object) -> Proxies:
    given: dict[str, object] = {
        "replica": "controller-0",
        "cluster": cluster,
        "version": __version__,
        "time": AT,
        "telling": True,
        "proxies": (proxy("gateway"), proxy("egress")),
    }
    return Proxies(**(given | changes))  # type: ignore[arg-type]  # the tests' own shorthand


def site(cluster: str = "east", found: Proxies | None = None, **changes: object) -> Site:
    said = Report(AT, frozenset({prints(anchor())}), frozenset({prints(anchor())}))
    own = {"gateway-0": said, "egress-0": said}
    lease = LeaseSpec(
        holder_identity="controller-0",
        lease_duration_seconds=15,
        renew_time=micro_time(AT - timedelta(seconds=2)),
    )
    given: dict[str, object] = {
        "context": cluster,
        "namespace": "isthmus",
        "at": AT,
        "ahead": 0.0,
        "uid": f"uid-of-{cluster}",
        "workloads": {name: workload(name, cluster) for name in ROLES},
        "issuer": issuer(cluster).certificate,
        "anchors": bundle.of([anchor().certificate]),
        "news": News({"controller-0": {**own, "controller-0": said}}, {"controller-0.own": own}),
        "lease": Lease(metadata=Metadata(name="isthmus-controller"), spec=lease),
        "replicas": (Replica("controller-0", found or page(cluster), AT),),
    }
    return Site(**(given | changes))  # type: ignore[arg-type]  # the tests' own shorthand


def prints(pair: Pair) -> str:
    return fingerprint(pair.certificate)


def told(of: Site, **changes: object) -> Site:
    """A site whose controller says something else on its page."""
    (replica,) = of.replicas
    assert isinstance(replica.page, Proxies)
    said = msgspec.structs.replace(replica.page, **changes)
    return replace(of, replicas=(Replica(replica.pod, said, replica.at),))


def without(of: Site, name: str) -> Site:
    """A site in which a workload does not run."""
    assert isinstance(of.workloads, Mapping)
    return replace(of, workloads={**of.workloads, name: down(name, of.name)})


def conditions(**statuses: tuple[str, str, str]) -> tuple[Condition, ...]:
    """The conditions of a link: all true, but those that are given as status, reason, message."""
    said = {
        "Connected": ("True", "Connected", "the target is being watched"),
        "Synced": ("True", "Synced", "the target's exports are known completely"),
        "GatewayAlive": ("True", "ProbeSucceeded", "the gateway answers"),
        **statuses,
    }
    return tuple(
        Condition(type=kind, status=status, reason=reason, message=message)
        for kind, (status, reason, message) in said.items()
    )


def west(**spec: object) -> Link:
    status = LinkStatus(conditions=conditions(), cluster_uid="uid-of-west", mirrors=1)
    made = link("west", **spec)  # type: ignore[arg-type]  # the tests' own shorthand
    return msgspec.structs.replace(made, status=status)


def with_status(of: Link, **changes: object) -> Link:
    return msgspec.structs.replace(of, status=msgspec.structs.replace(of.status, **changes))


def grant(cluster: str = "east", **spec: object) -> Grant:
    accepted = Condition(type="Accepted", status="True", reason="Accepted")
    return Grant(
        metadata=Metadata(name=cluster),
        spec=GrantSpec(cluster=cluster, **spec),  # type: ignore[arg-type]  # as above
        status=GrantStatus(conditions=(accepted,)),
    )


def gateway(cluster: str) -> Service:
    ingress = (Ingress(ip=ADDRESSES[cluster]),)
    return Service(
        metadata=Metadata(name=GATEWAY, namespace="isthmus"),
        spec=ServiceSpec(type="LoadBalancer", ports=(ServicePort(port=4143),)),
        status=ServiceStatus(load_balancer=LoadBalancer(ingress=ingress)),
    )


# A call.


def web(labels: Mapping[str, str] = EXPORT_LABEL, **spec: object) -> Service:
    given: dict[str, object] = {
        "cluster_ip": "10.9.9.9",
        "ports": (ServicePort(port=80, name="http"),),
        "selector": {"app": "web"},
    }
    return Service(
        metadata=Metadata(name="web", namespace="shop", uid="uid-of-web", labels=labels),
        spec=ServiceSpec(**(given | spec)),  # type: ignore[arg-type]  # as above
    )


def held(kind: str = "Listener", state: str = "held", message: str = "") -> HeldResource:
    return HeldResource(type=kind, name="out|20001", state=state, message=message)  # type: ignore[arg-type]  # as above


def probe(*attempts: Attempt, **changes: object) -> Probe:
    answered = Attempt(address=ADDRESSES["west"], port=4143, answered=True, milliseconds=3.0)
    who = "spiffe://west.isthmus/ns/isthmus/sa/isthmus-gateway"
    tried = attempts or (answered,)
    given: dict[str, object] = {"of": "west", "age": 0.0, "identity": who, "attempts": tried}
    return Probe(**(given | changes))  # type: ignore[arg-type]  # as above


def mirrored(
    export: Service, slices_there: tuple[EndpointSlice, ...], to: Link
) -> tuple[Service, tuple[EndpointSlice, ...]]:
    """The mirror of an export, as the planner makes it."""
    found = digest(export, slices_there)
    assert isinstance(found, Export)
    seen = view(to, found)
    claim = Claim(to.uid, found.key)
    key, _ = meaning.local(found.key, "", to, to.cluster)
    made = mirror.desired(key, claim, seen, None)
    world = World(links={to.uid: seen}, egress=(Address(IPS[EGRESS]),))
    given = msgspec.structs.replace(
        made, spec=msgspec.structs.replace(made.spec, cluster_ip="10.8.8.8")
    )
    return given, tuple(slices.desired(key, claim, world, given))


def good() -> Case:
    """A call that passes."""
    to, export, there = west(), web(), (slice_of("web", endpoint("10.2.0.1")),)
    made, here = mirrored(export, there, to)
    listener = Listener(port=20001, link="west", authority="web.shop:80", protocol="http")
    route = Route(authority="web.shop:80", protocol="http", places=1)
    target = page("west", proxies=(proxy("gateway", held("Cluster")),), routes=(route,))
    source = page("east", proxies=(proxy("egress", held()),), listeners=(listener,))
    mirror_key, stand_in = meaning.local(WEB, "", to, "west")
    return Case(
        called=Called(export=WEB, mirror=mirror_key, stand_in=stand_in),
        source_name="east",
        target_name="west",
        source=Source(
            site=site("east", source),
            links=(to,),
            link=to,
            namespace=namespace("shop"),
            mirror=made,
            stand_in=made,
            slices=here,
            probe=probe(),
            listening=probe(Attempt(address=IPS[EGRESS], port=20001, answered=True)),
        ),
        target=Target(
            site=site("west", target),
            service=export,
            slices=there,
            grants=(grant(),),
            gateway=gateway("west"),
        ),
    )


# A cluster to be checked.


def present(**changes: object) -> Present:
    given: dict[str, object] = {
        "namespace": namespace("isthmus"),
        "definitions": {one["metadata"]["name"]: one for one in definitions()},
    }
    return Present(**(given | changes))  # type: ignore[arg-type]  # as above


def before(**changes: object) -> Before:
    given: dict[str, object] = {
        "present": present(),
        "lacking": (),
        "balanced": (gateway("east"),),
    }
    return Before(**(given | changes))  # type: ignore[arg-type]  # as above


def census(cluster: str = "east", **changes: object) -> Census:
    """A cluster in which all is well; east has a link to west, and west a Grant for east."""
    to = west()
    made, here = mirrored(web(), (slice_of("web", endpoint("10.2.0.1")),), to)
    is_source = cluster == "east"
    given: dict[str, object] = {
        "site": site(cluster),
        "present": present(),
        "lacking": (),
        "gateway": gateway(cluster),
        "links": (to,) if is_source else (),
        "grants": () if is_source else (grant(),),
        "mirrors": (made,) if is_source else (),
        "slices": here if is_source else (),
        "probes": {"west": probe()} if is_source else {},
    }
    return Census(**(given | changes))  # type: ignore[arg-type]  # as above
