"""The names of a cluster: what its DNS knows, read from Services and EndpointSlices."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from isthmus.embedded.machine.ports import Ports
from isthmus.model.errors import Permanent
from isthmus.model.objects import Endpoint, EndpointSlice, Key, Service

NDOTS = 5  # a name with fewer dots is searched for first, as in every pod


class Unresolved(Permanent):
    """No name of the cluster means this."""


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """Where a named port answers: an SRV record."""

    name: str
    port: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a name that exists has: addresses, targets, or neither."""

    addresses: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True, slots=True)
class Zone:
    """The names under ``domain``."""

    domain: str
    services: Mapping[Key, Service]
    slices: Callable[[Key], Iterable[EndpointSlice]]
    ports: Ports

    def holds(self, name: str) -> bool:
        """Whether ``name`` is ours to tell about."""
        return f".{name}".endswith(f".{self.domain}")

    def find(self, name: str) -> Found | None:
        """What ``name`` has, in lower case and without its last dot; None: there is no such."""
        if not self.holds(name):
            return None
        *labels, kind = name.removesuffix(self.domain).rstrip(".").split(".")
        if kind != "svc":
            return None if kind else Found()
        match labels:
            case []:
                return Found()
            case [namespace]:
                known = any(key.namespace == namespace for key in self.services)
                return Found() if known else None
            case [service, namespace]:
                return self._service(Key(namespace, service))
            case [hostname, service, namespace]:
                return self._endpoint(Key(namespace, service), hostname)
            case [port, protocol, service, namespace]:
                return self._port(Key(namespace, service), port, protocol)
        return None

    def resolve(self, name: str, namespace: str) -> tuple[str, ...]:
        """The addresses that a pod of ``namespace`` gets for ``name``; raises ``Unresolved``."""
        for candidate in searched(name.lower(), namespace, self.domain):
            found = self.find(candidate)
            if found is not None and found.addresses:
                return found.addresses
        raise Unresolved(f"{name}: no such name in {self.domain}, seen from {namespace}")

    def _service(self, key: Key) -> Found | None:
        service = self.services.get(key)
        if service is None:
            return None
        match service.spec.cluster_ip:
            case "":
                return Found()
            case "None":
                ready = [endpoint.addresses[0] for _, endpoint in self._ready(key)]
                return Found(_sorted(ready), self._targets(service)) if ready else None
            case address:
                return Found((address,), self._targets(service))

    def _endpoint(self, key: Key, hostname: str) -> Found | None:
        found = [one.addresses[0] for _, one in self._ready(key) if _label(one) == hostname]
        return Found(_sorted(found)) if found and key in self.services else None

    def _port(self, key: Key, port: str, protocol: str) -> Found | None:
        service = self.services.get(key)
        if service is None or not (port.startswith("_") and protocol.startswith("_")):
            return None
        targets = self._targets(service, port[1:], protocol[1:].upper())
        return Found(targets=targets) if targets else None

    def _targets(
        self, service: Service, name: str | None = None, protocol: str | None = None
    ) -> tuple[Target, ...]:
        """The targets of all ports, or of the one that is meant."""
        key, spec = service.metadata.key, service.spec
        own = f"{key.name}.{key.namespace}.svc.{self.domain}"

        def meant(port_name: str, port_protocol: str) -> bool:
            return name in (None, port_name) and protocol in (None, port_protocol)

        if spec.cluster_ip == "None":
            targets = {
                Target(f"{_label(endpoint)}.{own}", port.port)
                for one, endpoint in self._ready(key)
                for port in one.ports
                if port.port and meant(port.name, port.protocol)
            }
        else:
            targets = {
                Target(own, self.ports.at(port.port))
                for port in spec.ports
                if meant(port.name, port.protocol)
            }
        return tuple(sorted(targets))

    def _ready(self, key: Key) -> Iterator[tuple[EndpointSlice, Endpoint]]:
        for one in self.slices(key):
            if one.address_type == "IPv4":
                for endpoint in one.endpoints:
                    if endpoint.conditions.ready is not False:
                        yield one, endpoint


def searched(name: str, namespace: str, domain: str) -> tuple[str, ...]:
    """The names that a resolver in a pod tries for ``name``, in order."""
    if name.endswith("."):
        return (name.rstrip("."),)
    path = (f"{namespace}.svc.{domain}", f"svc.{domain}", domain)
    longer = tuple(f"{name}.{suffix}" for suffix in path)
    return (name, *longer) if name.count(".") >= NDOTS else (*longer, name)


def _label(endpoint: Endpoint) -> str:
    """What an endpoint is called within its Service: by its address, if it has no host name."""
    return endpoint.hostname or endpoint.addresses[0].replace(".", "-")


def _sorted(addresses: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(addresses)))
