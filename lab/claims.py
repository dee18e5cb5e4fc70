"""Ports that belong to one running lab, and to nobody once it has died.

A claim is a Unix socket bound to an abstract name: the kernel gives each name out once, and
takes it back when its holder ends, however it ends. No lock file can be left behind.
"""

import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256

from isthmus.model.errors import Permanent

# Below the range from which Linux picks the ports of outgoing connections (32768 and up), so
# that no stranger's connection can take a port while a restarted server is away from it.
PORTS = range(15000, 20000)


class NoPorts(Permanent):
    """So many ports are in use that none is left for a new lab."""


def claim(name: str) -> socket.socket | None:
    """Hold ``name`` until the socket is closed; None when someone else holds it."""
    # A hash, because the kernel takes no name of more than 107 bytes, and a path may be longer.
    abstract = f"\0isthmus.dev/lab/{sha256(name.encode()).hexdigest()}"
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        held.bind(abstract)
    except OSError as error:
        held.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return held


@contextmanager
def free_ports(count: int) -> Iterator[tuple[int, ...]]:
    """``count`` loopback ports that no other lab will use until the context ends."""
    with ExitStack() as held:
        found: list[int] = []
        for port in PORTS:
            claimed = claim(f"port/{port}")
            if claimed is None:
                continue
            held.enter_context(claimed)
            if _can_bind(port):
                found.append(port)
            if len(found) == count:
                break
        if len(found) < count:
            raise NoPorts(f"{len(found)} of {count} ports are free on loopback; end other labs")
        yield tuple(found)


def _can_bind(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of an earlier run that linger do not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
