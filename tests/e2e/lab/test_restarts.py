"""Nobody who calls a mirror notices that a part of Isthmus is replaced, or lost and back."""

from functools import partial

import pytest

from lab import objects
from lab.stage import Stage, until
from tests.e2e.lab.load import Load, failed

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    "context, workload",
    [
        ("west", "isthmus-gateway"),
        ("east", "isthmus-egress"),
        ("west", "isthmus-controller"),
        ("east", "isthmus-controller"),
    ],
)
def test_no_call_fails_while_a_workload_is_rolled_out_anew(
    calls: Load, web: Stage, context: str, workload: str
) -> None:
    isthmus = ("--namespace", "isthmus")
    web.kubectl(context, *isthmus, "rollout", "restart", f"deployment/{workload}")
    web.kubectl(context, *isthmus, "rollout", "status", f"deployment/{workload}", "--timeout=300s")
    # The old pod is still there for its callers; the story ends when it has gone.
    until(
        lambda: web.names(context, "pods", *isthmus, "-l", f"app.kubernetes.io/name={workload}"),
        lambda pods: len(pods) == 1,
    )
    calls.goes_on()
    assert failed(calls.calls()) == []


def test_no_call_fails_while_a_killed_controller_comes_back(calls: Load, web: Stage) -> None:
    pods = ("pods", "--namespace", "isthmus", "-l", "app.kubernetes.io/name=isthmus-controller")

    def restarts(context: str) -> int:
        (pod,) = web.read(context, *pods)["items"]
        return int(pod["status"]["containerStatuses"][0]["restartCount"])

    for context in ("east", "west"):
        before = restarts(context)
        web.kill(context, "/opt/isthmus/bin/isthmus", "controller")
        until(partial(restarts, context), (before + 1).__eq__)
    for context in ("east", "west"):
        web.isthmus(context, "check", "--wait", "300")
    calls.goes_on()
    assert failed(calls.calls()) == []
    # And it works: what is exported now is mirrored.
    web.apply("west", objects.service("late", app="web"))
    until(lambda: web.names("east", "services"), lambda found: "late-west" in found)
    web.kubectl("west", "delete", "service/late")
    until(lambda: web.names("east", "services"), lambda found: "late-west" not in found)
