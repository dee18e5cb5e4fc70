"""Where a port answers on a machine that may keep the low ones to root.

The rule: a port that this process may not bind answers at 64000 more. It holds for pods and
Service addresses alike, EndpointSlices and SRV records say the port that was really bound, and
calls made through the machine follow it. 64000 and above is neither chosen by Linux for outgoing
connections nor by us for the egress' listeners.
"""

import errno
import socket
from dataclasses import dataclass
from pathlib import Path

MOVED_BY = 64000
_USUAL_LOWEST = 1024
_SETTING = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")


@dataclass(frozen=True, slots=True)
class Ports:
    """``lowest`` is the first port that may be bound."""

    lowest: int

    def at(self, port: int) -> int:
        """Where ``port`` answers."""
        return port if port >= self.lowest else port + MOVED_BY


def permitted() -> Ports:
    """What this process may bind, found by trying: capabilities count as much as settings."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", 1))
        except OSError as error:
            if error.errno == errno.EACCES:
                return Ports(_lowest())
    return Ports(1)


def _lowest() -> int:
    try:
        return int(_SETTING.read_text())
    except (OSError, ValueError):
        return _USUAL_LOWEST
