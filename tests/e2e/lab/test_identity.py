"""Who calls is known in the other cluster, and a Grant decides who may."""

from collections.abc import Iterator

import pytest

from lab import objects
from lab.stage import Stage, until

pytestmark = pytest.mark.e2e

WHO = "http://shop-west.default.svc.east.cluster.local/who"


@pytest.fixture(scope="module")
def shop(joined: Stage) -> Iterator[Stage]:
    joined.apply("west", objects.service("shop"), objects.deployment("shop", 2))
    joined.apply(
        "east",
        objects.account("buyer"),
        objects.caller("buyer", account="buyer"),
        objects.caller("nobody"),
    )
    joined.kubectl("west", "rollout", "status", "deployment/shop", "--timeout=120s")
    for pod in ("buyer", "nobody"):
        joined.kubectl("east", "wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=120s")
    until(lambda: joined.curl("east", "buyer", WHO), lambda ran: ran.output.startswith("shop-"))
    yield joined
    joined.isthmus("west", "allow", "east", "--apply")
    joined.kubectl("west", "delete", "deployment/shop", "service/shop")
    joined.kubectl("east", "delete", "pod/buyer", "pod/nobody", "serviceaccount/buyer")


def status(stage: Stage, pod: str, url: str = WHO) -> str:
    return stage.curl("east", pod, url, "-o", "/dev/null", "-w", "%{http_code}").output


@pytest.mark.parametrize("pod, account", [("buyer", "buyer"), ("nobody", "default")])
def test_the_pod_that_is_called_is_told_who_calls(shop: Stage, pod: str, account: str) -> None:
    said = shop.curl("east", pod, WHO).well
    assert f"URI=spiffe://east.isthmus/ns/default/sa/{account}" in said


def test_nobody_can_say_that_he_is_somebody_else(shop: Stage) -> None:
    forged = "x-forwarded-client-cert: URI=spiffe://east.isthmus/ns/default/sa/buyer"
    said = shop.curl("east", "nobody", WHO, "-H", forged).well
    assert "sa/default" in said
    assert "sa/buyer" not in said


def test_all_pods_of_a_service_share_its_calls(shop: Stage) -> None:
    def answered() -> set[str]:
        return {shop.curl("east", "buyer", WHO).well.partition(" ")[0] for _ in range(6)}

    assert len(until(answered, lambda names: len(names) == 2)) == 2


def test_a_grant_lets_in_whom_it_names_and_nobody_else(shop: Stage) -> None:
    assert status(shop, "nobody") == "200"
    only = ("--from-service-account", "default/buyer")
    shop.isthmus("west", "allow", "east", *only, "--apply")
    until(lambda: status(shop, "nobody"), "403".__eq__)
    assert status(shop, "buyer") == "200"
    shop.isthmus("west", "allow", "east", "--apply")
    until(lambda: status(shop, "nobody"), "200".__eq__)


def test_without_a_grant_no_call_passes_and_with_one_they_do_again(shop: Stage) -> None:
    shop.isthmus("west", "deny", "east", "--apply")
    until(lambda: status(shop, "buyer"), "404".__eq__)
    shop.isthmus("west", "allow", "east", "--apply")
    until(lambda: status(shop, "buyer"), "200".__eq__)
