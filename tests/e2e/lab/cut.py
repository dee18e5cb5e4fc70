"""Cuts the wire between two clusters as a broken network does: packets vanish, nobody is told."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from lab.clusters import Cluster
from lab.node.boot import entering

TABLE = "story"


@contextmanager
def cut(one: Cluster, other: Cluster) -> Iterator[None]:
    """Drop everything between the nodes of both; each goes on reaching everybody else."""
    rules = f"""
        table ip {TABLE} {{
            chain arriving {{
                type filter hook prerouting priority raw;
                ip saddr {other.address} drop
            }}
            chain leaving {{
                type filter hook postrouting priority srcnat + 1;
                ip daddr {other.address} drop
            }}
        }}
    """
    _nft(one, "-f", "-", given=rules)
    try:
        yield
    finally:
        _nft(one, "delete", "table", "ip", TABLE)


def _nft(cluster: Cluster, *words: str, given: str = "") -> None:
    command = [*entering(cluster, "--net"), "nft", *words]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
