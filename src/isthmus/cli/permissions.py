"""Asks a cluster what we may do there, before anything is done anywhere."""

from collections.abc import Iterable

from isthmus.kube.client import Client
from isthmus.kube.resources import SELF_ACCESS_REVIEWS, Resource
from isthmus.model.reviews import (
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
)
from isthmus.model.wire import Json

APPLY = ("get", "create", "patch")  # what bringing an object into a cluster takes


async def lacking(
    client: Client, resource: Resource[Json], verbs: Iterable[str], namespace: str = ""
) -> str:
    """Return what we may not do to a kind, in one namespace or in all, although we need it, as a
    sentence; or nothing."""
    missing = [one for one in verbs if not await _is_allowed(client, resource, one, namespace)]
    if not missing:
        return ""
    named = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    return f"you may not {', '.join(missing)} {named}"


async def _is_allowed(client: Client, resource: Resource[Json], verb: str, namespace: str) -> bool:
    wanted = ResourceAttributes(
        verb=verb, resource=resource.plural, group=resource.group, namespace=namespace
    )
    spec = SelfSubjectAccessReviewSpec(resource_attributes=wanted)
    asked = SelfSubjectAccessReview(spec=spec)
    return (await client.review(SELF_ACCESS_REVIEWS, asked)).status.allowed
