"""What can be said about a controller before it starts, checked once and never changed."""

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal

from isthmus.kube.election import identity
from isthmus.model.errors import Misused
from isthmus.model.identities import MESH_DOMAIN, NotAnIdentity, check_mesh_domain
from isthmus.model.syntax import is_dns_label, is_subdomain


class BadOption(Misused):
    """A controller cannot run like this. Says which option, and what it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """``cluster_name`` is what other clusters call this one; it stands in certificates."""

    cluster_name: str
    namespace: str = "isthmus"  # of the controller itself, its Lease and its links' Secrets
    mesh_domain: str = MESH_DOMAIN  # the same in all clusters that are to be joined
    cluster_domain: str = "cluster.local"  # of this cluster's own Services
    identity: str = field(default_factory=identity)
    workers: int = 16
    allow_loopback: bool = False  # may targets be on this machine? For tests and the demo
    local_cidrs: tuple[str, ...] = ()  # this cluster's pods and nodes: no gateway can be there
    address: str | None = None  # where the ports below are opened; None: at all addresses
    admin_port: int | None = 9990  # None: no admin server
    sign_port: int | None = 8443  # certificates and the catalogue; None: neither
    ads_port: int | None = 8444  # what proxies are told; None: nothing
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text"] = "json"

    def __post_init__(self) -> None:
        for option, value in (("cluster-name", self.cluster_name), ("namespace", self.namespace)):
            if not is_dns_label(value):
                raise BadOption(
                    f"--{option} {value[:63]!r}: must be a DNS label: lower-case letters, digits "
                    "and dashes, at most 63"
                )
        try:
            check_mesh_domain(self.mesh_domain)
        except NotAnIdentity as error:
            raise BadOption(f"--mesh-domain: {error}") from error
        if not is_subdomain(self.cluster_domain):
            raise BadOption(f"--cluster-domain {self.cluster_domain[:63]!r}: must be a DNS name")
        for one in self.local_cidrs:
            try:
                ip_network(one)
            except ValueError as error:
                raise BadOption(f"--local-cidr {one[:63]!r}: {error}"[:200]) from error
        if self.workers < 1:
            raise BadOption(f"--workers {self.workers}: at least one is needed")

    @property
    def local_ranges(self) -> tuple[IPv4Network | IPv6Network, ...]:
        return tuple(map(ip_network, self.local_cidrs))
