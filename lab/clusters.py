"""The clusters of the lab, as values: one more cluster is one more value."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/srv/isthmus-lab")  # everything that a running lab keeps on disk
KUBECONFIG = ROOT / "kubeconfig"
PROGRAMS = ROOT / "bin"  # for a PATH: kubectl of the clusters' version, by its usual name
BRIDGE = "isthmus-lab"  # the wire between the nodes
HOST = ipaddress.ip_interface("10.213.0.1/24")  # this machine, on that wire
API_PORT = 6443


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster of one node; its ranges overlap with no other's, so that a route tells whose."""

    name: str
    address: str  # of the node, on the wire
    pods: str
    services: str

    @property
    def domain(self) -> str:
        return f"{self.name}.cluster.local"

    @property
    def url(self) -> str:
        return f"https://{self.address}:{API_PORT}"

    @property
    def api_address(self) -> str:
        """Where pods find the API server: by custom, the first address of the range."""
        return str(ipaddress.ip_network(self.services)[1])

    @property
    def dns_address(self) -> str:
        """Where pods find CoreDNS: by custom, the tenth address of the range."""
        return str(ipaddress.ip_network(self.services)[10])

    @property
    def folder(self) -> Path:
        return ROOT / self.name

    @property
    def cgroup(self) -> str:
        return f"/isthmus-lab/{self.name}"


EAST = Cluster(name="east", address="10.213.0.11", pods="10.221.0.0/16", services="10.231.0.0/16")
WEST = Cluster(name="west", address="10.213.0.12", pods="10.222.0.0/16", services="10.232.0.0/16")
NORTH = Cluster(name="north", address="10.213.0.13", pods="10.223.0.0/16", services="10.233.0.0/16")

CLUSTERS = (EAST, WEST, NORTH)
USUAL = (EAST, WEST)  # what comes up when nobody says otherwise


def named(name: str) -> Cluster:
    return next(cluster for cluster in CLUSTERS if cluster.name == name)
