"""Decides who a request comes from and whether it may be served, as a real API server does."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hmac import compare_digest

from isthmus.embedded.access import rbac
from isthmus.embedded.access.principals import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    Attributes,
    Objects,
    User,
)
from isthmus.embedded.access.tokens import TokenKey
from isthmus.embedded.kinds import refusals
from isthmus.embedded.status import Cause, Refusal
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject

PUBLIC_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version", "/version/"})
ADMIN = User(name="kubernetes-admin", groups=(MASTERS, AUTHENTICATED))
SHORTEST_TOKEN = 600  # seconds
LONGEST_TOKEN = 1 << 32
DEFAULT_LIFETIME = 3600
LEEWAY = timedelta(minutes=1)  # tolerance of the real server between its clock and the claims


@dataclass(frozen=True, slots=True)
class Proven:
    """A token that is good: whose it is, and for which of the wanted audiences."""

    user: User
    audiences: tuple[str, ...]


class Doubt(Exception):
    """A token that is not good; the text is what ``TokenReview.status.error`` shows."""


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
        self._key = key or TokenKey()
        self.issuer = f"https://kubernetes.default.svc.{domain}"

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
            return self.prove(token.strip(), (self.issuer,)).user
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
        if compare_digest(token.encode(), self._admin_token.encode()):
            return Proven(ADMIN, tuple(audiences))
        claims = self._key.claims(token)
        if claims is None or claims.get("iss") != self.issuer:
            raise Doubt("invalid bearer token")
        held = tuple(claims.get("aud", ()))
        shared = tuple(audience for audience in audiences if audience in held)
        if not shared:
            raise Doubt(
                f"[invalid bearer token, token audiences {_quoted(held)} is invalid "
                f"for the target audiences {_quoted(audiences)}]"
            )
        self._still_good(claims)
        return Proven(_account(claims), shared)

    def _still_good(self, claims: JsonObject) -> None:
        now, private = self._wall(), claims["kubernetes.io"]
        if now - LEEWAY > datetime.fromtimestamp(claims["exp"], UTC):
            raise Doubt("[invalid bearer token, service account token has expired]")
        if now + LEEWAY < datetime.fromtimestamp(claims["nbf"], UTC):
            raise Doubt("[invalid bearer token, service account token is not valid yet]")
        namespace = private["namespace"]
        bound = [("serviceaccounts", namespace, private["serviceaccount"])]
        for field, plural in (("pod", "pods"), ("secret", "secrets")):
            if field in private:
                bound.append((plural, namespace, private[field]))
        if "node" in private and "pod" not in private:
            bound.append(("nodes", "", private["node"]))
        for plural, home, reference in bound:
            found = self._objects.find("", plural, home, reference["name"])
            if found is None or found["metadata"].get("uid") != reference["uid"]:
                raise Doubt("[invalid bearer token, service account token has been invalidated]")

    def token_request(self, namespace: str, name: str, body: JsonObject) -> JsonObject:
        """Answer ``POST …/serviceaccounts/<name>/token``: the body with its token."""
        account = self._objects.find("", "serviceaccounts", namespace, name)
        if account is None:
            raise not_found("serviceaccounts", name)
        spec = dict(body.get("spec") or {})
        spec["audiences"] = list(spec.get("audiences") or [self.issuer])
        spec.setdefault("expirationSeconds", DEFAULT_LIFETIME)
        spec.setdefault("boundObjectRef", None)
        seconds = _lifetime(spec["expirationSeconds"])
        now = self._wall()
        private: JsonObject = {
            "namespace": namespace,
            "serviceaccount": {"name": name, "uid": account["metadata"]["uid"]},
        }
        if spec["boundObjectRef"]:
            private.update(self._bound(namespace, name, spec["boundObjectRef"]))
        claims = {
            "aud": spec["audiences"],
            "exp": int(now.timestamp()) + seconds,
            "iat": int(now.timestamp()),
            "iss": self.issuer,
            "jti": str(uuid.uuid4()),
            "kubernetes.io": private,
            "nbf": int(now.timestamp()),
            "sub": f"system:serviceaccount:{namespace}:{name}",
        }
        expires = now + timedelta(seconds=seconds)
        metadata = {
            "name": name,
            "namespace": namespace,
            "uid": account["metadata"]["uid"],
            "creationTimestamp": second_time(now),
        }
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {**(body.get("metadata") or {}), **metadata},
            "spec": spec,
            "status": {
                "token": self._key.sign(claims),
                "expirationTimestamp": second_time(expires),
            },
        }

    def timestamp(self) -> str:
        """Now, as objects show it."""
        return second_time(self._wall())

    def _bound(self, namespace: str, account: str, reference: JsonObject) -> JsonObject:
        """The claims that tie a token to the life of another object."""
        kind, name = reference.get("kind", ""), reference.get("name", "")
        plurals = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        if kind not in plurals or group:
            shown = f"{group}/{version}, Kind={kind}"
            raise refusals.bad_request(f"cannot bind token to object of type {shown}")
        home = "" if kind == "Node" else namespace
        found = self._objects.find("", plurals[kind], home, name)
        if found is None:
            raise not_found(plurals[kind], name)
        if kind == "Pod" and found["spec"].get("serviceAccountName") != account:
            raise refusals.bad_request(
                f'cannot bind token for serviceaccount "{account}" to pod running with '
                "different serviceaccount name."
            )
        uid = found["metadata"]["uid"]
        if reference.get("uid") and reference["uid"] != uid:
            raise Refusal(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on {kind} "{name}": the UID in the bound object '
                f"reference ({reference['uid']}) does not match the UID in record. The object "
                "might have been deleted and then recreated",
                kind=kind,
                name=name,
            )
        return {kind.lower(): {"name": name, "uid": uid}}


def _account(claims: JsonObject) -> User:
    private = claims["kubernetes.io"]
    extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
    for kind in ("node", "pod"):
        if kind in private:
            extra[f"authentication.kubernetes.io/{kind}-name"] = (private[kind]["name"],)
            extra[f"authentication.kubernetes.io/{kind}-uid"] = (private[kind]["uid"],)
    return User(
        name=claims["sub"],
        uid=private["serviceaccount"]["uid"],
        groups=(
            "system:serviceaccounts",
            f"system:serviceaccounts:{private['namespace']}",
            AUTHENTICATED,
        ),
        extra=extra,
    )


def _lifetime(seconds: int) -> int:
    wrong = ""
    if seconds < SHORTEST_TOKEN:
        wrong = "may not specify a duration less than 10 minutes"
    if seconds > LONGEST_TOKEN:
        wrong = "may not specify a duration larger than 2^32 seconds"
    if not wrong:
        return seconds
    message = f"Invalid value: {seconds}: {wrong}"
    cause = Cause("FieldValueInvalid", message, "spec.expirationSeconds")
    raise refusals.invalid("authentication.k8s.io", "TokenRequest", "", (cause,))


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def not_found(plural: str, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{plural} "{name}" not found', kind=plural, name=name)


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


def _quoted(audiences: Sequence[str]) -> str:
    return "[" + " ".join(f'"{audience}"' for audience in audiences) + "]"
