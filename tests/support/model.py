"""A model of the source's API server, just large enough to carry out a plan."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count

from msgspec.structs import replace

from isthmus.core.plan import plan
from isthmus.core.world import Address, LinkView, World
from isthmus.model.actions import Action, Create, Delete, Report, Update, Written
from isthmus.model.objects import EndpointSlice, Key, Namespace, Service
from tests.support.builders import by_service, claimed, listeners, namespace


@dataclass(slots=True)
class Source:
    """Stores what is written, assigns addresses, and refuses what a real server would refuse."""

    services: dict[Key, Service] = field(default_factory=dict)
    slices: dict[Key, EndpointSlice] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=lambda: {"shop": namespace("shop")})
    egress: tuple[Address, ...] = (Address("10.0.0.7"),)
    _serial: "count[int]" = field(default_factory=lambda: count(1))

    def world(self, *views: LinkView) -> World:
        return self._with_slices(
            World(
                links={one.link.uid: one for one in views},
                claims=claimed(views),
                namespaces=self.namespaces,
                services=self.services,
                egress=self.egress,
            )
        )

    def round(self, *views: LinkView) -> list[Action]:
        """Plan every key once, carrying out each plan before the next; return all actions."""
        done: list[Action] = []
        seen = self.world(*views)
        for key in sorted(seen.claims.keys() | seen.services.keys() | seen.slices.keys()):
            actions = plan(seen, key)
            self.carry_out(actions)
            seen = self._with_slices(seen) if actions else seen
            done += actions
        return done

    def settle(self, *views: LinkView) -> list[Action]:
        """Let two rounds pass; return what there is to say or do in a third."""
        self.round(*views)
        self.round(*views)
        return self.round(*views)

    def edit(self, value: Service | EndpointSlice) -> None:
        """Write what a user writes."""
        self._store(value)

    def remove(self, value: Service | EndpointSlice) -> None:
        """Remove what a user removes."""
        self._kind_of(value).pop(value.metadata.key)

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Create(Namespace() as made):
                    assert made.metadata.name not in self.namespaces
                    self.namespaces[made.metadata.name] = made
                case Create(value):
                    assert value.metadata.key not in self._kind_of(value), f"exists: {value}"
                    self._store(value)
                case Update(value):
                    self._check_unchanged(value)
                    self._store(value)
                case Delete(value):
                    self._check_unchanged(value)
                    del self._kind_of(value)[value.metadata.key]
                case Report():
                    pass

    def _kind_of(self, value: Written) -> dict[Key, Service] | dict[Key, EndpointSlice]:
        assert not isinstance(value, Namespace), "namespaces are made, and no more"
        return self.services if isinstance(value, Service) else self.slices

    def _check_unchanged(self, value: Written) -> None:
        stored = self._kind_of(value)[value.metadata.key]
        assert stored.metadata.uid == value.metadata.uid
        assert stored.metadata.resource_version == value.metadata.resource_version

    def _store(self, value: Written) -> None:
        number = next(self._serial)
        assert value.metadata.namespace in self.namespaces
        metadata = replace(
            value.metadata,
            uid=value.metadata.uid or f"local-{number}",
            resource_version=str(number),
        )
        match value:
            case Service():
                ip = value.spec.cluster_ip or f"10.96.{number // 250}.{number % 250 + 1}"
                spec = replace(value.spec, cluster_ip=ip, cluster_ips=(ip,), ip_families=("IPv4",))
                self.services[metadata.key] = replace(value, metadata=metadata, spec=spec)
            case EndpointSlice():
                assert len(value.endpoints) <= 1000
                self.slices[metadata.key] = replace(value, metadata=metadata)

    def _with_slices(self, seen: World) -> World:
        slices = self.slices.values()
        return replace(seen, slices=by_service(slices), listeners=listeners(slices))
