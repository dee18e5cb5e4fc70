"""Everything that can go wrong between a process and an API server, by name."""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from isthmus.embedded.faults import effects
from isthmus.embedded.faults.rules import Effect
from isthmus.kube.transport import Request
from tests.sim import states
from tests.sim.paths import WRITES, Path, lagging, late, noted
from tests.sim.scene import Scene

Make: TypeAlias = Callable[[Scene, Path], Effect]


def _query(request: Request) -> dict[str, str]:
    return dict(request.query)


def _reads(request: Request) -> bool:
    return request.method == "GET"


def is_list(request: Request) -> bool:
    plural = request.path.rpartition("/")[2]
    return request.method == "GET" and plural in _PLURALS and "watch" not in _query(request)


def is_watch(request: Request) -> bool:
    return request.method == "GET" and "watch" in _query(request)


def _writes(request: Request) -> bool:
    return request.method in WRITES and "/leases" not in request.path


def _leases(request: Request) -> bool:
    return "/leases" in request.path


def _exports(request: Request) -> bool:
    """Lists of what mirrors are made of, and of where they are made."""
    return is_list(request) and request.path.endswith(
        ("/services", "/endpointslices", "/links", "/namespaces")
    )


def _easy(request: Request) -> bool:
    """Lists of whoever is content with any version."""
    return is_list(request) and _query(request).get("resourceVersion") == "0"


def _answering(code: int, retry_after: int | None = None) -> Make:
    return lambda _scene, _path: effects.failing(code, retry_after=retry_after)


def _always(effect: Effect) -> Make:
    return lambda _scene, _path: effect


def _late(scene: Scene, _path: Path) -> Effect:
    return late(Random(f"{scene.seed} {scene.loop.time()}").uniform(0.5, 25.0), scene.keep)


def _lagging(scene: Scene, path: Path) -> Effect:
    return lagging(scene.sites[path.where].cluster.store.revision)


_PLURALS = frozenset(
    {"services", "endpointslices", "namespaces", "links", "grants", "secrets", "configmaps"}
)
# What only a comparison with a list brings to light.
LIES = frozenset({"events lost", "events doubled", "events swapped", "lagging watch", "empty list"})
# What each does, to which requests, and whether it keeps events from somebody who is not told.
FAULTS: dict[str, tuple[Make, Callable[[Request], bool], bool]] = {
    "reads delayed": (_always(effects.delayed(5)), _reads, False),
    "writes delayed": (_always(effects.delayed(3)), _writes, False),
    "reads hang": (lambda _, path: effects.hanging(path.faults), _reads, False),
    "answers lost": (_always(effects.lost_answer()), _writes, False),
    "writes late": (_late, _writes, False),
    "401": (_answering(401), _reads, False),
    "403": (_answering(403), is_list, False),
    "403 on watches": (_answering(403), is_watch, False),
    "403 on writes": (_answering(403), _writes, False),
    "404": (_answering(404), _reads, False),
    "409": (_answering(409), _writes, False),
    "410": (_answering(410), is_watch, False),
    "410 in a list": (_answering(410), lambda one: "continue" in _query(one), False),
    "422": (_answering(422), _writes, False),
    "429": (_answering(429, 7), lambda one: not _leases(one), False),
    "500": (_answering(500), lambda one: not _leases(one), False),
    "503": (_answering(503, 2), lambda one: not _leases(one), False),
    "HTML": (_always(effects.answering()), _reads, False),
    "empty list": (_always(effects.empty_list()), _exports, False),
    "items: null": (_always(effects.null_items()), is_list, False),
    "list cut": (_always(effects.cut(100)), is_list, False),
    "watch cut at once": (_always(effects.cut(0)), is_watch, False),
    "watch cut in a word": (_always(effects.cut(300)), is_watch, False),
    "watch silent": (lambda _, path: effects.silent(path.faults), is_watch, True),
    "watch silent later": (lambda _, path: effects.silent(path.faults, 2), is_watch, True),
    "lagging list": (_lagging, _easy, False),
    "lagging watch": (_lagging, is_watch, True),
    "events lost": (_always(effects.events(lambda lines: lines[1:], batch=2)), is_watch, True),
    "events doubled": (
        _always(effects.events(lambda lines: [*lines, *lines], batch=2)),
        is_watch,
        True,
    ),
    "events swapped": (
        _always(effects.events(lambda lines: lines[::-1], batch=2)),
        is_watch,
        True,
    ),
    "lease slow": (_always(effects.delayed(6)), _leases, False),
    "lease 500": (_answering(500), _leases, False),
    "lease answers lost": (
        _always(effects.lost_answer()),
        lambda one: _leases(one) and one.method in WRITES,
        False,
    ),
}


def hurt(scene: Scene, path: Path, name: str, times: int) -> None:
    """Let that happen to so many requests of one line."""
    make, matches, deafens = FAULTS[name]

    def happens() -> None:
        states.count(scene, f"fault: {name}")
        if deafens:
            scene.ledger.is_deaf = True
        if name in LIES:
            scene.ledger.was_lied_to = True
        if name == "empty list" and path.where == "east":
            path.emptied += 1
            # What two lists say is believed, by design.
            scene.ledger.told_twice = scene.ledger.told_twice or path.emptied > 3

    path.faults.add(noted(make(scene, path), happens), matches, times)
