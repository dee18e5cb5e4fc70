"""What the egress carries: a listener for each mirrored port, the gateways behind them, and who may
call. All of it follows from what this cluster's API shows, so that a restart changes nothing.
"""

from collections.abc import Iterable
from typing import NamedTuple

from isthmus.core import listeners
from isthmus.core.mirror import owner
from isthmus.core.protocol import protocol
from isthmus.model.addresses import meant
from isthmus.model.identities import Identity
from isthmus.model.links import Link
from isthmus.model.names import GATEWAY, MANAGED_BY, MANAGER, REMOTE_NAME
from isthmus.model.objects import EndpointSlice, Key, Pod, Service
from isthmus.model.routes import Outbound, Peer, Place
from isthmus.model.syntax import is_dns_label, is_port, is_subdomain

LIVE = ("Pending", "Running")


class Caller(NamedTuple):
    """A pod that may call: where from, and as whom.

    ``account`` is "namespace/name", or nothing for a pod that has no address of its own.
    """

    key: Key
    account: str
    addresses: tuple[str, ...]


def carries(link: Link) -> bool:
    """Tell whether the calls of ``link`` are ours to carry."""
    spec = link.spec
    return spec.data_plane == "envoy" and is_port(spec.gateway.port) and is_dns_label(link.cluster)


def outbound(mirror: Service, slices: Iterable[EndpointSlice], link: Link) -> tuple[Outbound, ...]:
    """Return a listener for each port of ``mirror`` that has one recorded in its slices.

    What the target calls the port is read from the mirror, and becomes part of Envoy's
    configuration: text that is no name leads nowhere.
    """
    remote = mirror.metadata.annotations.get(REMOTE_NAME, "")
    if (
        not carries(link)
        or owner(mirror.metadata) != link.uid
        or mirror.spec.cluster_ip in ("", "None")
        or not is_subdomain(remote)
    ):
        return ()
    recorded = listeners.recorded(one for one in slices if _is_of(one, mirror))
    return tuple(
        Outbound(
            listener=recorded[port.name],
            link=link.cluster,
            authority=f"{remote}:{port.port}",
            namespace=mirror.metadata.namespace,
            service=mirror.metadata.name,
            protocol=protocol(port),
        )
        for port in mirror.spec.ports
        if port.protocol == "TCP" and port.name in recorded
    )


def peer(link: Link, addresses: Iterable[str], mesh_domain: str, namespace: str) -> Peer | None:
    """Return the gateways of a linked cluster, which run in ``namespace`` there as ours do here.

    None if they are not ours to call. No places at all means that nobody knows them yet.
    """
    if not carries(link):
        return None
    port = link.spec.gateway.port
    return Peer(
        link=link.cluster,
        places=tuple(Place(address=one, port=port) for one in sorted(set(addresses))),
        identity=str(Identity(link.cluster, mesh_domain, namespace, GATEWAY)),
    )


def caller(pod: Pod) -> Caller | None:
    """Return who calls from the addresses of ``pod``; None as long as nobody does.

    A pod that terminates is itself to the end: its last calls must pass, too.
    """
    said = (pod.status.pod_ip, *(one.ip for one in pod.status.pod_ips))
    found = {str(address) for address in map(meant, said) if address is not None}
    if not found or pod.status.phase not in LIVE:
        return None
    key, name = pod.metadata.key, pod.spec.service_account_name
    # The address of a node belongs to all who are on it.
    is_somebody = name and not pod.spec.host_network
    return Caller(
        key=key,
        account=f"{key.namespace}/{name}" if is_somebody else "",
        addresses=tuple(sorted(found)),
    )


def account(claimants: Iterable[Caller]) -> str:
    """Return the account under which calls from an address leave, if all ``claimants`` of that
    address agree on it. Addresses are used again, and a call as somebody else is worse than none.
    """
    found = {one.account for one in claimants}
    return found.pop() if len(found) == 1 else ""


def _is_of(one: EndpointSlice, mirror: Service) -> bool:
    """Tell whether we wrote a slice for what ``mirror`` stands for now."""
    metadata = one.metadata
    return (
        metadata.labels.get(MANAGED_BY) == MANAGER
        and owner(metadata) == owner(mirror.metadata)
        and metadata.annotations.get(REMOTE_NAME) == mirror.metadata.annotations.get(REMOTE_NAME)
    )
