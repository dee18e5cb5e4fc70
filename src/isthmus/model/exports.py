"""An export: a Service of another cluster, digested to what a mirror needs to know of it."""

from collections.abc import Mapping

from isthmus.model.objects import Key, Value


class Port(Value, frozen=True, kw_only=True):
    port: int
    name: str = ""
    target_port: int | str | None = None
    app_protocol: str | None = None


class NamedPod(Value, frozen=True, kw_only=True):
    """A pod that can be called by its own name."""

    hostname: str
    ready: bool = True


class Export(Value, frozen=True, kw_only=True):
    """What one exported Service offers. Ports are TCP; the pods are sorted by hostname."""

    namespace: str
    name: str
    uid: str
    version: str
    ports: tuple[Port, ...]
    headless: bool = False
    ready: bool = False
    pods: tuple[NamedPod, ...] = ()
    unnamed: bool = False  # a headless one that has addresses without a usable name, too
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    created: str = ""  # when, by the target's clock; the oldest have the first claim to a limit

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class Refused(Value, frozen=True, kw_only=True):
    """A Service that was selected for export and cannot be mirrored, with the reason."""

    namespace: str
    name: str
    reason: str  # one CamelCase word, for machines
    message: str

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)
