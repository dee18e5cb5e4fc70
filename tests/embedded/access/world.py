"""Stored objects, a clock and a service account called bob, for tests of access."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from isthmus.embedded.access.deciding import Access
from isthmus.embedded.access.principals import Attributes, User
from isthmus.embedded.access.tokens import TokenKey
from isthmus.model.wire import JsonObject

RBAC = "rbac.authorization.k8s.io"
KEY = TokenKey()
BOB = User(name="system:serviceaccount:web:bob", groups=("system:authenticated",))


@dataclass
class World:
    """Stored objects and a clock, for an Access that knows nothing else."""

    objects: dict[tuple[str, str, str, str], JsonObject] = field(default_factory=dict)
    now: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def add(self, group: str, plural: str, name: str, **rest: object) -> JsonObject:
        namespace = str(rest.pop("namespace", ""))
        metadata = {"name": name, "uid": rest.pop("uid", f"uid-of-{name}")}
        if namespace:
            metadata["namespace"] = namespace
        obj = {"metadata": metadata, **rest}
        self.objects[group, plural, namespace, name] = obj
        return obj

    def find(self, group: str, plural: str, namespace: str, name: str) -> JsonObject | None:
        return self.objects.get((group, plural, namespace, name))

    def all(self, group: str, plural: str, namespace: str | None = None) -> Iterable[JsonObject]:
        for (of, kind, home, _), obj in self.objects.items():
            if (of, kind) == (group, plural) and namespace in (None, home):
                yield obj

    def access(self) -> Access:
        return Access(self, admin_token="admin-token", wall=lambda: self.now, key=KEY)


def with_bob() -> World:
    world = World()
    world.add("", "serviceaccounts", "bob", namespace="web")
    world.add("", "pods", "bob-0", namespace="web", spec={"serviceAccountName": "bob"})
    return world


def token_of(access: Access, **spec: object) -> str:
    return str(access.tokens.request("web", "bob", {"spec": spec})["status"]["token"])


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def bound_to_pod(uid: str = "") -> JsonObject:
    return {"kind": "Pod", "apiVersion": "v1", "name": "bob-0", "uid": uid}


def pods(verb: str, name: str = "", subresource: str = "", namespace: str = "web") -> Attributes:
    return Attributes(
        verb=verb, resource="pods", name=name, subresource=subresource, namespace=namespace
    )


READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
