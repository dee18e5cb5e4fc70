"""Questions that are asked by creating an object: who is this, and what may they do?

The API answers in the same object's ``status`` and stores nothing.
"""

from collections.abc import Mapping

from isthmus.model.objects import ObjectReference, Value


class User(Value, frozen=True, kw_only=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class TokenReviewSpec(Value, frozen=True, kw_only=True):
    token: str = ""
    audiences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"TokenReviewSpec(token=<hidden>, audiences={self.audiences})"


class TokenReviewStatus(Value, frozen=True, kw_only=True):
    authenticated: bool = False
    user: User = User()
    audiences: tuple[str, ...] = ()
    error: str = ""


class TokenReview(Value, frozen=True, kw_only=True):
    spec: TokenReviewSpec
    status: TokenReviewStatus = TokenReviewStatus()


class TokenRequestSpec(Value, frozen=True, kw_only=True):
    audiences: tuple[str, ...] = ()
    expiration_seconds: int | None = None
    bound_object_ref: ObjectReference | None = None  # with which the token dies


class TokenRequestStatus(Value, frozen=True, kw_only=True):
    token: str = ""
    expiration_timestamp: str | None = None

    def __repr__(self) -> str:
        return f"TokenRequestStatus(token=<hidden>, until={self.expiration_timestamp})"


class TokenRequest(Value, frozen=True, kw_only=True):
    spec: TokenRequestSpec
    status: TokenRequestStatus = TokenRequestStatus()


class ResourceAttributes(Value, frozen=True, kw_only=True):
    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class NonResourceAttributes(Value, frozen=True, kw_only=True):
    path: str
    verb: str


class SelfSubjectAccessReviewSpec(Value, frozen=True, kw_only=True):
    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class AccessStatus(Value, frozen=True, kw_only=True):
    allowed: bool = False
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class SelfSubjectAccessReview(Value, frozen=True, kw_only=True):
    """May we do this ourselves?"""

    spec: SelfSubjectAccessReviewSpec
    status: AccessStatus = AccessStatus()
