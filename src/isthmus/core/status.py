"""What a Link's status says, from what is known; and which changes of it are worth an Event."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from isthmus.model.links import Link, LinkStatus, RefusedExport
from isthmus.model.objects import Condition

SHOWN = 20  # refused exports that are named; the rest is counted
FICKLE = frozenset({"Unreachable", "Unavailable", "Throttled", "Garbled"})  # reasons
LONGEST = 512  # characters of a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known about one link now. None stands for what this process cannot tell yet."""

    connected: bool | None = None
    reason: str = ""
    message: str = ""
    is_live: bool = False  # whether what we have of the target is up to date
    synced: bool = False  # whether it was ever complete
    gateway: bool | None = None
    gateway_message: str = ""
    refused_addresses: tuple[str, ...] = ()  # of the gateway, each with the reason
    held: tuple[str, ...] = ()  # mirrors whose deletion the guard holds
    dark: tuple[str, ...] = ()  # exports whose endpoints are kept until a second list says so, too
    mirrors: int = 0
    refused: tuple[RefusedExport, ...] = ()
    cluster_uid: str = ""
    complaints: tuple[str, ...] = ()  # of proxies, about what they were told for this link
    over_limit: int = 0  # exports
    pods_over_limit: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened to a link, for people who ask for its Events."""

    reason: str
    text: str
    warning: bool


@dataclass(frozen=True, slots=True)
class _Verdict:
    type: str
    status: str
    reason: str
    message: str = ""


def status(link: Link, facts: Facts, now: str) -> LinkStatus:
    """Return the status that ``link`` should have; what is not known yet stays as it is."""
    before = {one.type: one for one in link.status.conditions}
    verdicts: list[_Verdict] = []
    for name, verdict in (
        ("Connected", _connected(facts)),
        ("Synced", _synced(facts)),
        ("GatewayAlive", _gateway(facts)),
    ):
        verdicts.append(verdict or _unknown(name, before.get(name)))
    verdicts += _special(facts)
    verdicts.append(_ready(verdicts))
    known = facts.connected is not None and facts.synced
    refused = facts.refused[:SHOWN] if known else link.status.refused
    return LinkStatus(
        conditions=tuple(_condition(one, before.get(one.type), link, now) for one in verdicts),
        cluster_uid=facts.cluster_uid,
        mirrors=facts.mirrors,
        refused=refused,
        refused_count=len(facts.refused) if known else link.status.refused_count or 0,
        stale_since=_stale_since(link, facts, now),
    )


def notes(before: LinkStatus, after: LinkStatus) -> Iterator[Note]:
    """Yield what has happened between two statuses: turns of conditions, and new refusals."""
    known = {one.type: one.status for one in before.conditions}
    for one in after.conditions:
        was = known.get(one.type, "False" if one.type in _ALARMS else "Unknown")
        if one.status not in (was, "Unknown") and one.type != "Ready":
            warning = (one.status == "True") == (one.type in _ALARMS)
            yield Note(one.reason, f"{one.type} is {one.status}: {one.message}", warning)
    for alarm in _ALARMS & (known.keys() - {one.type for one in after.conditions}):
        yield Note(f"{alarm}Over", f"{alarm} is over", warning=False)
    seen = {(one.namespace, one.name, one.reason) for one in before.refused}
    for refused in after.refused:
        if (refused.namespace, refused.name, refused.reason) not in seen:
            text = f"{refused.namespace}/{refused.name} is not mirrored: {refused.message}"
            yield Note(refused.reason, text, warning=True)


_GRAVE = (
    "DeletionHeld",
    "EndpointsHeld",
    "AddressRefused",
    "ProxyRefused",
)  # a link is not ready with them
_ALARMS = frozenset({*_GRAVE, "LimitExceeded"})  # conditions that are there only if true


def _connected(facts: Facts) -> _Verdict | None:
    match facts.connected:
        case None:
            return None
        case True:
            return _Verdict("Connected", "True", "Connected", "the target is being watched")
        case False:
            return _Verdict("Connected", "False", facts.reason, facts.message)
        case never:
            assert_never(never)


def _synced(facts: Facts) -> _Verdict | None:
    if facts.is_live and facts.synced:
        return _Verdict("Synced", "True", "Synced", "the target's exports are known completely")
    if facts.connected is None:
        return None
    if facts.synced:
        return _Verdict("Synced", "False", "Stale", "the last known exports stay mirrored")
    return _Verdict("Synced", "False", "NotSynced", "the target's exports were not read yet")


def _gateway(facts: Facts) -> _Verdict | None:
    match facts.gateway:
        case None:
            return None
        case True:
            return _Verdict("GatewayAlive", "True", "ProbeSucceeded", "the gateway answers")
        case False:
            return _Verdict("GatewayAlive", "False", "ProbeFailed", facts.gateway_message)
        case never:
            assert_never(never)


def _special(facts: Facts) -> Iterator[_Verdict]:
    if facts.held:
        message = f"{_some(facts.held, 'mirrors')} would be deleted; asking the target again"
        yield _Verdict("DeletionHeld", "True", "MassDeletion", message)
    if facts.dark:
        message = (
            f"{_some(facts.dark, 'exports')} would lose all endpoints; asking the target again"
        )
        yield _Verdict("EndpointsHeld", "True", "MassLoss", message)
    if facts.refused_addresses:
        message = f"no gateway can be at {'; '.join(facts.refused_addresses)}"
        yield _Verdict("AddressRefused", "True", "BadAddress", message)
    if facts.complaints:
        more = f" (and {len(facts.complaints) - 1} more)" if len(facts.complaints) > 1 else ""
        message = f"egress proxies refuse what they are told: {facts.complaints[0]}{more}"
        yield _Verdict("ProxyRefused", "True", "ConfigurationRefused", message)
    if facts.over_limit or facts.pods_over_limit:
        beyond = f"{facts.over_limit} exports and {facts.pods_over_limit} named pods"
        message = f"{beyond} beyond limits.services are not mirrored"
        yield _Verdict("LimitExceeded", "True", "TooManyServices", message)


def _some(things: tuple[str, ...], noun: str) -> str:
    return f"{len(things)} {noun} ({', '.join(things[:3])}{', …' if len(things) > 3 else ''})"


def _unknown(name: str, before: Condition | None) -> _Verdict:
    if before is None:
        return _Verdict(name, "Unknown", "NotKnownYet", "waiting for the first answer")
    return _Verdict(name, before.status, before.reason, before.message)


def _ready(verdicts: list[_Verdict]) -> _Verdict:
    for wanted in ("False", "Unknown"):
        for one in verdicts:
            if one.status == wanted and not (one.type == "GatewayAlive" and wanted == "Unknown"):
                return _Verdict("Ready", wanted, one.reason, one.message)
    for one in verdicts:
        if one.type in _GRAVE:
            return _Verdict("Ready", "False", one.type, one.message)
    return _Verdict("Ready", "True", "Ready", "mirrors follow the target")


def _condition(verdict: _Verdict, before: Condition | None, link: Link, now: str) -> Condition:
    message = verdict.message[:LONGEST]
    same = before is not None and before.status == verdict.status
    if before is not None and same and before.reason == verdict.reason:
        # The same trouble with a network comes in many words, and writing each of them would
        # tell nobody anything; a mistake of somebody's has to be named as it is now.
        message = before.message if verdict.reason in FICKLE else message
    return Condition(
        type=verdict.type,
        status=verdict.status,
        reason=verdict.reason,
        message=message,
        last_transition_time=before.last_transition_time if before is not None and same else now,
        observed_generation=link.metadata.generation,
    )


def _stale_since(link: Link, facts: Facts, now: str) -> str | None:
    if facts.is_live and facts.synced:
        return None
    if facts.connected is None:
        return link.status.stale_since
    return link.status.stale_since or now
