"""Whether the cluster that answers is the one that a link means, and how a meeting went."""

from isthmus.apps.controller.mirroring.state import State
from isthmus.apps.controller.mirroring.target import Contact, Target
from isthmus.catalogue import errors as catalogue
from isthmus.kube.errors import BadConfig, Untrusted
from isthmus.kube.pinned import IdentityChanged
from isthmus.model.errors import IsthmusError, Permanent


class LinkToSelf(Permanent):
    """The target is the cluster that this controller runs in."""


class DuplicateTarget(Permanent):
    """An older link leads to the same cluster."""


def identify(state: State, target: Target, cluster_uid: str) -> None:
    """Refuse any cluster but the link's own; until one is recorded, it is the one that answers.

    Nothing is mirrored before that, so that nothing can stand here for another one.
    """
    target.answering = cluster_uid
    if cluster_uid == state.own_uid:
        raise LinkToSelf("the target is the cluster that this controller runs in")
    is_recorded = bool(target.link.status.cluster_uid)
    if not target.pinned or (target.pinned != cluster_uid and not is_recorded):
        state.pin(target.uid, cluster_uid)
    if target.rival:
        raise duplicate(target)
    if target.pinned != cluster_uid:
        raise IdentityChanged(
            f"the cluster that answers has the UID {cluster_uid}, not {target.pinned}; "
            "if it was rebuilt on purpose, clear status.clusterUID of the link"
        )


def duplicate(target: Target) -> DuplicateTarget:
    return DuplicateTarget(f"link {target.rival} leads to the same cluster")


def outcome(error: IsthmusError) -> Contact:
    """Return how things stand after ``error``."""
    match error:
        case BadConfig():
            reason = "BadCredentials"
        case Untrusted() | catalogue.Untrusted():
            reason = "TLSVerify"
        case _:
            reason = type(error).__name__
    return Contact(False, reason, str(error))
