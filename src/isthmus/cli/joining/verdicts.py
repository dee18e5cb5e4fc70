"""What a Link or a Grant says of itself: whether it is as it should be, and else why."""

from collections.abc import Iterable
from dataclasses import dataclass

from isthmus.core.grant import ACCEPTED
from isthmus.model.grants import Grant
from isthmus.model.links import Link
from isthmus.model.objects import Condition, Metadata

READY = "Ready"
# What no waiting mends, for only somebody else can.
_HOPELESS = frozenset({"DuplicateTarget", "IdentityChanged", "LinkToSelf", "Malformed"})

_HINTS = {
    "AddressRefused": "name an address at which the gateway can be, with --gateway-address",
    "DuplicateTarget": "delete one of the Links; names are those of clusters",
    "Forbidden": "the target has no Grant for this cluster, or its controller has not seen it",
    "IdentityChanged": "if the cluster was rebuilt on purpose, clear status.clusterUID of the Link",
    "LinkToSelf": "the address is this cluster's own; compare it with that of the target's gateway",
    "Malformed": "mend the Grant as its message says",
    "NoAddress": "the gateway's name leads nowhere; name an address with --gateway-address",
    "NotSeenYet": "is a controller running there? kubectl -n isthmus get pods shows it",
    "NoIdentity": "has this cluster its issuer and its anchors? See `isthmus trust issue`",
    "ProbeFailed": "can this cluster reach that address and port? Look for firewalls on the way",
    "TLSVerify": "are both clusters under one anchor? Compare them with `isthmus trust inspect`",
    "Unreachable": "can this cluster reach that address and port? Look for firewalls on the way",
    "Untrusted": "are both clusters under one anchor? Compare them with `isthmus trust inspect`",
    "WrongCluster": "another cluster answers at that address; compare it with the gateway's",
}


def way_out(reason: str) -> str:
    """Return the way out of a trouble that has a reason of ours; nothing if none is known."""
    return _HINTS.get(reason, "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an object stands. ``is_final``: waiting changes nothing."""

    is_good: bool
    reason: str
    message: str
    is_final: bool = False

    @property
    def hint(self) -> str:
        return way_out(self.reason)

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


UNSEEN = Verdict(False, "NotSeenYet", "no controller has looked at it")

DELETED = Verdict(False, "Deleted", "somebody has deleted it", is_final=True)


def of_link(link: Link) -> Verdict:
    return _verdict(link.metadata, link.status.conditions, READY)


def of_grant(grant: Grant) -> Verdict:
    return _verdict(grant.metadata, grant.status.conditions, ACCEPTED)


def _verdict(metadata: Metadata, conditions: Iterable[Condition], wanted: str) -> Verdict:
    found = next((one for one in conditions if one.type == wanted), None)
    if metadata.deletion_timestamp is not None:
        return DELETED
    if found is None or found.observed_generation < metadata.generation:
        return UNSEEN
    return Verdict(found.status == "True", found.reason, found.message, found.reason in _HOPELESS)
