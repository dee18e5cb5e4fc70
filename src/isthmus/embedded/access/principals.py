"""Who asks for what: the values that authentication hands to authorization."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from isthmus.model.wire import JsonObject

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """The one who asks, as ``TokenReview`` and ``SelfSubjectReview`` show it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def info(self) -> JsonObject:
        """The API's ``UserInfo``; empty parts are left out, as the real server does."""
        shown: JsonObject = {"username": self.name}
        if self.uid:
            shown["uid"] = self.uid
        if self.groups:
            shown["groups"] = list(self.groups)
        if self.extra:
            shown["extra"] = {key: list(values) for key, values in self.extra.items()}
        return shown


ANONYMOUS = User(name="system:anonymous", groups=(UNAUTHENTICATED,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """What is asked for: a resource, or (when ``resource`` is empty) a path."""

    verb: str  # get, list, watch, create, update, patch, delete or deletecollection
    path: str = ""
    group: str = ""
    resource: str = ""  # the plural
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Objects(Protocol):
    """The stored objects, as far as deciding about access needs to see them."""

    def find(self, group: str, plural: str, namespace: str, name: str) -> JsonObject | None:
        """The object, or nothing; ``namespace`` is empty for cluster-scoped kinds."""
        ...

    def all(self, group: str, plural: str, namespace: str | None = None) -> Iterable[JsonObject]:
        """Every object of a kind, in one namespace or (``None``) in all."""
        ...
