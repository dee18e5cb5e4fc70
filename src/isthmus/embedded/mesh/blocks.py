"""Loopback addresses for clusters that several processes of this machine may start at a time.

A block is held by the name of a socket, which the kernel frees when its holder ends.
"""

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from isthmus.embedded.cluster import Cluster
from isthmus.model.errors import Permanent

COUNT = 16
_NETWORK = "127.251"
_NAME = "isthmus.dev/block"


class NoBlock(Permanent):
    """There are no addresses left."""


@dataclass(frozen=True, slots=True)
class Block:
    """Room for two clusters, each with a thousand pods and as many Services."""

    number: int

    def cluster(self, name: str, place: int) -> Cluster:
        """Make the cluster at a ``place`` from 0 to 1 of this block."""
        first = self.number * 16 + place * 8
        return Cluster(
            name,
            domain=domain(name),
            service_range=f"{_NETWORK}.{first}.0/22",
            pod_range=f"{_NETWORK}.{first + 4}.0/22",
            loopback=True,
        )


def domain(name: str) -> str:
    """The domain of a cluster's names."""
    return f"{name}.cluster.local"


@contextmanager
def claimed() -> Iterator[Block]:
    """A block that nobody else has."""
    for number in range(COUNT):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as held:
            try:
                held.bind(f"\0{_NAME}/{number}")
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            yield Block(number)
            return
    raise NoBlock(f"{COUNT} demos run on this machine already; end one of them")
