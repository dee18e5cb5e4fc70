"""The refusals that several rooms share, worded as the real server does it."""

from isthmus.embedded.kinds.causes import shown
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.status import Cause, Refusal

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def qualified(kind: Kind) -> str:
    """How messages name a resource: ``services``, ``leases.coordination.k8s.io``."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def not_found(kind: Kind, name: str) -> Refusal:
    message = f'{qualified(kind)} "{name}" not found'
    return Refusal(404, "NotFound", message, group=kind.group, kind=kind.plural, name=name)


def already_exists(kind: Kind, name: str) -> Refusal:
    message = f'{qualified(kind)} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, group=kind.group, kind=kind.plural, name=name)


def conflict(kind: Kind, name: str, why: str = MODIFIED) -> Refusal:
    message = f'Operation cannot be fulfilled on {qualified(kind)} "{name}": {why}'
    return Refusal(409, "Conflict", message, group=kind.group, kind=kind.plural, name=name)


def forbidden(kind: Kind, name: str, why: str, causes: tuple[Cause, ...] = ()) -> Refusal:
    subject = f'{qualified(kind)} "{name}"' if name else qualified(kind)
    return Refusal(
        403,
        "Forbidden",
        f"{subject} is forbidden: {why}",
        group=kind.group,
        kind=kind.plural,
        name=name,
        causes=causes,
    )


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, has_details=True)


def no_such_resource() -> Refusal:
    message = "the server could not find the requested resource"
    return Refusal(404, "NotFound", message, has_details=True)


def invalid(group: str, kind: str, name: str, causes: tuple[Cause, ...]) -> Refusal:
    """422: ``causes`` name the wrong fields, and the message repeats them."""
    subject = f"{kind}.{group}" if group else kind
    wrong = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    said = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
    return Refusal(
        422,
        "Invalid",
        f"{subject} {shown(name)} is invalid: {said}",
        group=group,
        kind=kind,
        name=name,
        causes=causes,
    )


def expired(message: str, continue_token: str = "") -> Refusal:
    return Refusal(410, "Expired", message, continue_token=continue_token)
