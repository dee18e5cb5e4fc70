"""What a controller shows on its admin pages, as it writes them and as others read them.

Each is JSON, as small as its subject allows, and holds nothing that is secret.
"""

from datetime import datetime
from typing import Literal

from isthmus.model.objects import Value

# How a proxy stands to one resource: it has what it should, it has something older or nothing yet,
# or it does not take it.
State = Literal["held", "older", "missing", "refused"]


class RefusedResource(Value, frozen=True, kw_only=True):
    """What a proxy does not take, in Envoy's own words."""

    type: str
    name: str
    message: str


class HeldResource(Value, frozen=True, kw_only=True, omit_defaults=False):
    """One resource of a Service, at one proxy."""

    type: str
    name: str
    state: State
    message: str = ""


class Proxy(Value, frozen=True, kw_only=True, omit_defaults=False):
    """A proxy that is connected to this replica; others may be connected to others."""

    name: str
    role: str
    identity: str
    since: datetime  # when it connected
    quiet: float  # seconds since it has said something
    pending: int  # resources that are on their way to it, or wait for others
    refused_count: int = 0
    refused: tuple[RefusedResource, ...] = ()  # the first of them
    resources: tuple[HeldResource, ...] = ()  # those of the Service that was asked about


class Listener(Value, frozen=True, kw_only=True, omit_defaults=False):
    """Where the egress listens for one port of a mirror."""

    port: int
    link: str
    authority: str
    protocol: str


class Route(Value, frozen=True, kw_only=True, omit_defaults=False):
    """What the gateway serves of an export: under which name, from how many places, for whom."""

    authority: str
    protocol: str
    places: int
    accounts: tuple[str, ...] = ()  # SPIFFE IDs
    prefixes: tuple[str, ...] = ()  # of SPIFFE IDs


class Proxies(Value, frozen=True, kw_only=True, omit_defaults=False):
    """All proxies of a replica; and, if it was asked about a Service, what is decided for that."""

    replica: str
    cluster: str
    version: str  # of the controller
    time: datetime  # by its own clock, which stamps the certificates that it signs
    problems: tuple[str, ...] = ()  # with its issuer and anchors
    telling: bool = False  # whether enough is known to tell proxies anything
    proxies: tuple[Proxy, ...] = ()
    left_out: int = 0  # proxies that are not shown
    listeners: tuple[Listener, ...] = ()
    routes: tuple[Route, ...] = ()


class Attempt(Value, frozen=True, kw_only=True, omit_defaults=False):
    """One place that was tried. If nobody answered, ``reason`` says why in one word."""

    address: str
    port: int
    answered: bool
    milliseconds: float = 0.0
    reason: str = ""
    message: str = ""


class Resolved(Value, frozen=True, kw_only=True, omit_defaults=False):
    """A host name of a gateway, and where it leads; or why nowhere."""

    host: str
    addresses: tuple[str, ...] = ()
    message: str = ""


class Probe(Value, frozen=True, kw_only=True, omit_defaults=False):
    """What happened when a gateway, or the egress' listeners of a mirror, were tried."""

    of: str
    age: float  # seconds ago
    identity: str = ""  # that a gateway had to prove; empty where nobody could ask for it
    hosts: tuple[Resolved, ...] = ()
    attempts: tuple[Attempt, ...] = ()
