"""The tokens of service accounts: how they are given out, and what they prove later."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from isthmus.embedded.access.principals import AUTHENTICATED, Objects, User
from isthmus.embedded.access.tokens import TokenKey
from isthmus.embedded.kinds import causes, refusals
from isthmus.embedded.status import Refusal
from isthmus.model.times import second_time
from isthmus.model.wire import JsonObject

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


class Issuer:
    """Gives out tokens and knows them again, as long as what they are bound to lives."""

    def __init__(
        self, name: str, objects: Objects, key: TokenKey, wall: Callable[[], datetime]
    ) -> None:
        self.name = name
        self._objects = objects
        self._key = key
        self._wall = wall

    def prove(self, token: str, audiences: Sequence[str]) -> Proven:
        """Check a token for one of ``audiences``; raise ``Doubt`` with the reason."""
        claims = self._key.claims(token)
        if claims is None or claims.get("iss") != self.name:
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

    def request(self, namespace: str, name: str, body: JsonObject) -> JsonObject:
        """Answer ``POST …/serviceaccounts/<name>/token``: the decoded body with its token."""
        account = self._objects.find("", "serviceaccounts", namespace, name)
        if account is None:
            raise _not_found("serviceaccounts", name)
        spec = dict(body.get("spec") or {})
        spec["audiences"] = spec.get("audiences") or [self.name]
        if spec.get("expirationSeconds") is None:
            spec["expirationSeconds"] = DEFAULT_LIFETIME
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
            "iss": self.name,
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
            raise _not_found(plurals[kind], name)
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
    cause = causes.invalid("spec.expirationSeconds", seconds, wrong)
    raise refusals.invalid("authentication.k8s.io", "TokenRequest", "", (cause,))


def _not_found(plural: str, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{plural} "{name}" not found', kind=plural, name=name)


def _quoted(audiences: Sequence[str]) -> str:
    return "[" + " ".join(f'"{audience}"' for audience in audiences) + "]"
