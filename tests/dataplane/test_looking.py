"""What ``isthmus stat`` and ``isthmus services`` say about real Envoys that really carry calls."""

import pytest

from isthmus.cli.looking import sharing
from isthmus.cli.looking.golden import Line
from isthmus.cli.looking.sampling import Sample, Wanted, sampled
from isthmus.runtime.clock import SystemClock
from tests.dataplane.fleet import served
from tests.dataplane.joined import Side, account, pair
from tests.support.machine import deployment, pod, service
from tests.support.waiting import until

pytestmark = pytest.mark.sockets

WEB = (deployment("web", 1), service("web", "web"))
TCP = [{"name": "tcp", "port": 7000, "targetPort": "http", "appProtocol": "tcp"}]
ECHO = (deployment("echo", 1, "isthmus.dev/echo"), service("echo", "echo", ports=TCP))
CALLS, REFUSED = 7, 2


async def looked(side: Side) -> Sample:
    wanted = Wanted(namespace="isthmus", seconds=None)
    return await sampled(side.client, wanted, SystemClock(), lambda _: None)


async def test_both_ends_count_the_same_calls_and_say_who_was_denied() -> None:
    callers = (pod("curl"), account("other"), pod("other", serviceAccountName="other"))
    only = {"from": {"serviceAccounts": ["default/default"]}}
    async with pair(east=callers, west=(*WEB, *ECHO), grant=only) as two:
        await two.west.export("web")
        await two.west.export("echo")
        await served(two.east, "web-west", "echo-west")
        before = {side.name: await looked(side) for side in (two.east, two.west)}
        for caller, count in (("curl", CALLS), ("other", REFUSED)):
            for _ in range(count):
                await two.east.call(caller, "http://web-west/")
        reader, writer = await two.east.machine.connect("curl", "echo-west", 7000)
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        writer.close()
        sent = await until(lambda: looked(two.east), lambda found: _requests(found) == 9)
        received = await until(lambda: looked(two.west), lambda found: _requests(found) == 7)
        out = {one.line.service: one for one in sent.traffic}
        assert out["web-west"].line == Line("out", "west", "default", "web-west")
        assert out["web-west"].success == 1.0
        assert (out["echo-west"].requests, out["echo-west"].received) == (None, 5)
        inside = {one.line.service: one for one in received.traffic}
        assert inside["web"].line == Line("in", "", "default", "web")
        assert (inside["echo"].received, inside["echo"].sent) == (5, 5)
        assert _denied(received, "NoGrant") - _denied(before["west"], "NoGrant") == REFUSED
        imported = await sharing.look(two.east.client, sharing.Wanted(exports=False))
        assert {(one.key.name, one.state) for one in imported.mirrors or ()} == {
            ("web-west", "ready"),
            ("echo-west", "ready"),
        }
        exported = await sharing.look(two.west.client, sharing.Wanted(mirrors=False))
        assert [(one.key.name, str(one.endpoints)) for one in exported.exports or ()] == [
            ("echo", "1/1"),
            ("web", "1/1"),
        ]
        assert {str(given) for one in exported.exports or () for given in one.granted} == {
            "east(default/default)"
        }


def _requests(found: Sample) -> float:
    return sum(one.requests or 0 for one in found.traffic)


def _denied(found: Sample, reason: str) -> float:
    return sum(one.count for one in found.denials if one.reason == reason)
