"""Waiting for what is being deleted: not without end, and not for what nobody may see."""

import pytest

from isthmus.cli.installing.ending import Ending, StillEnding
from isthmus.cli.progress import Progress
from isthmus.embedded.faults import effects
from isthmus.kube.plain import KINDS
from tests.apps.clusters import Place, VirtualClock, place

SERVICES, NAMESPACES = KINDS["Service"], KINDS["Namespace"]


async def held() -> Place:
    """A cluster whose namespace isthmus is deleted, and kept by a Service that does not go."""
    west = place("west")
    await west.create(NAMESPACES, {"metadata": {"name": "isthmus"}})
    metadata = {"name": "web", "namespace": "isthmus", "finalizers": ["example.com/held"]}
    await west.create(SERVICES, {"metadata": metadata, "spec": {"ports": [{"port": 80}]}})
    await west.delete(NAMESPACES, "isthmus")
    return west


def ending(west: Place) -> Ending:
    return Ending(west.client, VirtualClock(), Progress(lambda _: None), patience=60.0)


async def test_what_does_not_go_is_waited_for_as_long_as_is_wished() -> None:
    west = await held()
    began = VirtualClock().now()
    with pytest.raises(StillEnding, match=r"^namespace/isthmus: deleted, and not gone after 60 s"):
        await ending(west).until_gone("isthmus")
    assert 60 <= VirtualClock().now() - began <= 61


async def test_whoever_may_not_look_does_not_wait() -> None:
    """All rights that are missing are told at once, by whoever asks for them afterwards."""
    west = await held()
    west.cluster.faults.add(effects.failing(403))
    began = VirtualClock().now()
    await ending(west).until_gone("isthmus")
    assert VirtualClock().now() == began
