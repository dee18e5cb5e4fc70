"""The wire between nodes: a bridge on this machine, and a cable to each node."""

import subprocess
from ipaddress import ip_address

from lab.clusters import BRIDGE, HOST, Cluster
from lab.packages import NotPossibleHere


def lay() -> None:
    """Make the bridge where there is none, with this machine on it."""
    if exists(BRIDGE):
        return
    _ip("link", "add", BRIDGE, "type", "bridge")
    _ip("address", "add", str(HOST), "dev", BRIDGE)
    _ip("link", "set", BRIDGE, "up")


def connect(cluster: Cluster, pid: int) -> None:
    """Lead a cable from the bridge into the network namespace of process ``pid``, as eth0."""
    ours = cable(cluster)
    theirs = ("name", "eth0", "address", station(cluster), "netns", str(pid))
    _ip("link", "add", ours, "type", "veth", "peer", *theirs)
    _ip("link", "set", ours, "master", BRIDGE, "up")


def station(cluster: Cluster) -> str:
    """Return a node's own number on the wire, the same whenever it starts.

    Whoever has talked to it before remembers its number for half a minute, and would call another
    one in vain.
    """
    return ":".join(f"{byte:02x}" for byte in (2, 0, *ip_address(cluster.address).packed))


def disconnect(cluster: Cluster) -> None:
    """Take the cable away; the kernel does so, too, a moment after the node has died."""
    if exists(cable(cluster)):
        # It may go by itself in this very moment.
        subprocess.run(["ip", "link", "delete", cable(cluster)], capture_output=True, check=False)


def remove() -> None:
    if exists(BRIDGE):
        _ip("link", "delete", BRIDGE)


def cable(cluster: Cluster) -> str:
    return f"lab-{cluster.name}"


def exists(device: str) -> bool:
    asked = subprocess.run(["ip", "link", "show", device], capture_output=True, check=False)
    return asked.returncode == 0


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotPossibleHere(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
