"""A StatefulSet of west, called from east pod by pod, while it grows, shrinks and loses pods."""

from collections.abc import Iterator

import pytest

from lab import objects
from lab.stage import Stage, until

pytestmark = pytest.mark.e2e

NAMES = "{pod}.db-west.default.svc.east.cluster.local"


@pytest.fixture(scope="module")
def db(joined: Stage) -> Iterator[Stage]:
    joined.apply(
        "west", objects.service("db", headless=True), objects.stateful_set("db", 3, governs="db")
    )
    joined.apply("east", objects.caller("client"))
    joined.kubectl("west", "rollout", "status", "statefulset/db", "--timeout=120s")
    joined.kubectl("east", "wait", "--for=condition=Ready", "pod/client", "--timeout=120s")
    yield joined
    joined.kubectl("west", "delete", "statefulset/db", "service/db", "--wait=false")
    joined.kubectl("east", "delete", "pod/client")


def answers(stage: Stage, pod: str) -> None:
    """Wait until the name of ``pod`` leads to that pod; no other may ever answer for it."""
    said = until(
        lambda: stage.curl("east", "client", f"http://{NAMES.format(pod=pod)}"),
        lambda ran: ran.code == 0,
    )
    assert said.output == f"I am {pod}\n"


def mirrors(stage: Stage) -> dict[str, str]:
    """The mirrors in east of west's `db`, with their addresses."""
    found = stage.read("east", "services", "-l", "mirror.linkerd.io/cluster-name=west")["items"]
    specs = {one["metadata"]["name"]: one["spec"]["clusterIP"] for one in found}
    return {name: address for name, address in specs.items() if name.startswith("db")}


def of(count: int) -> set[str]:
    return {"db-west", *(f"db-{number}-west" for number in range(count))}


def test_every_pod_is_called_by_its_own_name(db: Stage) -> None:
    until(lambda: mirrors(db), lambda found: set(found) == of(3))
    for pod in ("db-0", "db-1", "db-2"):
        answers(db, pod)


def test_names_come_and_go_with_pods_and_siblings_keep_their_addresses(db: Stage) -> None:
    before = until(lambda: mirrors(db), lambda found: set(found) == of(3))
    db.kubectl("west", "scale", "statefulset", "db", "--replicas=5")
    grown = until(lambda: mirrors(db), lambda found: set(found) == of(5))
    assert {name: grown[name] for name in before} == before
    for pod in ("db-4", "db-0"):
        answers(db, pod)
    db.kubectl("west", "scale", "statefulset", "db", "--replicas=1")
    shrunk = until(lambda: mirrors(db), lambda found: set(found) == of(1))
    assert shrunk == {name: before[name] for name in of(1)}
    answers(db, "db-0")
    gone = db.curl("east", "client", f"http://{NAMES.format(pod='db-1')}")
    assert "Could not resolve host" in gone.errors


def test_a_pod_that_is_born_again_elsewhere_keeps_its_name(db: Stage) -> None:
    def address() -> str:
        found = db.read("west", "pods", "-l", "app=db", "--field-selector=status.phase=Running")
        return "".join(one["status"].get("podIP", "") for one in found["items"])

    answers(db, "db-0")
    before = address()
    db.kubectl("west", "delete", "pod", "db-0")
    db.kubectl("west", "rollout", "status", "statefulset/db", "--timeout=120s")
    assert address() != before, "its address is a new one, else nothing would be shown here"
    answers(db, "db-0")
