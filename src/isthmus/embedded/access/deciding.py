"""Decides who a request comes from and whether it may be served, as a real API server does."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hmac import compare_digest

from isthmus.embedded.access import rbac
from isthmus.embedded.access.issuing import Doubt, Issuer, Proven
from isthmus.embedded.access.principals import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    Attributes,
    Objects,
    User,
)
from isthmus.embedded.access.tokens import TokenKey
from isthmus.embedded.status import Refusal
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject

PUBLIC_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})
ADMIN = User(name="kubernetes-admin", groups=(MASTERS, AUTHENTICATED))


class Access:
    """Authentication by bearer token and authorization by RBAC, for one cluster.

    ``objects`` is consulted at every request, so that a deleted pod, service account or
    binding ends what it allowed at once.
    """

    def __init__(
        self,
        objects: Objects,
        *,
        admin_token: str,
        wall: Callable[[], datetime],
        domain: str = "cluster.local",
        key: TokenKey | None = None,
    ) -> None:
        self._objects = objects
        self._admin_token = admin_token
        self._wall = wall
        issuer = f"https://kubernetes.default.svc.{domain}"
        self.tokens = Issuer(issuer, objects, key or TokenKey(), wall)

    def authenticate(self, headers: Mapping[str, str], path: str = "") -> User:
        """The user behind ``Authorization``; refuses with 401 what proves nothing.

        Header names may be in any case. Without a credential only the public paths are served.
        """
        given = {name.lower(): value for name, value in headers.items()}
        user = self._authenticated(given.get("authorization", ""), path)
        if "impersonate-user" not in given:
            return user
        return self._impersonated(user, given)

    def _authenticated(self, credential: str, path: str) -> User:
        scheme, _, token = credential.strip().partition(" ")
        if scheme.lower() == "bearer" and not token:
            scheme = ""  # an empty token is none
        if not scheme and path in PUBLIC_PATHS:
            return ANONYMOUS
        if scheme.lower() != "bearer":
            raise unauthorized()
        try:
            return self.prove(token.strip(), (self.tokens.name,)).user
        except Doubt:
            raise unauthorized() from None

    def _impersonated(self, user: User, headers: Mapping[str, str]) -> User:
        """Whom ``user`` wants to be taken for (``kubectl --as``), if that is allowed."""
        name = headers["impersonate-user"]
        groups = [g.strip() for g in headers.get("impersonate-group", "").split(",") if g.strip()]
        match name.split(":"):
            case ["system", "serviceaccount", namespace, account]:
                wanted = Attributes(
                    verb="impersonate",
                    resource="serviceaccounts",
                    namespace=namespace,
                    name=account,
                )
                groups = groups or ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
            case _:
                wanted = Attributes(verb="impersonate", resource="users", name=name)
        self.authorize(user, wanted)
        for group in groups if "impersonate-group" in headers else ():
            self.authorize(user, Attributes(verb="impersonate", resource="groups", name=group))
        if name == ANONYMOUS.name:
            return ANONYMOUS
        return User(name=name, groups=tuple(dict.fromkeys((*groups, AUTHENTICATED))))

    def allowed(self, user: User, wanted: Attributes) -> bool:
        return self.reason(user, wanted) is not None

    def authorize(self, user: User, wanted: Attributes) -> None:
        """Refuse with 403 and the real server's message what no rule allows."""
        if not self.allowed(user, wanted):
            raise forbidden(user, wanted)

    def reason(self, user: User, wanted: Attributes) -> str | None:
        """Why it is allowed, or nothing."""
        if user == ANONYMOUS:
            return "public" if wanted.path in PUBLIC_PATHS and not wanted.resource else None
        return rbac.reason(user, wanted, self._objects)

    def rules(self, user: User, namespace: str) -> list[JsonObject]:
        """Everything that ``user`` may do in ``namespace``."""
        return rbac.rules(user, namespace, self._objects)

    def prove(self, token: str, audiences: Sequence[str]) -> Proven:
        """Check a token for one of ``audiences``; raise ``Doubt`` with the reason."""
        # A header may hold any bytes; those that are no text reach us as surrogates (PEP 383).
        if compare_digest(token.encode(errors="surrogatepass"), self._admin_token.encode()):
            return Proven(ADMIN, tuple(audiences))
        return self.tokens.prove(token, audiences)

    def timestamp(self) -> str:
        """Now, as objects show it."""
        return second_time(self._wall())


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(user: User, wanted: Attributes) -> Refusal:
    """403, worded as the real server does it."""
    if not wanted.resource:
        what = f'path "{wanted.path}"'
        message = f'forbidden: User "{user.name}" cannot {wanted.verb} {what}'
        return Refusal(403, "Forbidden", message)
    resource = "/".join(filter(None, (wanted.resource, wanted.subresource)))
    scope = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    qualified = ".".join(filter(None, (wanted.resource, wanted.group)))
    subject = f'{qualified} "{wanted.name}"' if wanted.name else qualified
    return Refusal(
        403,
        "Forbidden",
        f'{subject} is forbidden: User "{user.name}" cannot {wanted.verb} resource "{resource}" '
        f'in API group "{wanted.group}" {scope}',
        group=wanted.group,
        kind=wanted.resource,
        name=wanted.name,
    )
