"""What calls and mirrors do while an API server, the network or a whole node is away."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab import objects, running
from lab.stage import Stage, until
from tests.e2e.lab.cut import cut
from tests.e2e.lab.load import Load, failed

pytestmark = pytest.mark.e2e

MINUTE = 60.0


@contextmanager
def without_api_server(stage: Stage, context: str) -> Iterator[None]:
    running.hold(stage.cluster(context), "kube-apiserver")
    try:
        yield
    finally:
        running.release(stage.cluster(context), "kube-apiserver")


def follows(stage: Stage, name: str) -> None:
    """What is exported now is mirrored, and what goes is gone."""
    stage.apply("west", objects.service(name, app="web"))
    until(lambda: stage.names("east", "services"), lambda found: f"{name}-west" in found)
    stage.kubectl("west", "delete", f"service/{name}")
    until(lambda: stage.names("east", "services"), lambda found: f"{name}-west" not in found)


def endpoints(stage: Stage) -> list[object]:
    found = stage.read("east", "endpointslices", "-l", "kubernetes.io/service-name=web-west")
    return [one["endpoints"] for one in found["items"]]


@pytest.mark.parametrize("context", ["east", "west"])
def test_no_call_fails_while_an_api_server_is_away_for_a_minute(
    calls: Load, web: Stage, context: str
) -> None:
    before = endpoints(web)
    with without_api_server(web, context):
        ends = time.monotonic() + MINUTE
        # Whoever can still be asked sees that nothing changes.
        until(time.monotonic, lambda now: now > ends)
    calls.goes_on()
    assert failed(calls.calls()) == []
    assert endpoints(web) == before
    follows(web, f"after-{context}")


def test_mirrors_stay_while_the_network_between_clusters_is_cut_and_calls_come_back(
    calls: Load, web: Stage
) -> None:
    names = web.names("east", "services")
    with cut(web.cluster("east"), web.cluster("west")):
        ends = time.monotonic() + 2 * MINUTE
        until(
            lambda: web.names("east", "services") != names or time.monotonic() > ends,
            bool,
            within=150,
        )
        assert web.names("east", "services") == names, "absence is not a deletion"
        gateways = web.isthmus("east", "gateways")
        assert "False" in gateways, "the gateway is seen to be dead"
        during = len(calls.calls())
    assert failed(calls.calls()[:during]), "nothing was cut, so nothing was shown"
    calls.goes_on()
    web.isthmus("east", "check", "--wait", "120")
    follows(web, "after-cut")


@pytest.mark.parametrize("context", ["west", "east"])
def test_everything_comes_back_after_a_power_cut(calls: Load, web: Stage, context: str) -> None:
    names = web.names("east", "services")
    running.reboot(web.cluster(context))
    # A pod that lived on the node that was cut starts anew, and so does its log.
    calls.goes_on()
    assert web.names("east", "services") == names
    for each in ("east", "west"):
        web.isthmus(each, "check", "--wait", "300")
    follows(web, f"after-reboot-{context}")
