"""What can be run inside of a pod, and what kubectl makes of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import pytest
import yaml
from aiohttp import WSMsgType

from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import Served, serve
from isthmus.embedded.machine.machine import Machine
from isthmus.embedded.mesh import callers, inside
from isthmus.model.objects import Key
from tests.support import kubectl as real
from tests.support import machine as machines
from tests.support.machine import Admin, headless, pod, service, stateful_set

pytestmark = pytest.mark.sockets

OBJECTS = (
    *(stateful_set("set", 2, of="svc"), headless("svc", "set")),
    *(pod("curl"), service("nobody", "nobody")),
)
FULL = "set-1.svc.default.svc.west.cluster.local"


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Machine, Served]]:
    """A cluster that is served, with pods in which commands can be run."""
    async with machines.running(*OBJECTS) as (machine, kubectl):
        await kubectl.until_ready("curl", "set-0", "set-1")
        await kubectl.until_served("svc", 2)
        machine.cluster.execute = inside.executing(machine)
        async with serve(machine.cluster) as served:
            yield machine, served


async def run(machine: Machine, line: str) -> tuple[int, str, str]:
    output = await inside.run(callers.here(machine, Key("default", "curl")), line.split())
    return output.code, output.out, output.err


async def test_programs_see_what_the_pod_sees() -> None:
    async with running() as (machine, _):
        own = machine.pod("curl").status.pod_ip
        for name in ("set-1.svc", FULL, "SET-1.svc.default", f"http://{FULL}:80/", f"{FULL}."):
            code, out, err = await run(machine, f"curl -s {name}")
            assert (code, err) == (0, ""), name
            assert out.startswith("Welcome, this is set-1\n")
            assert f"from: {own}\n" in out
        there = machine.pod("set-1").status.pod_ip
        assert await run(machine, "getent hosts set-1.svc") == (0, f"{there:<16}set-1.svc\n", "")
        code, out, _ = await run(machine, "nslookup set-1.svc")
        assert code == 0
        assert out.endswith(f"Name:\tset-1.svc\nAddress: {there}\n")


async def test_curl_shows_and_sends_what_it_is_told_to() -> None:
    async with running() as (machine, _):
        code, out, _ = await run(machine, "curl -si -H x-forwarded-client-cert:me set-0.svc")
        head, _, body = out.partition("\n\n")
        assert (code, head.splitlines()[0]) == (0, "HTTP/1.1 200 OK")
        assert "content-type: text/plain" in head.lower()
        assert "x-forwarded-client-cert: me" in body
        _, out, err = await run(machine, "curl -v set-0.svc")
        assert out.startswith("Welcome")
        assert "> GET set-0.svc\n" in err
        assert "< HTTP/1.1 200 OK\n" in err
        _, out, _ = await run(machine, "curl -I set-0.svc")
        assert out.startswith("HTTP/1.1 200 OK\n")
        assert "Welcome" not in out


@pytest.mark.parametrize(
    "line, code, said",
    [
        pytest.param("curl no-such", 6, "curl: (6) Could not resolve host: no-such\n", id="name"),
        pytest.param("curl http://example.com", 6, "resolve host: example.com\n", id="the world"),
        pytest.param(
            "curl nobody",
            7,
            "curl: (7) Failed to connect to nobody port 80: Connect call failed",
            id="nobody listens",
        ),
        pytest.param("curl -s nobody", 7, "", id="nothing is said in silence"),
        pytest.param("curl -sS no-such", 6, "curl: (6) ", id="unless errors are wanted"),
        pytest.param("curl -m 0.2 set-0.svc/stream?pause=5", 28, "curl: (28) ", id="too late"),
        pytest.param("curl -f set-0.svc/bytes/9999999999", 22, "error: 400\n", id="an error"),
        pytest.param("curl ftp://set-0.svc", 3, "is not the address of a page", id="no page"),
        pytest.param("curl --proxy x y", 2, "curl: unrecognized arguments", id="unknown option"),
        pytest.param("curl -H nonsense set-0.svc", 2, "option -H", id="no header"),
        pytest.param("curl", 2, "curl: the following arguments", id="no URL"),
        pytest.param("getent hosts no-such", 2, "", id="getent"),
        pytest.param("getent passwd root", 2, "getent: ", id="another database"),
        pytest.param("sh -c ls", 127, "'sh': no such program here; there are curl", id="no shell"),
    ],
)
async def test_what_goes_wrong_is_said_as_the_real_program_says_it(
    line: str, code: int, said: str
) -> None:
    async with running() as (machine, _):
        found, out, err = await run(machine, line)
        assert (found, out) == (code, "")
        assert said in err
        assert bool(err) is bool(said)
        assert err.count("\n") <= 1


async def test_a_name_that_is_not_there_is_told_by_nslookup() -> None:
    async with running() as (machine, _):
        code, out, _ = await run(machine, "nslookup no-such")
        assert code == 1
        assert out.endswith("** server can't find no-such: NXDOMAIN\n")


@pytest.mark.skipif(not real.found(), reason="no kubectl on this machine")
async def test_kubectl_runs_them_by_exec(tmp_path: Path) -> None:
    async with running() as (_, served):
        kubectl = real.Kubectl(real.found()[-1], tmp_path)
        kubectl.kubeconfig.write_text(yaml.safe_dump(served.kubeconfig()))
        assert (await kubectl("exec", "curl", "--", "curl", "-s", f"http://{FULL}")).startswith(
            "Welcome, this is set-1\n"
        )
        failed = await kubectl("exec", "curl", "--", "curl", "http://no-such", fails=True)
        assert "curl: (6) Could not resolve host: no-such" in failed
        assert "command terminated with exit code 6" in failed
        nobody = await kubectl("exec", "gone", "--", "curl", "x", fails=True)
        assert 'pods "gone" not found' in nobody


async def asked(served: Served, token: str, path: str) -> tuple[int, bytes]:
    """What is answered to a client that asks for an upgrade."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"{served.url}/api/v1/namespaces/default/pods/{path}", ssl=False) as answer,
    ):
        return answer.status, await answer.read()


