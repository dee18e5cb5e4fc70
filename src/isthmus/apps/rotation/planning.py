"""What a rotation has to be, decided from what the clusters show and from what is kept already."""

from collections.abc import Iterable, Mapping, Set

from cryptography import x509
from msgspec.structs import replace

from isthmus.apps.rotation.kept import Kept
from isthmus.apps.rotation.looking import Look
from isthmus.model.errors import Permanent
from isthmus.pki import bundle
from isthmus.pki.bundle import Bundle
from isthmus.pki.facts import facts
from isthmus.pki.keys import fingerprint
from isthmus.pki.rotation import Anchor, Rotation

Looks = Mapping[str, Look]  # by the cluster's name


class CannotRotate(Permanent):
    """A rotation that must not begin, or go on. Says why, and the way out."""


def named(looks: Mapping[str, Look]) -> Looks:
    """Return looks by cluster instead of by context."""
    found: dict[str, Look] = {}
    for context, look in looks.items():
        if look.cluster in found:
            raise CannotRotate(f"{context}: this is the cluster {look.cluster} once more")
        found[look.cluster] = look
    return dict(sorted(found.items()))


def complete(looks: Looks, everybody: Set[str]) -> None:
    """Raise if a cluster is joined with another one that is not among ``everybody``."""
    for name, look in looks.items():
        kept = look.copy.kept.rotation.clusters if look.copy else ()
        for other in sorted({*look.neighbours, *kept} - everybody):
            raise CannotRotate(
                f"{name} is joined with {other}, which is not named: whoever is left out is cut "
                "off when the old anchor goes; name every cluster of the mesh by --context, or "
                f"delete what joins {name} with {other}"
            )


def forward(looks: Looks, kept: Kept | None, new: x509.Certificate) -> Kept | None:
    """Return what to keep so that ``new`` replaces what is there; None if it has already."""
    complete(looks, looks.keys())
    _vouches(new, looks.values())
    if kept is not None:
        if fingerprint(new) != kept.rotation.new.fingerprint:
            raise CannotRotate(
                f"a rotation to the anchor {_short(kept.rotation.new)} has not ended: go on with "
                "it, or roll it back, before there is another"
            )
        return _going_on(kept, kept.rotation.roll_forward(), looks)
    old = _former(looks, new)
    if old is None:
        return None
    rotation = Rotation(old=_anchor(old), new=_anchor(new), clusters=tuple(looks))
    return Kept(rotation, bundle.of((old, new)))


def back(looks: Looks, kept: Kept | None, old: x509.Certificate) -> Kept:
    """Return what to keep so that everything becomes as it was."""
    complete(looks, looks.keys())
    if kept is None:
        raise CannotRotate(
            "there is no rotation to roll back; to return to a former anchor after one has ended, "
            "rotate to it: isthmus trust rotate run --new DIR"
        )
    if fingerprint(old) != kept.rotation.old.fingerprint:
        raise CannotRotate(
            f"the rotation is from the anchor {_short(kept.rotation.old)}, and this is another one"
        )
    return _going_on(kept, kept.rotation.roll_back(), looks)


def paused(kept: Kept | None) -> Kept:
    if kept is None:
        raise CannotRotate("there is no rotation to pause")
    return kept.turned(kept.rotation.pause())


def _going_on(kept: Kept, rotation: Rotation, looks: Looks) -> Kept:
    return kept.turned(replace(rotation.resume(), clusters=tuple(looks)))


def _vouches(new: x509.Certificate, looks: Iterable[Look]) -> None:
    bundle.of((new,))
    for look in looks:
        if not facts(new).permits(look.host):
            raise CannotRotate(
                f"the new anchor does not vouch for {look.host}; create one for that mesh: "
                "isthmus trust create --mesh-domain"
            )


def _former(looks: Looks, new: x509.Certificate) -> x509.Certificate | None:
    """Return the one anchor that shall go; None if there is none but ``new``."""
    known = bundle.of((new, *(each for look in looks.values() for each in look.bundle.anchors)))
    issuing = {look.issues_from(known) for look in looks.values()} - {fingerprint(new)}
    others = issuing or set(known.fingerprints) - {fingerprint(new)}
    if len(others) > 1:
        which = ", ".join(sorted(each[:16] for each in others))
        raise CannotRotate(
            f"more than one anchor would have to go ({which}): a rotation replaces one; bring all "
            "clusters below one anchor first"
        )
    return _one(known, others.pop()) if others else None


def _one(known: Bundle, wanted: str) -> x509.Certificate:
    return next(each for each in known.anchors if fingerprint(each) == wanted)


def _anchor(found: x509.Certificate) -> Anchor:
    return Anchor(
        fingerprint=fingerprint(found),
        not_before=found.not_valid_before_utc,
        not_after=found.not_valid_after_utc,
    )


def _short(anchor: Anchor) -> str:
    return anchor.fingerprint[:16]
