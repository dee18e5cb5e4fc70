"""How it must end: once all trouble is over, what is there is what the contract says, exactly, and
then nobody has anything left to write.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from isthmus.embedded.state.store import Key
from isthmus.model.wire import JsonObject
from tests.sim import contract
from tests.sim.contract import FORBIDDEN_HERE, Claim, Name
from tests.sim.healing import bind_anew
from tests.sim.layout import PORT
from tests.sim.places import GRANTS, LINKS, NAMESPACES, SERVICES, SLICES
from tests.sim.scene import Scene
from tests.sim.truth import terminating

PATIENCE = 360.0  # seconds after all trouble for everything to be right, …
LONG_PATIENCE = 900.0  # … or where watches have lied, which only an audit finds out
QUIET = 30.0  # seconds without a write after which nobody has anything left to do …
LONG_QUIET = 1800.0  # … and in some schedules


class Problem(NamedTuple):
    """Something that is not as it should be, and the rule that says how it should."""

    rule: str
    what: str


async def watch_it_end(scene: Scene, *, quiet: float) -> None:
    """Wait until all is well and has been for a while; blame whoever keeps it from being so."""
    ledger = scene.ledger
    healed = scene.loop.time()
    patience = LONG_PATIENCE if ledger.was_lied_to else PATIENCE
    pause = 3.0
    found = [Problem("L1", "never looked")]
    while not ledger.crimes:
        await asyncio.sleep(pause)
        now = scene.loop.time()
        found = list(problems(scene))
        await bind_anew(scene)  # a cluster may have been met just before it was rebuilt
        settled_at = max(ledger.last_write, healed)
        if not found and now - settled_at >= quiet:
            return
        if now - healed > patience and found:
            ledger.blame(found[0].rule, said(found))
        elif now - healed > patience + quiet:
            ledger.blame("L2", f"still writing {now - healed:.0f} s after all trouble")
        pause = min(pause * 1.6, 60.0) if found else max(3.0, settled_at + quiet - now + 0.1)


def problems(scene: Scene) -> Iterator[Problem]:
    """Yield everything that is not as it should be."""
    yield from _of("L1", _mirrors(scene))
    yield from _of("L1", _unlinked(scene))
    yield from _of("L3", _statuses(scene))
    yield from _of("L4", _waiting(scene))
    yield from _of("L4", _led(scene))
    yield from _of("I10", _gateways(scene))
    yield from _of("I11", _remembered(scene))


def _of(rule: str, found: Iterable[str]) -> Iterator[Problem]:
    return (Problem(rule, what) for what in found)


def said(found: list[Problem]) -> str:
    """Say the first, whose rule is blamed, and then the others, each with its rule."""
    first, *others = found
    return "; ".join([first.what, *(f"{one.rule}: {one.what}" for one in others)])


def expected(scene: Scene) -> dict[Name, tuple[Claim, ...]]:
    """Return all names that are wanted here, by all links together."""
    found: dict[Name, tuple[Claim, ...]] = {}
    east = scene.sites["east"]
    spaces = {one["metadata"]["name"] for one in east.objects(NAMESPACES)} - terminating(east)
    for link in east.objects(LINKS):
        if "deletionTimestamp" in link["metadata"]:
            continue
        target = scene.sites[link["metadata"]["name"]]
        grants = target.objects(GRANTS) if link["spec"]["via"] == "gateway" else None
        wanted = contract.wanted(link, target.objects(SERVICES), target.objects(SLICES), grants)
        for name, claims in wanted.items():
            if name[0] in spaces - FORBIDDEN_HERE:
                found[name] = (*found.get(name, ()), *claims)
    return found


def _mirrors(scene: Scene) -> Iterator[str]:
    """L1: what is here is what the links say, of all that is wanted and of nothing else."""
    east = scene.sites["east"]
    late = scene.ledger.stragglers
    services = {
        contract.name_of(one): one
        for one in east.objects(SERVICES)
        if Key(SERVICES, *contract.name_of(one)) not in late
    }
    slices: dict[Name, list[JsonObject]] = {}
    for one in east.objects(SLICES):
        labels = one["metadata"].get("labels") or {}
        is_late = Key(SLICES, *contract.name_of(one)) in late
        if labels.get(contract.MANAGED_BY) == "isthmus.dev" and not is_late:
            owner = one["metadata"]["namespace"], labels.get(contract.SERVICE_NAME, "")
            slices.setdefault(owner, []).append(one)
    links = {one["metadata"]["uid"]: one for one in east.objects(LINKS)}
    wanted = expected(scene)
    ours = {name for name, one in services.items() if contract.is_ours(one)}
    for name in sorted(ours - wanted.keys()):
        yield f"{'/'.join(name)} is here, and nobody wants it"
    for name in sorted(slices.keys() - ours):
        yield f"{'/'.join(name)} has slices of ours, and is not ours"
    for name, claims in sorted(wanted.items()):
        found = services.get(name)
        if found is None:
            yield f"{'/'.join(name)} is wanted, and not here"
        elif name in ours:
            yield from _mirror(scene, found, slices.get(name, []), claims, links)
    yield from _listeners(services, slices)


def _mirror(
    scene: Scene,
    found: JsonObject,
    slices: list[JsonObject],
    claims: tuple[Claim, ...],
    links: dict[str, JsonObject],
) -> Iterator[str]:
    name = "/".join(contract.name_of(found))
    link = links.get(contract.annotation(found, contract.LINK_UID))
    stands_for = contract.annotation(found, contract.REMOTE_NAME)
    claim = next(
        (
            one
            for one in claims
            if link is not None
            and one.link == link["metadata"]["name"]
            and one.stands_for == stands_for
        ),
        None,
    )
    if claim is None or link is None:
        yield f"{name} stands for {stands_for}, which does not want it"
        return
    if contract.annotation(found, contract.REMOTE_UID) != claim.uid:
        yield f"{name} stands for a {stands_for} that is gone"
    spec = found["spec"]
    ports = tuple((one.get("name", ""), one["port"]) for one in spec["ports"])
    if ports != claim.ports:
        yield f"{name} has the ports {ports}, not {claim.ports}"
    if spec.get("selector") or (found["metadata"]["labels"] or {}).get("mine"):
        yield f"{name} has kept what somebody else put in"
    if not contract.has_right_shape(found, claim, link["spec"]):
        yield f"{name} has the wrong shape"
    if [one["metadata"]["name"] for one in slices] != [f"{found['metadata']['name']}-ipv4"]:
        yield f"{name} has the slices {[one['metadata']['name'] for one in slices]}"
        return
    shown = {
        (one.get("hostname", ""), address): one["conditions"].get("ready", True)
        for one in slices[0].get("endpoints") or ()
        for address in one["addresses"]
    }
    due = dict(_endpoints(scene, claim, link, is_headless=contract.is_headless(found)))
    if shown != due:
        yield f"{name} has the endpoints {shown}, not {due}"
    if slices[0]["metadata"]["annotations"].get(contract.LINK_UID) != link["metadata"]["uid"]:
        yield f"the slice of {name} is of another link"


def _endpoints(
    scene: Scene, claim: Claim, link: JsonObject, *, is_headless: bool
) -> Iterator[tuple[tuple[str, str], bool]]:
    east = scene.sites["east"]
    if is_headless:
        services = {contract.name_of(one): one for one in east.objects(SERVICES)}
        for hostname, ready in claim.named:
            name = claim.service[0], f"{hostname}-{claim.link}"
            one = services.get(name)
            whom = f"{hostname}.{claim.stands_for}"
            if (
                one is not None
                and contract.is_ours(one)
                and contract.annotation(one, contract.REMOTE_NAME) == whom
            ):
                yield (hostname, one["spec"]["clusterIP"]), ready
    elif link["spec"]["dataPlane"] == "envoy":
        for one in east.objects(SLICES):
            if one["metadata"]["name"] == "isthmus-egress-1":
                for each in one["endpoints"] or ():
                    yield ("", each["addresses"][0]), claim.ready
    else:
        for host in link["spec"]["gateway"]["addresses"]:
            for address in scene.network.names.get(host, ()):
                yield ("", address), claim.ready


def _listeners(
    services: dict[Name, JsonObject], slices: dict[Name, list[JsonObject]]
) -> Iterator[str]:
    """No two mirrors may share a port of the egress: it tells them apart by nothing else."""
    taken: dict[int, Name] = {}
    for name, members in sorted(slices.items()):
        if name not in services or services[name]["spec"].get("clusterIP") == "None":
            continue
        for one in (port for each in members for port in each.get("ports") or ()):
            other = taken.setdefault(one["port"], name)
            if other != name and one["port"] != PORT:
                yield f"{'/'.join(name)} and {'/'.join(other)} share the port {one['port']}"


def _unlinked(scene: Scene) -> Iterator[str]:
    """L1: links that somebody has deleted are gone."""
    for link in scene.sites["east"].objects(LINKS):
        if "deletionTimestamp" in link["metadata"]:
            yield f"link {link['metadata']['name']} does not go"


def _statuses(scene: Scene) -> Iterator[str]:
    """L3: what links say of themselves is true."""
    east = scene.sites["east"]
    wanted = expected(scene)
    services = {contract.name_of(one): one for one in east.objects(SERVICES)}
    for link in east.objects(LINKS):
        name, status = link["metadata"]["name"], link.get("status") or {}
        if "deletionTimestamp" in link["metadata"]:
            continue
        told = {one["type"]: one["status"] for one in status.get("conditions") or ()}
        for kind in ("Connected", "Synced", "GatewayAlive", "Ready"):
            if told.get(kind) != "True":
                yield f"link {name} says that {kind} is {told.get(kind)}"
        for kind in told.keys() & {"DeletionHeld", "EndpointsHeld", "AddressRefused"}:
            yield f"link {name} says {kind}"
        uid = link["metadata"]["uid"]
        mirrors = [
            one
            for one in services.values()
            if contract.is_ours(one) and contract.annotation(one, contract.LINK_UID) == uid
        ]
        if status.get("mirrors") != len(mirrors):
            yield f"link {name} counts {status.get('mirrors')} mirrors, there are {len(mirrors)}"
        if "staleSince" in status:
            yield f"link {name} says that it is stale"
        refused = _refused(name, wanted, services, scene)
        if status.get("refusedCount", 0) != len(refused):
            yield f"link {name} counts {status.get('refusedCount')} refusals, not {refused}"


def _refused(
    link: str, wanted: dict[Name, tuple[Claim, ...]], services: dict[Name, JsonObject], scene: Scene
) -> set[Name]:
    """Return the exports of a link that cannot have what they want, whole or in part."""
    found: set[Name] = set()
    target = scene.sites[link]
    spec = next(
        one for one in scene.sites["east"].objects(LINKS) if one["metadata"]["name"] == link
    )
    grants = target.objects(GRANTS) if spec["spec"]["via"] == "gateway" else None
    everything = contract.wanted(spec, target.objects(SERVICES), target.objects(SLICES), grants)
    for name, claims in everything.items():
        here = services.get(name)
        for one in claims:
            stands = "" if here is None else contract.annotation(here, contract.REMOTE_NAME)
            if name not in wanted or stands != one.stands_for or not contract.is_ours(here or {}):
                found.add(one.service)
    return found


def _waiting(scene: Scene) -> Iterator[str]:
    """L4: everybody runs, and nothing waits."""
    for slot in scene.slots.values():
        if slot.replica is None:
            yield f"{slot.name} does not run"
            continue
        controller = slot.replica.controller
        queue = controller.queue
        leads = controller.election.still_leading()
        if leads and (queue.depth or queue.held or queue.delayed):
            yield f"{slot.name} has {queue.depth}+{queue.held}+{queue.delayed} names to work on"


def _led(scene: Scene) -> Iterator[str]:
    """L4: one replica leads."""
    holders = [
        slot.name
        for slot in scene.slots.values()
        if slot.replica and slot.replica.controller.election.still_leading()
    ]
    for cluster in scene.sites:
        here = [one for one in holders if one.startswith(f"{cluster}-")]
        runs = any(slot.cluster == cluster for slot in scene.slots.values())
        if runs and len(here) != 1:
            yield f"{cluster} is led by {here}"


def _remembered(scene: Scene) -> Iterator[str]:
    """I11: what is remembered is what there is."""
    for slot in scene.slots.values():
        if slot.replica is None:
            continue
        controller = slot.replica.controller
        # What proxies are told is not among them: without sockets there are no proxies.
        held = controller.held - controller.dataplane.held
        if held:
            yield f"{slot.name} still holds {held} objects"
        site = scene.sites[slot.cluster]
        for kind, cache in (
            (SERVICES, controller.state.services),
            (NAMESPACES, controller.state.namespaces),
            (LINKS, controller.state.links),
        ):
            known = {(one.namespace, one.name) for one in cache.objects}
            if known != {contract.name_of(one) for one in site.objects(kind)}:
                yield f"{slot.name} knows other {kind} than there are"


def _gateways(scene: Scene) -> Iterator[str]:
    """I10: a gateway lets through what is exported, and nothing else."""
    for slot in scene.slots.values():
        if slot.replica is None or slot.cluster == "east":
            continue
        exporting = slot.replica.controller.exporting
        let_in = {(key.namespace, key.name) for key in exporting.inbound}
        site = scene.sites[slot.cluster]
        offered = {
            contract.name_of(one)
            for one in site.objects(SERVICES)
            if (one["metadata"].get("labels") or {}).get(contract.EXPORTED) == "true"
        }
        if not let_in <= offered:
            yield f"the gateway of {slot.cluster} lets callers in to {let_in - offered}"
