"""Worlds for property tests: few names, so that they clash often."""

from hypothesis import strategies as st

from isthmus.core.world import LinkView
from isthmus.model.exports import Export, NamedPod, Port
from isthmus.model.links import Link
from isthmus.model.objects import Service, ServicePort, ServiceSpec
from tests.support.builders import EXPORT_LABEL, link, service, view

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
