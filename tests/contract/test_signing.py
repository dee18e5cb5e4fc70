"""Who gets a certificate, where the API server says whose a token is."""

from datetime import UTC, datetime
from functools import partial
from operator import eq

import pytest

from isthmus.apps.controller.certifying.refusal import Refused
from isthmus.apps.controller.certifying.signing import Signing
from isthmus.apps.controller.certifying.tokens import Tokens
from isthmus.kube.client import Client
from isthmus.pki import bundle
from isthmus.pki.keys import read_certificates
from isthmus.pki.verify import pod_of, verify
from isthmus.runtime.clock import SystemClock
from tests.apps.signers import CSR, Bytes
from tests.apps.trusting import anchor, given, issuer
from tests.contract.objects import account, pod
from tests.contract.server import Server
from tests.contract.test_access import token
from tests.support.pki import NOW
from tests.support.waiting import until

ABOVE = anchor(NOW)
EAST = issuer(ABOVE, now=NOW)
OURS = "isthmus.dev/east"
GOOD = "a certificate"


def office(server: Server) -> Signing:
    """The part of east's controller that signs, with this server for its own."""
    clock = SystemClock()
    authority = given(ABOVE, EAST, clock)
    tokens = Tokens(Client(server.transport(None)), authority.identity, clock)
    return Signing(authority, tokens, clock)


async def furnish(server: Server) -> None:
    """Create an account, and a pod of it. Nobody runs it, which no token depends on."""
    await server.create("serviceaccounts", account())
    body = pod("bound")
    body["spec"]["serviceAccountName"] = "robot"
    assert (await server.create("pods", body)).code == 201


async def mounted(server: Server, audience: str = OURS) -> str:
    """Return a token as the kubelet requests it for a pod."""
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "bound"}
    return await token(server, audiences=[audience], boundObjectRef=reference)


async def answer(signing: Signing, bearer: str) -> str:
    try:
        await signing.sign("10.1.0.1", [f"Bearer {bearer}"], Bytes([CSR]))
    except Refused as refused:
        return refused.reason.name
    return GOOD


async def test_the_token_of_a_pod_is_good_for_a_certificate_of_its_account(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    await furnish(server)
    caplog.set_level("INFO")
    bearer = await mounted(server)
    signed = await office(server).sign("10.1.0.1", [f"Bearer {bearer}"], Bytes([CSR]))
    chain = read_certificates(signed.chain, "the chain")
    found = verify(chain, bundle.parse(signed.anchors), datetime.now(UTC))
    assert str(found) == f"spiffe://east.isthmus/ns/{server.namespace}/sa/robot"
    assert pod_of(chain[0]) == "bound"
    [line] = [one for one in caplog.records if one.message == "certificate issued"]
    assert line.__dict__["pod"] == "bound"


async def test_a_token_that_is_meant_for_others_is_good_for_nothing(server: Server) -> None:
    await furnish(server)
    signing = office(server)
    for other in ("isthmus.dev/west", "https://kubernetes.default.svc.cluster.local"):
        assert await answer(signing, await mounted(server, other)) == "UNAUTHENTICATED"
    assert signing.issued == 0


async def test_a_token_that_is_not_bound_to_a_pod_is_good_for_nothing(server: Server) -> None:
    await furnish(server)
    signing = office(server)
    assert await answer(signing, await token(server, audiences=[OURS])) == "FORBIDDEN"
    assert signing.issued == 0


async def test_a_token_is_good_for_nothing_once_its_pod_is_deleted(server: Server) -> None:
    await furnish(server)
    signing = office(server)
    # One that nobody has used: what a server has proven, it remembers for some seconds.
    old = await mounted(server)
    await server.call("DELETE", "pods/bound", gracePeriodSeconds=0)
    await until(partial(answer, signing, old), partial(eq, "UNAUTHENTICATED"), within=30)
    # A pod of the same name is another one.
    await furnish(server)
    assert await answer(signing, old) == "UNAUTHENTICATED"
    assert await answer(signing, await mounted(server)) == GOOD
