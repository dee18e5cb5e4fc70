"""Which exports pass a link, and which local names they claim."""

from collections.abc import Iterable, Iterator, Mapping

from isthmus.core import naming
from isthmus.core.index import Admitted
from isthmus.core.world import Claim
from isthmus.model.exports import Export
from isthmus.model.links import Link
from isthmus.model.objects import Key, Service


def passing(exports: Iterable[Export], link: Link) -> dict[Key, Export]:
    """Return the exports that ``link`` selects, at most as many as it allows.

    Beyond the limit the oldest win, so that a flood of new exports displaces nothing.
    """
    admitted = Admitted.by(link.spec)
    for one in exports:
        if link.spec.selector.selects(one.labels):
            admitted.put(one.key, one)
    return dict(admitted.exports)


def is_headless(export: Export, link: Link, observed: Service | None) -> bool:
    """Tell whether the mirror is headless: asked for, and with at least one pod to name.

    Decided anew at every change, with one exception: a set that was scaled to nothing keeps
    the headless mirror it had, empty, because its names come back with its pods.
    """
    if not (link.spec.enable_headless_services and export.headless):
        return False
    emptied = not export.unnamed and observed is not None and observed.spec.cluster_ip == "None"
    return bool(export.pods) or emptied


def claims(export: Export, link: Link) -> Iterator[tuple[Key, Claim]]:
    """Yield the local names that ``export`` needs under ``link``, its own first."""
    own = Key(export.namespace, naming.mirror_name(export, link))
    yield own, Claim(link.uid, export.key)
    if link.spec.enable_headless_services and export.headless:
        for pod in export.pods:
            name = naming.endpoint_mirror_name(export, pod.hostname, link)
            yield Key(export.namespace, name), Claim(link.uid, export.key, pod.hostname)


def claimed(exports: Mapping[Key, Export], link: Link) -> dict[Key, tuple[Claim, ...]]:
    """Return all names that ``link`` claims, each with its claimants."""
    found: dict[Key, tuple[Claim, ...]] = {}
    for export in exports.values():
        for name, claim in claims(export, link):
            found[name] = (*found.get(name, ()), claim)
    return found
