"""A model of the source's API server, just large enough to carry out a plan."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

from msgspec.structs import replace

from isthmus.core.plan import plan
from isthmus.core.world import LinkView, World
from isthmus.model.actions import Action, Create, Delete, Report, Update, Written
from isthmus.model.objects import EndpointSlice, Key, Namespace, Service
from tests.support.builders import world


@dataclass(slots=True)
class Source:
    """Stores what is written, assigns addresses, and refuses what a real server would refuse."""

    services: dict[Key, Service] = field(default_factory=dict)
    slices: dict[Key, EndpointSlice] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=lambda: {"shop"})
    egress: tuple[str, ...] = ("10.0.0.7",)
    _serial: "count[int]" = field(default_factory=lambda: count(1))

    def world(self, *views: LinkView) -> World:
        return world(
            *views,
            services=self.services.values(),
            slices=self.slices.values(),
            namespaces=self.namespaces,
            egress=self.egress,
        )

    def keys(self, seen: World) -> list[Key]:
        """Return every name that a plan could be about, in an order of no meaning."""
        return sorted(seen.claims.keys() | seen.services.keys() | seen.slices.keys())

    def round(self, *views: LinkView) -> list[Action]:
        """Plan every key once, carrying out each plan before the next; return all actions."""
        done: list[Action] = []
        for key in self.keys(self.world(*views)):
            actions = plan(self.world(*views), key)
            self.carry_out(actions)
            done += actions
        return done

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Create(value):
                    assert not self._holds(value), f"exists: {value}"
                    self._store(value)
                case Update(value):
                    assert self._holds(value), f"missing: {value}"
                    self._store(value)
                case Delete(value):
                    assert self._holds(value), f"missing: {value}"
                    self._remove(value)
                case Report():
                    pass

    def _holds(self, value: Written) -> bool:
        match value:
            case Service():
                return value.metadata.key in self.services
            case EndpointSlice():
                return value.metadata.key in self.slices
            case Namespace():
                return value.metadata.name in self.namespaces

    def _store(self, value: Written) -> None:
        match value:
            case Service():
                assert value.metadata.namespace in self.namespaces
                self.services[value.metadata.key] = self._with_address(value)
            case EndpointSlice():
                assert len(value.endpoints) <= 1000
                self.slices[value.metadata.key] = value
            case Namespace():
                self.namespaces.add(value.metadata.name)

    def _with_address(self, value: Service) -> Service:
        number = next(self._serial)
        ip = value.spec.cluster_ip or f"10.96.{number // 250}.{number % 250 + 1}"
        return replace(
            value,
            metadata=replace(value.metadata, uid=value.metadata.uid or f"local-{number}"),
            spec=replace(value.spec, cluster_ip=ip, cluster_ips=(ip,), ip_families=("IPv4",)),
        )

    def _remove(self, value: Written) -> None:
        match value:
            case Service():
                del self.services[value.metadata.key]
            case EndpointSlice():
                del self.slices[value.metadata.key]
            case Namespace():
                self.namespaces.remove(value.metadata.name)
