"""Worlds for property tests: few names, so that they clash often."""

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.core.world import LinkView
from isthmus.model.exports import Export, NamedPod, Port
from isthmus.model.links import Link
from isthmus.model.objects import Service, ServicePort, ServiceSpec
from tests.support.builders import EXPORT_LABEL, link, service, view
from tests.support.model import Source

Edit: TypeAlias = Callable[[Source], None]

NAMES = st.sampled_from(["web", "db", "db-0", "web-east", "n" * 60])
NAMESPACES = st.sampled_from(["shop", "bank", "kube-system"])
HOSTNAMES = st.sampled_from(["db-0", "db-1", "web", "h" * 60])
PORTS = st.lists(
    st.builds(
        Port,
        port=st.sampled_from([80, 443]),
        name=st.sampled_from(["http", "tls"]),
        target_port=st.sampled_from([None, 8080, "named"]),
    ),
    min_size=1,
    max_size=2,
    unique_by=(lambda port: port.name, lambda port: port.port),
)
LINKS = (link("west"), link("east-west", "2026-01-02T00:00:00Z", enable_headless_services=False))


@st.composite
def exports(draw: st.DrawFn) -> Export:
    headless = draw(st.booleans())
    pods = draw(st.sets(HOSTNAMES, max_size=3)) if headless else set()
    return Export(
        namespace=draw(NAMESPACES),
        name=draw(NAMES),
        uid=draw(st.sampled_from(["u1", "u2"])),
        version=draw(st.sampled_from(["1", "2"])),
        ports=tuple(draw(PORTS)),
        headless=headless,
        ready=draw(st.booleans()),
        pods=tuple(NamedPod(hostname=one, ready=draw(st.booleans())) for one in sorted(pods)),
        unnamed=headless and draw(st.booleans()),
        labels=draw(st.sampled_from([EXPORT_LABEL, EXPORT_LABEL | {"team": "a"}, {}])),
    )


@st.composite
def views(draw: st.DrawFn, to: Link) -> LinkView:
    offered = draw(st.lists(exports(), max_size=5, unique_by=lambda one: one.key))
    return view(to, *offered, gateway_alive=draw(st.booleans()))


def targets() -> st.SearchStrategy[tuple[LinkView, ...]]:
    """What each of two links sees of its target."""
    return st.tuples(*(views(to) for to in LINKS))


def foreign_services() -> st.SearchStrategy[list[Service]]:
    """Services that users made, some under names that mirrors would like to have."""
    spec = ServiceSpec(cluster_ip="10.96.200.1", ports=(ServicePort(port=80),))
    made = st.builds(
        lambda name, namespace: service(name, namespace, spec=spec),
        st.sampled_from(["web-west", "db-0-west", "web-east-west", "kubernetes"]),
        st.sampled_from(["shop", "bank"]),
    )
    return st.lists(made, max_size=3, unique_by=lambda one: one.metadata.key)


def edits() -> st.SearchStrategy[Edit]:
    """What a user may do to one object of ours, short of making it their own."""
    return st.builds(
        lambda damage, place: lambda local: damage(local, place),
        st.sampled_from([_delete_service, _delete_slice, _edit_service, _edit_slice]),
        st.integers(0, 50),
    )


def _delete_service(local: Source, place: int) -> None:
    if local.services:
        local.remove(list(local.services.values())[place % len(local.services)])


def _delete_slice(local: Source, place: int) -> None:
    if local.slices:
        local.remove(list(local.slices.values())[place % len(local.slices)])


def _edit_service(local: Source, place: int) -> None:
    if local.services:
        one = list(local.services.values())[place % len(local.services)]
        changes: list[dict[str, object]] = [
            {"selector": {"app": "mine"}},
            {"external_ips": ("203.0.113.66",)},
            {"type": "NodePort"},
            {"ports": (ServicePort(port=1),)},
        ]
        local.edit(replace(one, spec=replace(one.spec, **changes[place % len(changes)])))


def _edit_slice(local: Source, place: int) -> None:
    if local.slices:
        one = list(local.slices.values())[place % len(local.slices)]
        local.edit(replace(one, endpoints=()))
