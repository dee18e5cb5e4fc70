"""Answers the kinds that are only ever created: questions about tokens and permissions."""

from collections.abc import Callable, Mapping

from isthmus.embedded.access.deciding import Access
from isthmus.embedded.access.issuing import Doubt
from isthmus.embedded.access.principals import Attributes, User
from isthmus.embedded.kinds import refusals
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.status import Cause, Refusal
from isthmus.model.wire import JsonObject

AUTHENTICATION = "authentication.k8s.io"
AUTHORIZATION = "authorization.k8s.io"


def _kind(group: str, name: str, *, namespaced: bool = False) -> Kind:
    return Kind(
        group=group,
        version="v1",
        name=name,
        plural=f"{name.lower()}s",
        singular=name.lower(),
        namespaced=namespaced,
        shape=f"{group.partition('.')[0]}.{name}",
    )


TOKEN_REVIEW = _kind(AUTHENTICATION, "TokenReview")
SELF_SUBJECT_REVIEW = _kind(AUTHENTICATION, "SelfSubjectReview")
SUBJECT_ACCESS_REVIEW = _kind(AUTHORIZATION, "SubjectAccessReview")
SELF_SUBJECT_ACCESS_REVIEW = _kind(AUTHORIZATION, "SelfSubjectAccessReview")
LOCAL_SUBJECT_ACCESS_REVIEW = _kind(AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True)
SELF_SUBJECT_RULES_REVIEW = _kind(AUTHORIZATION, "SelfSubjectRulesReview")
TOKEN_REQUEST = _kind(AUTHENTICATION, "TokenRequest", namespaced=True)  # of a service account
REVIEWS: tuple[Kind, ...] = (
    TOKEN_REVIEW,
    SELF_SUBJECT_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
)


def review(access: Access, user: User, kind: Kind, body: JsonObject) -> JsonObject:
    """Answer ``POST`` of one of ``REVIEWS`` by ``user``: the decoded body with its status."""
    metadata = dict(body.get("metadata") or {})
    answered: JsonObject = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}
    if kind.name == SELF_SUBJECT_REVIEW.name:
        metadata["creationTimestamp"] = access.timestamp()
        return {**answered, "status": {"userInfo": user.info()}}
    spec = body.get("spec") or {}
    if kind.name == LOCAL_SUBJECT_ACCESS_REVIEW.name:
        _same_namespace(metadata.get("namespace", ""), spec)
    answer: Callable[[Access, User, JsonObject], JsonObject] = _ANSWERS[kind.name]
    return {**answered, "spec": spec, "status": answer(access, user, spec)}


def _token(access: Access, _user: User, spec: JsonObject) -> JsonObject:
    token = spec.get("token", "")
    if not token:
        raise refusals.bad_request("token is required for TokenReview in authentication")
    try:
        proven = access.prove(token, spec.get("audiences") or [access.tokens.name])
    except Doubt as doubt:
        return {"user": {}, "error": str(doubt)}
    return {
        "authenticated": True,
        "user": proven.user.info(),
        "audiences": list(proven.audiences),
    }


def _own_access(access: Access, user: User, spec: JsonObject) -> JsonObject:
    return _decision(access, user, _attributes(spec))


def _access(access: Access, _user: User, spec: JsonObject) -> JsonObject:
    attributes = _attributes(spec)
    if not spec.get("user") and not spec.get("groups"):
        raise _invalid("spec.user", '"": at least one of user or group must be specified')
    subject = User(
        name=spec.get("user", ""),
        uid=spec.get("uid", ""),
        groups=tuple(spec.get("groups") or ()),
    )
    return _decision(access, subject, attributes)


def _own_rules(access: Access, user: User, spec: JsonObject) -> JsonObject:
    namespace = spec.get("namespace", "")
    if not namespace:
        raise refusals.bad_request("no namespace on request")
    found = access.rules(user, namespace)
    return {
        "resourceRules": [rule for rule in found if rule.get("resources")],
        "nonResourceRules": [rule for rule in found if rule.get("nonResourceURLs")],
        "incomplete": False,
    }


def _decision(access: Access, user: User, wanted: Attributes) -> JsonObject:
    reason = access.reason(user, wanted)
    status: JsonObject = {"allowed": reason is not None}
    if reason:
        status["reason"] = reason
    return status


def _same_namespace(namespace: str, spec: JsonObject) -> None:
    asked = (spec.get("resourceAttributes") or {}).get("namespace", "")
    if asked != namespace:
        message = f'"{asked}": must match metadata.namespace'
        raise _invalid("spec.resourceAttributes.namespace", message)


def _attributes(spec: JsonObject) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        raise _invalid(
            "spec.resourceAttributes",
            "null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )
    if path is not None:
        return Attributes(verb=path.get("verb", ""), path=path.get("path", ""))
    assert resource is not None  # exactly one of them is given
    return Attributes(
        verb=resource.get("verb", ""),
        group=resource.get("group", ""),
        resource=resource.get("resource", ""),
        subresource=resource.get("subresource", ""),
        namespace=resource.get("namespace", ""),
        name=resource.get("name", ""),
    )


def _invalid(field: str, message: str) -> Refusal:
    """422; the real server names no kind here, so neither do we."""
    cause = Cause("FieldValueInvalid", f"Invalid value: {message}", field)
    return refusals.invalid(AUTHORIZATION, "", "", (cause,))


_ANSWERS: Mapping[str, Callable[[Access, User, JsonObject], JsonObject]] = {
    TOKEN_REVIEW.name: _token,
    SUBJECT_ACCESS_REVIEW.name: _access,
    LOCAL_SUBJECT_ACCESS_REVIEW.name: _access,
    SELF_SUBJECT_ACCESS_REVIEW.name: _own_access,
    SELF_SUBJECT_RULES_REVIEW.name: _own_rules,
}
