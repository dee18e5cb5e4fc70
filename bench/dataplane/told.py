"""What proxies are told of many ports, and of single changes among them."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from bench.dataplane import mesh
from bench.dataplane.proxies import GATEWAY
from isthmus.envoy import translation
from isthmus.model.routes import Place, Protocol
from isthmus.xds import egress, gateway, identify, late, secrets, upstream
from isthmus.xds.assembly import Part
from isthmus.xds.names import OWN_FILE, Site
from isthmus.xds.placed import EVERYWHERE
from isthmus.xds.resources import Resource
from isthmus.xds.session import Said
from isthmus.xds.snapshot import Snapshot

PODS, ACCOUNTS = 500, 50  # that call
REPLICAS = 3  # of an exported service
SITE = Site(address=EVERYWHERE, own=OWN_FILE)

Told = Iterator[tuple[Part, tuple[Resource, ...]]]


def protocol(number: int) -> Protocol:
    return "http" if number % 2 else "tcp"


def everything(role: str, ports: int) -> Told:
    """Yield all that a proxy is told, part by part, as the controller puts it together."""
    yield "trust", (secrets.anchors(mesh.anchors().pem()),)
    if role == GATEWAY:
        yield "itself", (gateway.listener(SITE), gateway.probe())
        yield from ((number, exported(number)) for number in range(ports))
        return
    callers = calling(PODS)
    for account in sorted(set(callers.values())):
        yield account, (mesh.account(account),)
    reached = (
        reach(mesh.peer(), account)
        for account in sorted(set(callers.values()))
        for reach in (egress.reach, egress.tunnel)
    )
    yield "link", (upstream.endpoints(mesh.LINK, mesh.peer().places), *reached)
    yield called_by(PODS)
    yield from ((number, mirrored(number)) for number in range(ports))


def exported(number: int, moved: int = 0) -> tuple[Resource, ...]:
    """One exported port; ``moved`` says how often its last pod got another address."""
    first = number * REPLICAS
    found = [first + replica for replica in range(REPLICAS)]
    found[-1] += moved * 1_000_000
    places = (Place(address=address, port=8080) for address in map(mesh.pod, found))
    return gateway.inbound(mesh.inbound(number, protocol(number), *places))


def mirrored(number: int, renamed: str = "") -> tuple[Resource, ...]:
    """One mirrored port; ``renamed`` makes it another one."""
    found = mesh.outbound(number, protocol(number))
    service = found.service + renamed
    return (egress.outbound(msgspec.structs.replace(found, service=service), EVERYWHERE),)


def calling(pods: int) -> dict[str, str]:
    return {mesh.pod(number): f"team/account-{number % ACCOUNTS}" for number in range(pods)}


def called_by(pods: int) -> tuple[Part, tuple[Resource, ...]]:
    """Say who calls from where."""
    callers = calling(pods)
    return "callers", (
        *identify.clusters(),
        identify.listener(callers),
        egress.table(mesh.LINK, callers),
        *late.requests(mesh.LINK),
    )


class Step(NamedTuple):
    """One change: what happened, and what is told because of it."""

    what: str
    part: Part
    resources: tuple[Resource, ...]


def changes(role: str, ports: int, samples: int) -> Iterator[Step]:
    """Yield single changes all over ``ports``, each of which is undone by one of the next."""
    for sample in range(samples):
        number = sample * ports // samples + sample % 2  # of both kinds
        if role == GATEWAY:
            yield Step("a pod of one service is another one", number, exported(number, 1))
            yield Step("one service is not exported", number, ())
            yield Step("one service is exported", number, exported(number))
        else:
            yield Step("one mirrored port is another one", number, mirrored(number, "-new"))
            yield Step("one mirror is removed", number, ())
            yield Step("one mirror is made", number, mirrored(number))
            yield Step("one more pod calls", *called_by(PODS + sample + 1))


def message_bytes(before: Snapshot, after: Snapshot) -> int:
    """Return how many bytes tell a proxy that has the one what it lacks of the other."""
    size = 0
    for type_url in before.types.keys() | after.types.keys():
        known, wanted = before.of(type_url), after.of(type_url)
        if known is wanted:
            continue
        entries = {name: one for name, one in wanted.items() if known.get(name) is not one}
        removed = tuple(name for name in known if name not in wanted)
        if entries or removed:
            said = Said(type_url=type_url, nonce="1", entries=entries, removed=removed)
            size += translation.response(said).ByteSize()
    return size
