"""What a cluster says about the Isthmus that is installed in it: its own name above all."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from isthmus.install.parts import ISTHMUS, PART_OF
from isthmus.kube.client import Client
from isthmus.kube.errors import Forbidden, NotFound
from isthmus.kube.plain import KINDS
from isthmus.kube.requests import Selection
from isthmus.kube.resources import LINKS, NAMESPACES, SERVICES, Resource
from isthmus.model.errors import Permanent
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import CONTROLLER, GATEWAY
from isthmus.model.objects import Key, Service
from isthmus.model.wire import Json, JsonObject

NAMESPACE = "isthmus"  # unless somebody has chosen another


class NotInstalled(Permanent):
    """The kinds of Isthmus, or its workloads, are not there. Says how they come there."""


class NameUnknown(Permanent):
    """Nobody has said what a cluster is called, and it does not show it."""


class NameDiffers(Permanent):
    """A cluster is called otherwise than somebody thinks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is known; a text is empty where nothing is."""

    cluster: str = ""
    mesh_domain: str = ""
    cluster_domain: str = ""


def described(deployment: JsonObject) -> Installation:
    """Return what the controller's Deployment says about its cluster."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    said = {name: value for one in containers for name, value in _options(one)}
    if "cluster-name" not in said:
        return Installation()
    return Installation(
        cluster=said["cluster-name"],
        mesh_domain=said.get("mesh-domain", MESH_DOMAIN),
        cluster_domain=said.get("cluster-domain", "cluster.local"),
    )


def _options(container: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the options that a container is started with, in either spelling."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    known = {one["name"]: one.get("value", "") for one in container.get("env") or ()}
    for place, word in enumerate(words):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and place + 1 < len(words):
                value = words[place + 1]
            yield name, _expanded(value, known)


def _expanded(value: str, variables: Mapping[str, str]) -> str:
    """A kubelet replaces ``$(NAME)`` in the words of a container."""
    for name, meant in variables.items():
        value = value.replace(f"$({name})", meant)
    return value


async def installed(client: Client, namespace: str) -> Installation:
    """Return what the cluster shows of its installation; nothing where we may not look."""
    try:
        return described(await client.get(KINDS["Deployment"], Key(namespace, CONTROLLER)))
    except (NotFound, Forbidden):
        return Installation()


async def homes(client: Client) -> tuple[str, ...]:
    """Return the namespaces in which controllers are installed; more than one get in each other's
    way. Whoever may not list Deployments everywhere is told by the controller's rights."""
    try:
        ours = Selection(labels=f"{PART_OF}={ISTHMUS}")
        found = (await client.list(KINDS["Deployment"], ours)).objects
    except Forbidden:
        try:
            return holders(await client.get(KINDS["ClusterRoleBinding"], Key("", CONTROLLER)))
        except NotFound:
            return ()
    made = (one["metadata"] for one in found)
    return tuple(sorted(one["namespace"] for one in made if one["name"] == CONTROLLER))


def holders(binding: JsonObject) -> tuple[str, ...]:
    """Return the namespaces whose controllers a binding gives rights in the whole cluster."""
    subjects = binding.get("subjects") or ()
    return tuple(one["namespace"] for one in subjects if one.get("namespace"))


async def gateway_service(client: Client, namespace: str) -> Service | None:
    """Return the Service of the gateway; None if there is none, or none that we may see."""
    try:
        return await client.get(SERVICES, Key(namespace, GATEWAY))
    except (NotFound, Forbidden):
        return None


async def cluster_uid(client: Client) -> str:
    """Return by what a cluster is known, whatever it is called: the UID of kube-system."""
    return (await client.get(NAMESPACES, Key("", "kube-system"))).metadata.uid


async def require_kinds(client: Client, needed: Resource[Json] = LINKS) -> None:
    """Raise :class:`NotInstalled` unless the cluster knows a kind of ours."""
    try:
        async for _ in client.pages(needed, limit=1):
            return
    except NotFound as error:
        raise NotInstalled(
            f"this cluster knows no {needed.kind}s: Isthmus is not installed in it, or not all of "
            "it; `isthmus install --apply` brings what is missing, and its --help tells the rest"
        ) from error


def name(said: str, shown: Installation, option: str) -> str:
    """Return what a cluster is called: what it shows, which what was ``said`` must agree with."""
    if said and shown.cluster and said != shown.cluster:
        raise NameDiffers(
            f"{option} says {said!r}, but the cluster calls itself {shown.cluster!r}, which "
            "stands in its certificates; name that, or another context"
        )
    found = said or shown.cluster
    if not found:
        raise NameUnknown(
            f"the cluster does not show what it is called (its Deployment {CONTROLLER} is not "
            f"there, or not to be seen); say it with {option}"
        )
    return found
