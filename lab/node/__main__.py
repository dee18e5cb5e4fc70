"""``python -m lab.node NAME``: the first process of a node, in namespaces of its own.

When it ends, however it ends, the kernel ends everything else in its process namespace, and the
mounts, network devices and firewall rules of its other namespaces go with them.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from lab.clusters import HOST, Cluster, named
from lab.node.keeping import Keeper, keep
from lab.node.programs import programs
from lab.node.settings import FIXED_PLACES, Places
from lab.process import Supervisor

PATIENCE = 30.0  # seconds for the other end to plug the wire in


def main() -> None:
    cluster = named(sys.argv[1])
    child = os.fork()
    if child == 0:
        run(cluster)
    # The first process inherits every orphan: containers' shims above all. It has to bury them.
    while True:
        ended, status = os.wait()
        if ended == child:
            sys.exit(os.waitstatus_to_exitcode(status) or 1)


def run(cluster: Cluster) -> None:
    places = Places(cluster.folder)
    _mount(places)
    _plug_in(cluster)
    supervisor = Supervisor(logs=places.logs)
    keep(Keeper(programs(cluster), supervisor, places.held), places.status)


def _mount(places: Places) -> None:
    """Give the node its own folders in those places that its programs insist on."""
    for place in (Path("/run"), *FIXED_PLACES):
        _do("mount", "-t", "tmpfs", "-o", "mode=755", "lab", str(place))
    _do("mount", "--bind", str(places.logs), "/var/log")


def _plug_in(cluster: Cluster) -> None:
    deadline = time.monotonic() + PATIENCE
    while "eth0:" not in Path("/proc/self/net/dev").read_text():
        if time.monotonic() > deadline:
            sys.exit(f"{cluster.name}: nobody connected the node to the network")
        time.sleep(0.02)
    _do("ip", "link", "set", "lo", "up")
    _do("ip", "address", "add", f"{cluster.address}/{HOST.network.prefixlen}", "dev", "eth0")
    _do("ip", "link", "set", "eth0", "up")
    # There is no way out of the lab. The node's own calls to Services need some route to exist
    # before kube-proxy turns them elsewhere.
    _do("ip", "route", "add", cluster.services, "dev", "eth0")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def _do(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
