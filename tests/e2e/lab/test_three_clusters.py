"""Three clusters, linked in many ways: each imports what the others have, and nothing twice."""

from collections.abc import Iterator
from functools import partial

import pytest

from lab import objects
from lab.stage import Stage, until

pytestmark = pytest.mark.e2e

LINKS = (("west", "east"), ("north", "east"), ("north", "west"))  # beside east to west


@pytest.fixture(scope="module")
def ring(three: Stage) -> Iterator[Stage]:
    """East and west import from each other, north from both; each has a Service `web`."""
    for source, target in LINKS:
        three.connect(source, target)
    for context in ("east", "west"):
        three.apply(context, objects.service("web"), objects.deployment("web"))
        three.kubectl(context, "rollout", "status", "deployment/web", "--timeout=120s")
    three.apply("north", objects.caller("client"))
    three.kubectl("north", "wait", "--for=condition=Ready", "pod/client", "--timeout=120s")
    yield three
    for context in ("east", "west"):
        three.kubectl(context, "delete", "deployment/web", "service/web")
    for source, target in LINKS:
        three.isthmus(source, "unlink", target, "--apply")
        three.isthmus(target, "deny", source, "--apply")
    three.isthmus("west", "allow", "east", "--apply")


def mirrors(stage: Stage, context: str) -> set[str]:
    return set(stage.names(context, "services", "-l", "mirror.linkerd.io/mirrored-service=true"))


def test_each_imports_what_the_others_have_and_no_mirror_goes_round(ring: Stage) -> None:
    expected = {"north": {"web-east", "web-west"}, "east": {"web-west"}, "west": {"web-east"}}
    for context, names in expected.items():
        until(partial(mirrors, ring, context), names.__eq__)


def test_the_same_name_of_two_clusters_leads_to_each(ring: Stage) -> None:
    for target in ("east", "west"):
        until(
            partial(ring.curl, "north", "client", f"http://web-{target}/who"),
            lambda ran: "URI=spiffe://north.isthmus/ns/default/sa/default" in ran.output,
        )
        (pod,) = ring.names(target, "pods", "-l", "app=web")
        said = ring.curl("north", "client", f"http://web-{target}").well
        assert said == f"I am {pod}\n"


def test_a_mirror_that_somebody_labels_for_export_goes_no_further(ring: Stage) -> None:
    until(lambda: mirrors(ring, "east"), {"web-west"}.__eq__)
    ring.kubectl("east", "label", "service", "web-west", "mirror.linkerd.io/exported=true")
    # Something that is exported after it is the sign that the others have seen it, too.
    ring.apply("east", objects.service("later", app="web"))
    until(lambda: mirrors(ring, "north"), lambda found: "later-east" in found)
    assert "web-west-east" not in mirrors(ring, "north") | mirrors(ring, "west")
    ring.kubectl("east", "delete", "service/later")
    until(lambda: mirrors(ring, "north"), lambda found: "later-east" not in found)
