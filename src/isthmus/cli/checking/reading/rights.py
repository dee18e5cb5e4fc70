"""Asks who may do what: we, to install; and the controller's account, to do its work."""

from collections.abc import Iterable, Iterator

from isthmus import install
from isthmus.cli.checking.evidence.clusters import Right
from isthmus.cli.checking.evidence.objects import (
    ACCESS_REVIEWS,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from isthmus.cli.checking.evidence.sites import Seen, Unseen
from isthmus.cli.checking.reading import looks
from isthmus.cli.permissions import APPLY, lacking
from isthmus.install import access
from isthmus.install.values import Values
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.model.names import CONTROLLER
from isthmus.model.reviews import ResourceAttributes
from isthmus.model.wire import JsonObject


async def to_install(client: Client, namespace: str) -> Seen[tuple[str, ...]]:
    """Return what we may not do although an installation takes it, a sentence each."""
    wanted = {
        (one["kind"], one["metadata"].get("namespace", "")): None
        for one in install.possible(namespace)
    }
    found = await looks.whole(lacking(client, KINDS[kind], APPLY, space) for kind, space in wanted)
    return found if isinstance(found, Unseen) else tuple(filter(None, found))


async def of_controller(client: Client, namespace: str) -> Seen[tuple[Right, ...]]:
    """Return the rights that the controller's account lacks, of those that it is installed with."""
    needed = tuple(controller_rights(namespace))
    allowed = await looks.whole(_is_allowed(client, namespace, one) for one in needed)
    if isinstance(allowed, Unseen):
        return allowed
    return tuple(one for one, may in zip(needed, allowed, strict=True) if not may)


def controller_rights(namespace: str) -> Iterator[Right]:
    """Yield every right that an installation gives to its controller."""
    for one in access.rights(Values(cluster_name="any", namespace=namespace)):
        if one["kind"] in ("ClusterRole", "Role"):
            yield from _rights(one["rules"], one["metadata"].get("namespace", ""))


def _rights(rules: Iterable[JsonObject], namespace: str) -> Iterator[Right]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames") or ("",):
                        yield Right(verb, resource, group, namespace, name)


async def _is_allowed(client: Client, namespace: str, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    spec = SubjectAccessReviewSpec(
        user=f"system:serviceaccount:{namespace}:{CONTROLLER}",
        groups=("system:serviceaccounts", f"system:serviceaccounts:{namespace}"),
        resource_attributes=ResourceAttributes(
            verb=right.verb,
            group=right.group,
            resource=resource,
            subresource=subresource,
            namespace=right.namespace,
            name=right.name,
        ),
    )
    found = await client.review(ACCESS_REVIEWS, SubjectAccessReview(spec=spec))
    return found.status.allowed
