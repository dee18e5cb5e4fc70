"""Whether Isthmus could be installed in a cluster."""

from collections.abc import Iterator

from isthmus.cli.checking.checks import Check, counted, passed, warned, wrong
from isthmus.cli.checking.evidence.clusters import Before
from isthmus.cli.checking.evidence.sites import Unseen
from isthmus.install.parts import is_ours
from isthmus.model.objects import Service

PRE = "pre-install"

_TAKEN = "is it another product's? Two that define the same kind cannot live in one cluster"


def before(found: Before, namespace: str) -> Iterator[Check]:
    yield _rights(found)
    yield _namespace(found, namespace)
    yield _kinds(found)
    yield _balancer(found)


def _rights(found: Before) -> Check:
    name = "you may create what an installation consists of"
    if isinstance(found.lacking, Unseen):
        return warned(PRE, name, found.lacking.why, "kubectl auth can-i --list tells what you may")
    if not found.lacking:
        return passed(PRE, name)
    hint = "ask whoever administers the cluster for these, or have them install it"
    return wrong(PRE, name, "; ".join(found.lacking), hint)


def _namespace(found: Before, namespace: str) -> Check:
    name = f"namespace {namespace} can be used"
    if isinstance(found.present.namespace, Unseen):
        return warned(PRE, name, found.present.namespace.why, "you need to get namespaces")
    if found.present.namespace is None:
        return passed(PRE, name, "it will be created")
    if found.present.namespace.metadata.deletion_timestamp is not None:
        return wrong(PRE, name, "it is being deleted", "wait until it is gone")
    return passed(PRE, name, "it exists")


def _kinds(found: Before) -> Check:
    name = "our kinds can be defined"
    there = [one for one in found.present.definitions.values() if isinstance(one, dict)]
    unseen = [one for one in found.present.definitions.values() if isinstance(one, Unseen)]
    if unseen:
        return warned(PRE, name, unseen[0].why, "you need to get customresourcedefinitions")
    strangers = [one["metadata"]["name"] for one in there if not is_ours(one)]
    if strangers:
        detail = f"{', '.join(strangers)}: defined by somebody else"
        return wrong(PRE, name, detail, _TAKEN)
    return passed(PRE, name, "they are there already" if there else "they are not there yet")


def _balancer(found: Before) -> Check:
    """Whether the gateway's port can be opened to other clusters."""
    name = "the gateway's Service can get an address"
    if isinstance(found.balanced, Unseen):
        return warned(PRE, name, found.balanced.why, "you need to list services")
    waiting = [one for one in found.balanced if not _has_address(one)]
    if waiting and len(waiting) == len(found.balanced):
        detail = f"no Service of type LoadBalancer has one, as {waiting[0].metadata.key}"
        hint = "is there a load balancer? Else install with --set gateway.service.type=NodePort"
        return warned(PRE, name, detail, hint)
    others = len(found.balanced) - len(waiting)
    have = f"{counted(others, 'Service')} of type LoadBalancer got one"
    detail = have if others else "nobody has tried yet"
    return passed(PRE, name, detail)


def _has_address(service: Service) -> bool:
    return any(one.ip or one.hostname for one in service.status.load_balancer.ingress)
