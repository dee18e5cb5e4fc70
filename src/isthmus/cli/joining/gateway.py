"""Where another cluster reaches a gateway: what its Service says, or what somebody else does."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.model.addresses import refusal
from isthmus.model.errors import Permanent
from isthmus.model.links import Gateway
from isthmus.model.objects import Service, ServicePort
from isthmus.model.quoting import one_line

_TLS = "tls"  # how the port is called that lets callers in
_SAY = "say where it can be reached with --gateway-address"


class NoGatewayAddress(Permanent):
    """Nobody knows where the gateway can be reached. Names its Service, and the way out."""


@dataclass(frozen=True, slots=True)
class Said:
    """What was typed about a gateway; it goes before what its Service says."""

    addresses: tuple[str, ...] = ()
    port: int | None = None

    @property
    def is_complete(self) -> bool:
        return bool(self.addresses) and self.port is not None


def reached(said: Said, service: Service | None, name: str) -> Gateway:
    """Return where a gateway is reached; ``service`` is that of ``name``, None if it is not seen.

    Raises :class:`NoGatewayAddress`.
    """
    addresses = said.addresses or _addresses(service, name)
    for one in addresses:
        # Its controller may run on this machine, and judges by itself whether that is so.
        why = refusal(one, allow_loopback=True)
        if why is not None:
            raise NoGatewayAddress(f"no gateway can be at {one_line(one, 120)!r}: it is {why}")
    port = said.port
    if port is None:
        port = Gateway().port if service is None else _port(service, name)
    return Gateway(addresses=tuple(dict.fromkeys(addresses)), port=port)


def _addresses(service: Service | None, name: str) -> Sequence[str]:
    if service is None:
        raise NoGatewayAddress(
            f"there is no Service {name} to be seen; is Isthmus installed there? Else {_SAY}"
        )
    ingress = service.status.load_balancer.ingress
    found = [one.ip or one.hostname for one in ingress if one.ip or one.hostname]
    if found or service.spec.external_ips:
        return found or service.spec.external_ips
    kind = service.spec.type
    match kind:
        case "LoadBalancer":
            why = "has been given no address yet; wait until it has, or"
        case "NodePort":
            why = "has no address of its own; name one of its nodes, and"
        case _:
            why = "cannot be reached from outside; make it a LoadBalancer, or"
    raise NoGatewayAddress(f"Service {name} of type {kind} {why} {_SAY}")


def _port(service: Service, name: str) -> int:
    """Return the port of a Service that lets callers in, as those outside see it."""
    tcp = [one for one in service.spec.ports if one.protocol == "TCP"]
    found = tcp if len(tcp) == 1 else [one for one in tcp if _TLS in (one.name, one.target_port)]
    if len(found) != 1:
        raise NoGatewayAddress(
            f"Service {name} has {len(tcp)} TCP ports, and none of them alone is called {_TLS!r}; "
            "say which it is with --gateway-port"
        )
    return _outside(found[0], service)


def _outside(port: ServicePort, service: Service) -> int:
    is_behind_nodes = service.spec.type == "NodePort" and port.node_port
    return port.node_port if is_behind_nodes else port.port