@pytest.mark.parametrize(
    "path, status, message",
    [
        pytest.param("gone/exec?command=curl", 404, 'pods "gone" not found', id="no such pod"),
        pytest.param("curl/exec", 400, "at least 1 command", id="no command"),
        pytest.param(
            "curl/exec?command=curl&container=odd",
            400,
            "container odd is not valid for pod curl",
            id="no such container",
        ),
        pytest.param("curl", 404, "the server could not find", id="not a command"),
    ],
)
async def test_what_cannot_be_run_is_refused_before_anything_is_upgraded(
    path: str, status: int, message: str
) -> None:
    async with running() as (machine, served):
        found, body = await asked(served, machine.cluster.admin_token, path)
        assert found == status
        assert message in msgspec.json.decode(body)["message"]


async def test_only_whoever_may_runs_a_command() -> None:
    async with running() as (_, served):
        found, _ = await asked(served, "nonsense", "curl/exec?command=curl")
        assert found == 401


async def test_without_a_machine_nothing_is_run_and_without_an_upgrade_neither() -> None:
    cluster = Cluster("west")
    await Admin(machines.admin(cluster).client).create(pod("curl"))
    async with serve(cluster) as served:
        found, body = await asked(served, cluster.admin_token, "curl/exec?command=curl")
        assert found == 500
        assert "no machine runs this cluster's pods" in msgspec.json.decode(body)["message"]
        headers = {"Authorization": f"Bearer {cluster.admin_token}"}
        url = f"{served.url}/api/v1/namespaces/default/pods/curl/exec?command=curl"
        async with (
            aiohttp.ClientSession() as session,
            session.get(url, headers=headers, ssl=False) as answer,
        ):
            assert answer.status == 400
            assert (await answer.json())["message"] == "Upgrade request required"


async def test_each_message_is_of_one_channel_and_the_last_says_how_it_ended() -> None:
    async with running() as (machine, served):
        headers = {"Authorization": f"Bearer {machine.cluster.admin_token}"}
        url = f"{served.url}/api/v1/namespaces/default/pods/curl/exec?command=curl&command=no-such"
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(
                url, headers=headers, ssl=False, protocols=("v5.channel.k8s.io",)
            ) as socket,
        ):
            assert socket.protocol == "v5.channel.k8s.io"
            said = [one.data async for one in socket if one.type is WSMsgType.BINARY]
        assert [one[0] for one in said] == [2, 3]
        ended = msgspec.json.decode(said[-1][1:])
        assert ended["details"]["causes"] == [{"reason": "ExitCode", "message": "6"}]
