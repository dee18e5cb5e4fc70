"""One run on the lab: Services that are labelled in west and called in east, one after another."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from bench import results
from bench.firstcall.caller import POD, Caller, calling
from bench.firstcall.figures import FirstCalls, Waited
from bench.progress import Progress
from lab import objects, running
from lab.clusters import EAST, ROOT, WEST
from lab.images.loading import load_all
from lab.stage import BOTH, Stage
from lab.versions import ETCD, KUBERNETES

CLUSTERS = (EAST, WEST)
LABEL = "mirror.linkerd.io/exported=true"


def run(services: int) -> FirstCalls:
    load = os.getloadavg()[0]
    with _lab() as stage, calling(stage, "east") as caller:
        progress = Progress("first calls", 2 * services)
        labelled: list[Waited] = []
        created: list[Waited] = []
        for number in range(services):
            labelled.append(_labelled(stage, caller, f"far-{number}"))
            progress.step()
            created.append(_created(stage, caller, f"near-{number}"))
            progress.step()
    return FirstCalls(
        machine=results.machine(KUBERNETES, ETCD),
        date=datetime.now(UTC).date().isoformat(),
        load=load,
        labelled=tuple(labelled),
        created=tuple(created),
    )


def _labelled(stage: Stage, caller: Caller, name: str) -> Waited:
    """Label a Service of west that is there, and call its mirror."""
    stage.apply("west", objects.service(name, app="web", exported=False))
    caller.asks(f"http://{name}-west")
    return _waited(caller, lambda: stage.kubectl("west", "label", "service", name, LABEL))


def _created(stage: Stage, caller: Caller, name: str) -> Waited:
    """Create a Service of east whose pods are there, and call it."""
    caller.asks(f"http://{name}")
    return _waited(
        caller, lambda: stage.apply("east", objects.service(name, app="web", exported=False))
    )


def _waited(caller: Caller, types: Callable[[], object]) -> Waited:
    began = time.time()
    types()
    typed = time.time() - began
    return Waited(typed=typed, answered=caller.answered() - began)


@contextmanager
def _lab() -> Iterator[Stage]:
    """Two fresh clusters with Isthmus, something to call in each, and a pod that calls."""
    running.down()
    running.up(CLUSTERS)
    try:
        load_all(CLUSTERS)
        stage = Stage(ROOT / "stage", CLUSTERS)
        stage.folder.mkdir(exist_ok=True)
        for context in BOTH:
            stage.install(context)
        stage.connect("east", "west")
        stage.apply("east", objects.caller(POD))
        for context in BOTH:
            stage.apply(context, objects.deployment("web", 2))
            stage.kubectl(context, "rollout", "status", "deployment/web", "--timeout=180s")
        stage.kubectl("east", "wait", "--for=condition=Ready", f"pod/{POD}", "--timeout=120s")
        yield stage
    finally:
        running.down()
