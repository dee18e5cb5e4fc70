"""Lets the guard have its say when a list, as opposed to a watch, takes the endpoints of exports.

A watch tells of one loss at a time, and is believed at once: failover relies on it.
"""

from collections.abc import Iterable, Mapping, Sequence

from isthmus.apps.controller.mirroring.target import Target
from isthmus.core import dusk, guard
from isthmus.model.exports import Export
from isthmus.model.objects import EndpointSlice, Key


def hold(
    target: Target, keys: Iterable[Key], slices: Mapping[Key, Sequence[EndpointSlice]]
) -> set[Key]:
    """Judge what is held together with those of ``keys`` that a list has turned dark.

    Return the exports that are others by it; with no keys, that is what a second list confirms.
    """
    link, exports = target.link, target.admitted.exports

    def is_lit(export: Export) -> bool:
        return dusk.is_lit(dusk.shown(export, link, slices))

    found = (exports[key] for key in keys if key in exports)
    fading = {one.key for one in found if dusk.is_dark(one) and is_lit(one)}
    if not (fading or target.kept):
        return set()
    doubtful = fading | target.kept.keys()
    # A list without a single slice is wrong, and takes all that there is, be it ever so few.
    is_blank = target.remote is not None and target.remote.is_blank
    lit = len(doubtful) if is_blank else sum(map(is_lit, exports.values()))
    target.dusk = guard.judge(target.dusk, lit, doubtful, target.listing)
    newly, freed = target.dusk.held - target.kept.keys(), target.kept.keys() - target.dusk.held
    for key in newly:
        endpoints = dusk.shown(exports[key], link, slices)
        target.kept[key] = dusk.named(endpoints, gateway_alive=target.gateway_alive)
    for key in freed:
        del target.kept[key]
    return {touched for key in newly | freed for touched in target.digest(key)}
