"""Which addresses are this cluster's own, so that no mirror leads its callers back into it.

A gateway's addresses come from whoever may write a Link, or from whoever answers for its name. With
a data plane that is not ours nothing is checked behind such an address, and the API server or any
Service here would get the callers' bytes. Services and the API server are known from the cluster;
ranges of pods and nodes only from whoever set it up.
"""

from collections.abc import Iterable

from isthmus.apps.controller.config import Config
from isthmus.model.addresses import Address, meant, refusal
from isthmus.model.links import LinkSpec
from isthmus.model.objects import EndpointSlice, Key, Service
from isthmus.runtime.cache import Cache, Event


class Local:
    """Knows the addresses of this cluster, and judges those of gateways."""

    def __init__(self, services: Cache[Key, Service]) -> None:
        self._services = services.index(_own)
        self._api_slices: Cache[Key, EndpointSlice] = Cache(lambda one: one.metadata.key)
        self._api_servers = self._api_slices.index(_endpoints)

    def fold_api_servers(self, event: Event[Key, EndpointSlice]) -> None:
        self._api_slices.fold(event)

    def refusal(self, host: str, spec: LinkSpec, config: Config) -> str | None:
        """Tell why a gateway cannot be at ``host``; None if it can.

        Our own Envoys check who is behind an address, so that with them it may be any that can be
        connected to.
        """
        why = refusal(host, allow_loopback=config.allow_loopback)
        address = meant(host)
        if why is not None or spec.data_plane == "envoy" or address is None:
            return why
        if self._services[address]:
            return f"the address of Service {min(self._services[address])} of this cluster"
        if self._api_servers[address]:
            return "this cluster's API server"
        found = next((one for one in config.local_ranges if address in one), None)
        return None if found is None else f"in {found}, which --local-cidr says is this cluster's"


def _own(service: Service) -> Iterable[Address]:
    spec = service.spec
    return filter(None, map(meant, {spec.cluster_ip, *spec.cluster_ips}))


def _endpoints(one: EndpointSlice) -> Iterable[Address]:
    return filter(None, (meant(ip) for each in one.endpoints for ip in each.addresses))
