"""Passing a request on to a pod: who may, and what is said where there is no pod to ask.

No server of the contract runs pods: what a pod answers is shown in ``tests/embedded/api``.
"""

import pytest

from tests.contract.objects import account, pod
from tests.contract.server import Server
from tests.contract.test_access import grant, robot
from tests.support.waiting import until


async def test_a_pod_that_does_not_exist_is_not_found(server: Server) -> None:
    reply = await server.get("pods/none:9990/proxy/metrics")
    assert reply.refusal == (404, "NotFound", 'pods "none" not found')


async def test_a_pod_without_an_address_cannot_be_asked(server: Server) -> None:
    await server.create("serviceaccounts", account("default"))
    assert (await server.create("pods", pod("new"))).code == 201
    reply = await server.get("pods/new:9990/proxy/metrics")
    assert reply.refusal == (400, "BadRequest", "address not allowed")


async def test_a_port_is_a_part_of_the_name(server: Server) -> None:
    reply = await server.get("pods/:9990/proxy/metrics")
    assert reply.refusal == (400, "BadRequest", 'invalid pod request ":9990"')


@pytest.mark.parametrize("resources", [["pods"], ["pods/status"], ["services/proxy"]])
async def test_other_rights_are_not_enough(server: Server, resources: list[str]) -> None:
    nobody = await robot(server)
    await grant(server, resources=resources, verbs=["*"])
    refused = await nobody.get("pods/none:9990/proxy/metrics")
    assert refused.refusal == (
        403,
        "Forbidden",
        f'pods "none:9990" is forbidden: User "system:serviceaccount:{server.namespace}:robot" '
        f'cannot get resource "pods/proxy" in API group "" in the namespace "{server.namespace}"',
    )


async def test_the_right_is_to_get_pods_proxy(server: Server) -> None:
    nobody = await robot(server)
    await grant(server, resources=["pods/proxy"], verbs=["get"])
    await until(
        lambda: nobody.get("pods/none:9990/proxy/metrics"),
        lambda reply: reply.code == 404,
        within=20,
    )


async def test_the_right_may_be_that_to_one_port_of_one_pod(server: Server) -> None:
    nobody = await robot(server)
    await grant(server, resources=["pods/proxy"], verbs=["get"], resourceNames=["none:9990"])
    await until(
        lambda: nobody.get("pods/none:9990/proxy/metrics"),
        lambda reply: reply.code == 404,
        within=20,
    )
    assert (await nobody.get("pods/none:9991/proxy/metrics")).code == 403
