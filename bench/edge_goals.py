"""The goals of the Kubernetes edge, judged by the medians of one run."""

from collections.abc import Mapping

from bench.lineup import CONTENDERS, OURS
from bench.meter import Listing, Watching
from bench.results import Results
from bench.tables import middle
from bench.verdicts import Verdict

PEERS = frozenset(contender.name for contender in CONTENDERS if contender.is_peer)
RIVAL = "kubernetes_asyncio"  # of whose rows the better one counts


def verdicts(results: Results) -> tuple[Verdict, ...]:
    """Judge every goal for which both sides were measured."""
    lists = {name: middle(each) for name, each in results.listings.items()}
    watches = {name: middle(each) for name, each in results.watches.items()}
    judged: list[Verdict] = []
    if OURS in lists and PEERS & lists.keys():
        judged += _least_of_lists(lists)
    if OURS in lists and RIVAL in lists:
        judged += _shares_of_rival(lists)
    if OURS in watches and PEERS & watches.keys():
        judged.append(_least_of_watches(watches))
    return tuple(judged)


def _least_of_lists(found: Mapping[str, Listing]) -> list[Verdict]:
    return [
        _least("the fastest list", {name: one.wall for name, one in found.items()}, "s"),
        _least("the list with the least CPU", {n: one.cpu for n, one in found.items()}, "s"),
        _least("the smallest peak of a list", {n: one.peak for n, one in found.items()}, "MB"),
        _least("the least memory kept", {name: one.kept for name, one in found.items()}, "MB"),
    ]


def _least_of_watches(found: Mapping[str, Watching]) -> Verdict:
    costs = {name: one.cpu / one.count * 1e6 for name, one in found.items()}
    return _least("the least CPU per watch event", costs, "µs")


def _shares_of_rival(found: Mapping[str, Listing]) -> list[Verdict]:
    rivals = [one for name, one in found.items() if name.startswith(RIVAL)]
    cpu = found[OURS].cpu / min(one.cpu for one in rivals)
    peak = found[OURS].peak / min(one.peak for one in rivals)
    return [
        Verdict(goal=f"CPU of a list ≤ 1/10 of {RIVAL}", met=cpu <= 1 / 10, evidence=f"{cpu:.3f}"),
        Verdict(goal=f"peak of a list ≤ 1/2 of {RIVAL}", met=peak <= 1 / 2, evidence=f"{peak:.2f}"),
    ]


def _least(goal: str, figures: Mapping[str, float], unit: str) -> Verdict:
    """Tell whether ours is below that of every peer; the floor is not a peer."""
    ours = figures[OURS]
    best = min(PEERS & figures.keys(), key=figures.__getitem__)
    evidence = f"{ours:.3g} {unit}; next is {best} with {figures[best]:.3g}"
    return Verdict(goal=goal, met=ours <= figures[best], evidence=evidence)
