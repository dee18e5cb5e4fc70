"""Link: "import what that cluster exports", as users write it and as we report on it."""

from typing import Literal

from msgspec import field

from isthmus.model.names import EXPORTED
from isthmus.model.objects import Condition, Metadata, Value
from isthmus.model.selectors import Selector


class Gateway(Value, frozen=True, kw_only=True):
    """Where the target's gateway answers. ``identity`` is for Linkerd's proxies only."""

    addresses: tuple[str, ...] = ()
    port: int = 4143
    identity: str = ""


class Probe(Value, frozen=True, kw_only=True):
    """How the gateway's health is asked for; periods are Go-style durations ("3s")."""

    period: str = "3s"
    timeout: str = "5s"
    failure_threshold: int = 3


class Limits(Value, frozen=True, kw_only=True):
    services: int = 10_000


class LinkSpec(Value, frozen=True, kw_only=True):
    gateway: Gateway = Gateway()
    via: Literal["gateway", "api"] = "gateway"
    data_plane: Literal["envoy", "linkerd", "external"] = "envoy"
    credentials_secret: str = ""
    cluster_domain: str = "cluster.local"
    enable_headless_services: bool = False
    selector: Selector = Selector(match_labels={EXPORTED: "true"})
    naming: str = "{service}-{cluster}"
    endpoint_naming: str = "{hostname}-{cluster}"
    create_namespaces: bool = False
    allowed_namespaces: tuple[str, ...] = ()
    excluded_labels: tuple[str, ...] = ()
    excluded_annotations: tuple[str, ...] = ()
    probe: Probe = Probe()
    limits: Limits = Limits()


class RefusedExport(Value, frozen=True, kw_only=True):
    namespace: str
    name: str
    reason: str
    message: str = ""


class LinkStatus(Value, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    cluster_uid: str = field(default="", name="clusterUID")
    mirrors: int | None = None  # so that none at all is written, too
    refused: tuple[RefusedExport, ...] = ()
    refused_count: int | None = None
    stale_since: str | None = None


class Link(Value, frozen=True, kw_only=True):
    """Named after the target cluster."""

    metadata: Metadata
    spec: LinkSpec = LinkSpec()
    status: LinkStatus = LinkStatus()

    @property
    def cluster(self) -> str:
        return self.metadata.name

    @property
    def uid(self) -> str:
        return self.metadata.uid
