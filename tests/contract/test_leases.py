"""Leases: small records with exact times."""

import pytest

from isthmus.model.wire import JsonObject
from tests.contract.objects import lease
from tests.contract.server import Server

MICRO = "2026-01-01T00:00:00.123456Z"
SECOND = "2026-01-01T00:00:00Z"


async def test_a_lease_keeps_microseconds(server: Server) -> None:
    spec = {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": MICRO,
        "renewTime": "2026-01-01T00:00:00.500000Z",
        "leaseTransitions": 3,
    }
    made = (await server.create("leases", {**lease(), "spec": spec})).ok
    assert made["spec"] == spec
    assert "generation" not in made["metadata"]


@pytest.mark.parametrize(
    "spec", [{}, {"holderIdentity": ""}, {"renewTime": None}, {"leaseTransitions": 0}]
)
async def test_a_lease_may_be_vague(server: Server, spec: JsonObject) -> None:
    made = (await server.create("leases", {**lease(), "spec": spec})).ok
    assert made["spec"] == {key: value for key, value in spec.items() if value is not None}


@pytest.mark.parametrize(
    "spec, field, message",
    [
        pytest.param(
            {"leaseDurationSeconds": 0},
            "leaseDurationSeconds",
            "Invalid value: 0: must be greater than 0",
            id="no duration",
        ),
        pytest.param(
            {"leaseTransitions": -1},
            "leaseTransitions",
            "Invalid value: -1: must be greater than or equal to 0",
            id="negative transitions",
        ),
    ],
)
async def test_bad_leases(server: Server, spec: JsonObject, field: str, message: str) -> None:
    reply = await server.create("leases", {**lease(), "spec": spec})
    assert reply.refusal == (
        422,
        "Invalid",
        f'Lease.coordination.k8s.io "leader" is invalid: spec.{field}: {message}',
    )


@pytest.mark.parametrize("text", [SECOND, "yesterday"])
async def test_a_lease_wants_microseconds(server: Server, text: str) -> None:
    reply = await server.create("leases", {**lease(), "spec": {"renewTime": text}})
    code, reason, message = reply.refusal
    assert (code, reason) == (400, "BadRequest")
    assert message.startswith(
        f'Lease in version "v1" cannot be handled as a Lease: parsing time "{text}"'
    )


async def test_only_one_candidate_takes_a_lease(server: Server) -> None:
    seen = (await server.create("leases", lease(holder=""))).ok
    taken = [
        (await server.replace("leases/leader", {**seen, "spec": {"holderIdentity": who}})).code
        for who in ("one", "two")
    ]
    assert taken == [200, 409]
    assert (await server.get("leases/leader")).ok["spec"]["holderIdentity"] == "one"
