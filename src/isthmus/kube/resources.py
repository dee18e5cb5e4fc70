"""The kinds we talk about, as data: where each one lives and what it decodes into."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar
from urllib.parse import quote

from isthmus.kube.errors import Rejected
from isthmus.model import grants, links, objects, reviews
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Generic[T]):
    """One kind in one version of one group, and the type that holds an object of it."""

    type: type[T]
    kind: str
    plural: str
    group: str = ""  # "" is the core group
    version: str = "v1"
    namespaced: bool = True
    secret: bool = False  # what the server says about its content may quote a secret

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    def collection(self, namespace: str = "") -> str:
        """Return the path of all objects, or of those in ``namespace``."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespaced and namespace:
            return f"{root}/namespaces/{_segment(namespace)}/{self.plural}"
        return f"{root}/{self.plural}"

    def path(self, key: Key, subresource: str = "") -> str:
        """Return the path of one object, or of a subresource of it."""
        if self.namespaced and not key.namespace:
            raise Rejected(f"{self.plural} {key.name}: the namespace is missing")
        own = f"{self.collection(key.namespace)}/{_segment(key.name)}"
        return f"{own}/{subresource}" if subresource else own


@lru_cache(maxsize=256)  # namespaces come again and again
def _segment(name: str) -> str:
    """Quote ``name`` as one step of a path.

    An empty name would turn the deletion of an object into that of its whole collection, and
    dots would climb to another one, so neither may ever reach a server.
    """
    if name in ("", ".", "..") or "/" in name or "%" in name:
        raise Rejected(f"{name[:63]!r} cannot be the name of an object")
    return quote(name, safe="")


def untyped(api_version: str, kind: str, plural: str, *, namespaced: bool) -> Resource[JsonObject]:
    """A kind whose objects stay plain JSON: for manifests that we pass on unread."""
    group, _, version = api_version.rpartition("/")
    return Resource(
        type=dict, kind=kind, plural=plural, group=group, version=version, namespaced=namespaced
    )


SERVICES = Resource(type=objects.Service, kind="Service", plural="services")
ENDPOINT_SLICES = Resource(
    type=objects.EndpointSlice,
    kind="EndpointSlice",
    plural="endpointslices",
    group="discovery.k8s.io",
)
NAMESPACES = Resource(
    type=objects.Namespace, kind="Namespace", plural="namespaces", namespaced=False
)
SECRETS = Resource(type=objects.Secret, kind="Secret", plural="secrets", secret=True)
CONFIG_MAPS = Resource(type=objects.ConfigMap, kind="ConfigMap", plural="configmaps")
SERVICE_ACCOUNTS = Resource(
    type=objects.ServiceAccount, kind="ServiceAccount", plural="serviceaccounts"
)
PODS = Resource(type=objects.Pod, kind="Pod", plural="pods")
LEASES = Resource(type=objects.Lease, kind="Lease", plural="leases", group="coordination.k8s.io")
EVENTS = Resource(type=objects.Event, kind="Event", plural="events", group="events.k8s.io")
LINKS = Resource(
    type=links.Link,
    kind="Link",
    plural="links",
    group="isthmus.dev",
    version="v1alpha1",
    namespaced=False,
)
GRANTS = Resource(
    type=grants.Grant,
    kind="Grant",
    plural="grants",
    group="isthmus.dev",
    version="v1alpha1",
    namespaced=False,
)
TOKEN_REVIEWS = Resource(
    type=reviews.TokenReview,
    kind="TokenReview",
    plural="tokenreviews",
    group="authentication.k8s.io",
    namespaced=False,
    secret=True,
)
TOKEN_REQUESTS = Resource(  # a subresource of serviceaccounts: see Client.request_token
    type=reviews.TokenRequest,
    kind="TokenRequest",
    plural="serviceaccounts",
    group="authentication.k8s.io",
    secret=True,
)
SELF_ACCESS_REVIEWS = Resource(
    type=reviews.SelfSubjectAccessReview,
    kind="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    group="authorization.k8s.io",
    namespaced=False,
)
