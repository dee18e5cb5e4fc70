"""Grant: "that cluster may see and call these exports", as users write it and we report on it."""

from msgspec import field

from isthmus.model.objects import Condition, Metadata, Value
from isthmus.model.selectors import Selector


class From(Value, frozen=True, kw_only=True):
    """Which workloads of the source: those of any of the lists. None: nothing is said."""

    namespaces: tuple[str, ...] | None = None
    service_accounts: tuple[str, ...] | None = None  # as namespace/name


class To(Value, frozen=True, kw_only=True):
    """Which exports: those for which every line holds. None: the line is not there."""

    namespaces: tuple[str, ...] | None = None
    services: tuple[str, ...] | None = None  # as namespace/name
    selector: Selector | None = None


class GrantSpec(Value, frozen=True, kw_only=True):
    cluster: str
    from_: From = field(default=From(), name="from")
    to: To = To()


class GrantStatus(Value, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()


class Grant(Value, frozen=True, kw_only=True):
    """Lives in the target, and has a name that means nothing."""

    metadata: Metadata
    spec: GrantSpec
    status: GrantStatus = GrantStatus()

    @property
    def name(self) -> str:
        return self.metadata.name
