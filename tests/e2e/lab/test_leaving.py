"""Whoever leaves finds both clusters as they were: every object, with every field."""

from collections.abc import Iterator
from functools import partial

import pytest

from lab import objects
from lab.stage import BOTH, Stage, until
from tests.e2e.lab.everything import everything

pytestmark = pytest.mark.e2e

LABEL = "mirror.linkerd.io/exported"


@pytest.fixture(scope="module")
def shop(bare: Stage) -> Iterator[Stage]:
    """Somebody's clusters, in use before Isthmus came."""
    web = objects.service("web", exported=False)
    db = objects.service("db", headless=True, exported=False)
    bare.apply(
        "west", web, objects.deployment("web"), db, objects.stateful_set("db", 2, governs="db")
    )
    bare.apply("east", objects.caller("client"))
    bare.kubectl("west", "rollout", "status", "deployment/web", "--timeout=120s")
    bare.kubectl("west", "rollout", "status", "statefulset/db", "--timeout=120s")
    bare.kubectl("east", "wait", "--for=condition=Ready", "pod/client", "--timeout=120s")
    yield bare
    bare.kubectl("west", "delete", "deployment/web", "statefulset/db", "service/web", "service/db")
    bare.kubectl("east", "delete", "pod/client")


def test_unlink_and_uninstall_leave_both_clusters_as_they_were(
    shop: Stage, request: pytest.FixtureRequest
) -> None:
    before = {context: everything(shop, context) for context in BOTH}
    assert len(before["west"]) > 50, "a comparison of nothing would always succeed"
    request.getfixturevalue("joined")
    for name in ("web", "db"):
        shop.kubectl("west", "label", "service", name, f"{LABEL}=true")
    mirrored = {"web-west", "db-west", "db-0-west", "db-1-west"}
    until(lambda: set(shop.names("east", "services")), lambda found: mirrored <= found)
    until(lambda: shop.curl("east", "client", "http://web-west"), lambda ran: ran.code == 0)
    refused = shop.shell("isthmus --context east uninstall --apply")
    assert refused.code != 0
    assert "west" in refused.errors, "it names the Link that is in the way"
    for name in ("web", "db"):
        shop.kubectl("west", "label", "service", name, f"{LABEL}-")
    shop.isthmus("east", "unlink", "west", "--apply")
    shop.isthmus("west", "deny", "east", "--apply")
    for context in BOTH:
        shop.isthmus(context, "uninstall", "--apply")
    for context in BOTH:
        until(partial(everything, shop, context), before[context].__eq__, within=60)
