"""Puts an embedded cluster together and furnishes it like a fresh Kubernetes cluster."""

import random as chance
from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import IPv4Network

from isthmus.embedded import seed
from isthmus.embedded.access.deciding import Access
from isthmus.embedded.access.reviews import REVIEWS
from isthmus.embedded.api.executing import Execute
from isthmus.embedded.api.serving import Api
from isthmus.embedded.consequences import lifecycle
from isthmus.embedded.faults.rules import Faults
from isthmus.embedded.fronts.certificates import Authority
from isthmus.embedded.fronts.inprocess import InProcess
from isthmus.embedded.kinds.builtin import builtin
from isthmus.embedded.state.addresses import Addresses
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.state.registry import Registry
from isthmus.embedded.state.store import Store
from isthmus.kube.transport import Transport


def _now() -> datetime:
    return datetime.now(UTC)


class Cluster:
    """One in-memory Kubernetes API: a store behind an Api, seeded like a fresh cluster.

    Where a machine runs its pods, both ranges lie in 127/8, and ``loopback`` lets
    EndpointSlices name such addresses.
    """

    def __init__(
        self,
        name: str,
        *,
        domain: str = "cluster.local",
        service_range: str = "10.96.0.0/16",
        pod_range: str = "10.244.0.0/16",
        loopback: bool = False,
        wall: Callable[[], datetime] = _now,
        random: chance.Random | None = None,
    ) -> None:
        dice = random or chance.SystemRandom()
        self.name = name
        self.domain = domain
        self.service_range = service_range
        self.pod_range = pod_range
        # Clients verify certificates by the real time, whatever time it is in here.
        self.authority = Authority(name, datetime.now(UTC))
        self.store = Store()
        self.admin_token = f"{dice.getrandbits(128):032x}"
        self.plane = Plane(
            store=self.store,
            registry=Registry((*builtin(loopback=loopback), *REVIEWS)),
            addresses=Addresses(service_range, dice),
            wall=wall,
            random=dice,
            ca_pem=self.authority.pem,
        )
        self.access = Access(self.plane, admin_token=self.admin_token, wall=wall, domain=domain)
        self.api = Api(self.plane, self.access, lifecycle.settle, IPv4Network(pod_range))
        self.faults = Faults(self.api.handle, self.store)
        self.execute: Execute | None = None  # runs commands inside of pods, where those run
        seed.furnish(self.plane)
        lifecycle.settle(self.plane)

    def transport(self, token: str | None = None) -> Transport:
        """A client's way in, without sockets; as the administrator unless ``token`` is given."""
        return InProcess(self.faults, self.admin_token if token is None else token)
