"""Gathers what the status of a link is made of, from everywhere it is known."""

from itertools import chain

from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Target
from isthmus.core.status import Facts
from isthmus.model.links import RefusedExport


def facts(state: State, target: Target) -> Facts:
    contact = target.contact
    gateway = target.link.spec.gateway
    return Facts(
        connected=contact.connected,
        reason=contact.reason,
        message=contact.message,
        is_live=contact.is_live,
        synced=target.is_synced,
        gateway=target.gateway_known,
        gateway_message=f"no answer on port {gateway.port} of {', '.join(gateway.addresses)}",
        refused_addresses=target.refused_addresses,
        held=tuple(sorted(map(str, target.guard.held))),
        dark=tuple(sorted(map(str, target.kept))),
        mirrors=len(state.owned[target.uid]),
        refused=refusals(state, target),
        complaints=target.complaints,
        cluster_uid=target.identity,
        over_limit=len(target.admitted.excess),
        pods_over_limit=sum(target.admitted.left_out.values()),
    )


def refusals(state: State, target: Target) -> tuple[RefusedExport, ...]:
    """Return every export of a link that is not mirrored as it should be, one reason for each."""
    found: dict[tuple[str, str], RefusedExport] = {}
    for key, why in target.unreadable.items():
        found[key] = RefusedExport(
            namespace=key.namespace, name=key.name, reason="Unreadable", message=why
        )
    for key in target.admitted.excess:
        found[key] = RefusedExport(namespace=key.namespace, name=key.name, reason="LimitExceeded")
    for key, count in target.admitted.left_out.items():
        message = f"{count} of its named pods have no mirror; limits.services has no room for them"
        found[key] = RefusedExport(
            namespace=key.namespace, name=key.name, reason="LimitExceeded", message=message
        )
    for report in chain.from_iterable(state.reports.get(target.uid, {}).values()):
        key = report.export
        found[key] = RefusedExport(
            namespace=key.namespace, name=key.name, reason=report.reason, message=report.message
        )
    for key, refused in target.refused.items():
        found[key] = RefusedExport(
            namespace=key.namespace, name=key.name, reason=refused.reason, message=refused.message
        )
    return tuple(found[key] for key in sorted(found))
