"""What Grants allow: who may see an export, who may call it, and which Grants count at all.

Grants only ever add up: none takes away what another gives, and one that we do not understand
gives nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from isthmus.model import syntax
from isthmus.model.exports import Export
from isthmus.model.grants import From, Grant, GrantStatus
from isthmus.model.identities import Identity
from isthmus.model.names import CONTROLLER
from isthmus.model.objects import Condition, Key
from isthmus.model.routes import Callers
from isthmus.model.selectors import Requirement, Selector

ACCEPTED = "Accepted"


def problem(grant: Grant) -> str | None:
    """Tell why ``grant`` cannot be understood; None if it can.

    The API server's schema refuses most of this. But what passes here becomes part of identities
    that are compared as text, so nothing rests on which schema was installed.
    """
    spec = grant.spec
    if not syntax.is_service_name(spec.cluster):
        return f"cluster: {spec.cluster:.80} is not the name of a cluster"
    for name in (*(spec.from_.namespaces or ()), *(spec.to.namespaces or ())):
        if not syntax.is_dns_label(name):
            return f"namespaces: {name:.80} is not the name of a namespace"
    for account in spec.from_.service_accounts or ():
        namespace, _, name = account.partition("/")
        if not (syntax.is_dns_label(namespace) and syntax.is_subdomain(name)):
            return f"from.serviceAccounts: {account:.80} is not written as namespace/name"
    for service in spec.to.services or ():
        namespace, _, name = service.partition("/")
        if not (syntax.is_dns_label(namespace) and syntax.is_dns_label(name)):
            return f"to.services: {service:.80} is not written as namespace/name"
    return None if spec.to.selector is None else _selector_problem(spec.to.selector)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """What one Grant gives, in the form in which it is asked for thousands of times."""

    cluster: str
    callers: Callers
    namespaces: Set[str] | None
    services: Set[str] | None
    selector: Selector | None

    def covers(self, key: Key, labels: Mapping[str, str]) -> bool:
        """Tell whether this is about the export ``key``, which carries ``labels``."""
        return (
            (self.namespaces is None or key.namespace in self.namespaces)
            and (self.services is None or str(key) in self.services)
            and (self.selector is None or self.selector.selects(labels))
        )


def permit(grant: Grant, mesh_domain: str) -> Permit | None:
    """Return what ``grant`` gives; None if it is not understood, or is being deleted."""
    if grant.metadata.deletion_timestamp is not None or problem(grant) is not None:
        return None
    to = grant.spec.to
    return Permit(
        cluster=grant.spec.cluster,
        callers=Callers(
            exact=tuple(_accounts(grant, mesh_domain)),
            prefixes=tuple(_prefixes(grant, mesh_domain)),
        ),
        namespaces=None if to.namespaces is None else frozenset(to.namespaces),
        services=None if to.services is None else frozenset(to.services),
        selector=to.selector,
    )


def callers(export: Export, permits: Iterable[Permit]) -> Callers:
    """Return who may call ``export``; nobody unless a Grant says so."""
    given = [one.callers for one in permits if one.covers(export.key, export.labels)]
    prefixes = {prefix for one in given for prefix in one.prefixes}
    exact = {identity for one in given for identity in one.exact}
    return Callers(
        exact=tuple(sorted(one for one in exact if not _starts(one, prefixes))),
        prefixes=tuple(sorted(one for one in prefixes if not _starts(one, prefixes - {one}))),
    )


def catalogue_callers(permits: Iterable[Permit], mesh_domain: str, namespace: str) -> Callers:
    """Return who may read the catalogue: the controllers of all clusters that have a Grant."""
    clusters = {one.cluster for one in permits}
    found = (str(Identity(one, mesh_domain, namespace, CONTROLLER)) for one in clusters)
    return Callers(exact=tuple(sorted(found)))


def status(grant: Grant, now: str) -> GrantStatus:
    """Return the status that ``grant`` should have; other conditions on it stay."""
    why = problem(grant)
    before = {one.type: one for one in grant.status.conditions}
    former = before.get(ACCEPTED)
    verdict = "True" if why is None else "False"
    same = former is not None and former.status == verdict
    accepted = Condition(
        type=ACCEPTED,
        status=verdict,
        reason="Accepted" if why is None else "Malformed",
        message="the grant is in force" if why is None else why,
        last_transition_time=former.last_transition_time if former is not None and same else now,
        observed_generation=grant.metadata.generation,
    )
    return GrantStatus(conditions=tuple((before | {ACCEPTED: accepted}).values()))


def _accounts(grant: Grant, mesh_domain: str) -> Iterator[str]:
    for account in grant.spec.from_.service_accounts or ():
        namespace, _, name = account.partition("/")
        yield str(Identity(grant.spec.cluster, mesh_domain, namespace, name))


def _prefixes(grant: Grant, mesh_domain: str) -> Iterator[str]:
    """Yield what the identities of whole namespaces, or of the whole cluster, start with.

    Each ends in a slash, so that ``east`` never means ``east2``, nor ``shop`` ``shop-admin``.
    """
    whole = f"spiffe://{grant.spec.cluster}.{mesh_domain}/"
    if grant.spec.from_ == From():
        yield whole
    for namespace in grant.spec.from_.namespaces or ():
        yield f"{whole}ns/{namespace}/"


def _starts(text: str, prefixes: set[str]) -> bool:
    return any(text.startswith(one) for one in prefixes)


def _selector_problem(selector: Selector) -> str | None:
    for key, value in selector.match_labels.items():
        if not (syntax.is_qualified_name(key) and syntax.is_label_value(value)):
            return f"to.selector: {key:.80}={value:.80} is not a label"
    for one in selector.match_expressions:
        if not _is_sound(one):
            return f"to.selector: {one.key:.80} {one.operator} does not go with its values"
    return None


def _is_sound(one: Requirement) -> bool:
    takes_values = one.operator in ("In", "NotIn")
    return (
        syntax.is_qualified_name(one.key)
        and bool(one.values) == takes_values
        and all(map(syntax.is_label_value, one.values))
    )
