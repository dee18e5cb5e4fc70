"""Asks a cluster which versions of Isthmus run in it, and which versions of our kinds it serves."""

from collections.abc import Iterable
from dataclasses import dataclass

from isthmus.cli.checking.evidence.objects import tag
from isthmus.cli.checking.reading import looks
from isthmus.cli.installation import NotInstalled
from isthmus.cli.looking import ours
from isthmus.cli.looking.ours import Own
from isthmus.kube.client import Client
from isthmus.kube.codec import decoder
from isthmus.kube.errors import Garbled, NotFound
from isthmus.kube.requests import Call
from isthmus.kube.resources import LINKS, Resource
from isthmus.kube.transport import Request
from isthmus.model.objects import Value
from isthmus.model.wire import UNREADABLE

_ANSWER = 64 * 1024  # bytes that a group is described in


class _Version(Value, frozen=True, kw_only=True):
    version: str


class _Group(Value, frozen=True, kw_only=True):
    versions: tuple[_Version, ...] = ()


class _Said(Value, frozen=True, kw_only=True):
    """What every version of a controller says on its page, whatever else stands there."""

    version: str


_GROUPS = Resource(type=_Group, kind="APIGroup", plural="apis", namespaced=False)


@dataclass(frozen=True, slots=True)
class Component:
    """A pod of ours; without a ``version`` it does not say which it is."""

    role: str
    pod: str
    image: str
    version: str


@dataclass(frozen=True, slots=True)
class Server:
    """What a cluster runs, and the versions in which it serves our kinds."""

    components: tuple[Component, ...]
    kinds: tuple[str, ...]


async def look(client: Client, namespace: str) -> Server:
    """Ask a cluster; raise :class:`NotInstalled` where nothing of ours is."""
    kinds = await _served(client)
    own = await ours.running(client, namespace, "controller", "gateway", "egress")
    found = await looks.all_of(_component(client, one) for one in own)
    return Server(tuple(sorted(found, key=lambda one: (one.role, one.pod))), kinds)


def known(kinds: Iterable[str]) -> bool:
    """Tell whether a cluster serves our kinds in the version that this program speaks."""
    return LINKS.version in kinds


async def _served(client: Client) -> tuple[str, ...]:
    """Return the versions of our group, which everybody may ask for."""
    path = f"/apis/{LINKS.group}"
    call = Call(
        verb="get", resource=_GROUPS, where=LINKS.group, request=Request(method="GET", path=path)
    )
    try:
        found = decoder(_Group).decode(await client.exchange.fetch(call, _ANSWER))
    except NotFound as error:
        raise NotInstalled(
            f"this cluster knows no {LINKS.group}: Isthmus is not installed in it; "
            "see `isthmus install`"
        ) from error
    except UNREADABLE as error:
        raise Garbled(f"{call}: the answer is not that of an API server") from error
    return tuple(one.version for one in found.versions)


async def _component(client: Client, pod: Own) -> Component:
    """A controller says its version itself; a proxy's is that of its image."""
    said = ""
    if pod.role == "controller":
        page = await looks.page(client, pod.key, "/proxies", _Said)
        said = page.version if isinstance(page, _Said) else ""
    return Component(pod.role, pod.key.name, pod.image, said or tag(pod.image))
