"""Leader election on each server: what we write is valid there, and exclusive."""

import asyncio
from datetime import timedelta
from random import Random

import pytest

from isthmus.kube.client import Client
from isthmus.kube.election import Election, StoredLease
from isthmus.kube.errors import AlreadyExists, Conflict
from isthmus.kube.lease import Acquire, Candidate, Moment, Observed, Renew, Timing, decide
from isthmus.model.objects import Key
from isthmus.runtime.clock import SystemClock
from tests.contract.server import Server

BRISK = Timing(duration=3, renew=2, retry=0.2, attempt=1, margin=0.5)


def candidate(server: Server, name: str) -> Candidate:
    return Candidate(key=Key(server.namespace, "leader"), identity=name, timing=BRISK)


async def test_only_one_of_two_creates_and_only_one_of_two_replaces(server: Server) -> None:
    me = candidate(server, "me")
    clock = SystemClock()
    moment = Moment(clock.now(), clock.utc())
    lease = StoredLease(Client(server.transport(None)), me.key)
    assert await lease.read() is None
    wanted = decide(Observed(None, 0.0), me, moment)
    assert isinstance(wanted, Acquire)
    made = await lease.create(wanted.lease)
    assert made.spec == wanted.lease.spec
    with pytest.raises(AlreadyExists):
        await lease.create(wanted.lease)
    later = Moment(moment.now + 1, moment.utc + timedelta(seconds=1))
    renewal = decide(Observed(made, 0.0), me, later)
    assert isinstance(renewal, Renew)
    renewed = await lease.replace(renewal.lease)
    assert await lease.read() == renewed
    with pytest.raises(Conflict):
        await lease.replace(renewal.lease)


async def test_candidates_lead_one_after_the_other(server: Server) -> None:
    working: set[str] = set()
    order: list[str] = []

    async def lead(name: str) -> None:
        async def work() -> None:
            assert not working
            working.add(name)
            order.append(name)
            await asyncio.sleep(0.5)  # long enough for renewals
            working.discard(name)

        me = candidate(server, name)
        lease = StoredLease(Client(server.transport(None)), me.key)
        overruns: list[str] = []
        election = Election(lease, me, SystemClock(), Random(name), lambda: overruns.append(name))
        await election.lead(work)
        assert not overruns

    async with asyncio.TaskGroup() as group:
        for name in ("a", "b", "c"):
            group.create_task(lead(name))
    assert sorted(order) == ["a", "b", "c"]
    final = await server.get("leases/leader")
    assert final.ok["spec"].get("holderIdentity", "") == ""
    assert final.ok["spec"]["leaseTransitions"] == 2
