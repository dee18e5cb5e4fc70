"""Pods that run: their names, addresses and programs, on real sockets."""

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from isthmus.embedded.machine.machine import Machine, NoSuchPod
from isthmus.embedded.machine.objects import DEPLOYMENTS, PLAIN_PODS, STATEFUL_SETS, Workload
from isthmus.embedded.machine.programs import PROGRAMS, Site
from isthmus.kube.errors import Unavailable
from isthmus.kube.resources import Resource
from isthmus.model.objects import Key
from isthmus.model.wire import Json, JsonObject
from tests.support.machine import (
    Admin,
    admin,
    answered,
    call,
    cluster,
    deployment,
    headless,
    pod,
    running,
    service,
    session,
    stateful_set,
)
from tests.support.waiting import eventually, until

pytestmark = pytest.mark.sockets


def numbered(count: int) -> list[str]:
    return [f"nginx-set-{number}" for number in range(count)]


async def until_counted(kubectl: Admin, of: Resource[Workload], name: str, replicas: int) -> None:
    """Wait until a workload says that so many pods are there, and ready."""

    async def counted() -> tuple[int, int]:
        status = (await kubectl.client.get(of, Key("default", name))).status
        return status.get("replicas", 0), status.get("readyReplicas", 0)

    await until(counted, lambda found: found == (replicas, replicas))


def container(**more: Json) -> JsonObject:
    ports = [{"name": "http", "containerPort": 80}]
    return {"name": "main", "image": "nginx", "ports": ports, **more}


async def test_a_stateful_set_is_called_by_name_as_it_grows_and_shrinks() -> None:
    objects = headless("nginx-svc", "nginx-set"), stateful_set("nginx-set", 3, "nginx-svc")
    async with running(*objects, pod("curl")) as (machine, kubectl):
        for count in (3, 5, 1):
            await kubectl.change("StatefulSet", "nginx-set", {"spec": {"replicas": count}})
            pods = await kubectl.until_ready(*numbered(count), app="nginx-set")
            addresses = {one.status.pod_ip for one in pods}
            await eventually(lambda wanted=addresses: _found(machine, "nginx-svc") == wanted)  # type: ignore[misc]  # bound now
            for name in numbered(count):
                reply = await call(machine, "curl", f"http://{name}.nginx-svc/")
                assert reply.greeting == name
            await until_counted(kubectl, STATEFUL_SETS, "nginx-set", count)


def _found(machine: Machine, name: str) -> set[str]:
    found = machine.zone.find(f"{name}.default.svc.west.cluster.local")
    return set(found.addresses) if found else set()


async def test_a_deleted_pod_is_born_again_under_its_name_with_another_address() -> None:
    objects = headless("nginx-svc", "nginx-set"), stateful_set("nginx-set", 2, "nginx-svc")
    async with running(*objects, pod("curl")) as (machine, kubectl):
        before = await kubectl.until_ready(*numbered(2), app="nginx-set")
        await kubectl.delete("Pod", "nginx-set-0")
        after = await until(
            lambda: kubectl.until_ready(*numbered(2), app="nginx-set"),
            lambda found: found[0].metadata.uid != before[0].metadata.uid,
        )
        old, new = before[0].status.pod_ip, after[0].status.pod_ip
        assert new != old
        assert after[1] == before[1]
        with pytest.raises(ConnectionRefusedError):
            await machine.connect("curl", old, 80)
        await eventually(lambda: _found(machine, "nginx-set-0.nginx-svc") == {new})
        reply = await call(machine, "curl", "http://nginx-set-0.nginx-svc")
        assert reply.greeting == "nginx-set-0"


async def test_the_pods_of_a_deleted_workload_end() -> None:
    async with running(deployment("web", 2), pod("curl")) as (machine, kubectl):
        await until_counted(kubectl, DEPLOYMENTS, "web", 2)
        addresses = [one.status.pod_ip for one in await kubectl.pods("web")]
        await kubectl.delete("Deployment", "web")
        await kubectl.until_ready(app="web")
        for address in addresses:
            with pytest.raises(ConnectionRefusedError):
                await machine.connect("curl", address, 80)


async def test_a_deployment_rolls_over_to_a_new_template_and_serves_meanwhile() -> None:
    slow = container(lifecycle={"preStop": {"sleep": {"seconds": 1}}})
    objects = deployment("web", 2, containers=[slow]), service("web", "web"), pod("curl")
    async with running(*objects) as (machine, kubectl):
        await until_counted(kubectl, DEPLOYMENTS, "web", 2)
        await answered(machine, "curl", "http://web/")
        before = {one.metadata.uid for one in await kubectl.pods("web")}
        template = {"metadata": {"annotations": {"restarted": "now"}}}
        await kubectl.change("Deployment", "web", {"spec": {"template": template}})
        after = await kubectl.pods("web")
        while len(after) != 2 or any(one.metadata.uid in before for one in after):
            assert (await call(machine, "curl", "http://web/")).status == 200
            after = await kubectl.pods("web")
        assert all(one.metadata.name.startswith("web-") for one in after)


async def test_a_pod_tells_the_api_that_it_runs() -> None:
    async with running(pod("curl", serviceAccountName="default")) as (machine, kubectl):
        (found,) = await kubectl.until_ready("curl")
        assert (found.status.phase, found.spec.node_name) == ("Running", "machine")
        assert found.spec.service_account_name == "default"
        await eventually(lambda: machine.pod("curl") == found)
        with pytest.raises(NoSuchPod, match="no pod default/none runs in cluster west"):
            machine.pod("none")


async def test_a_pod_keeps_its_address_when_the_machine_starts_again() -> None:
    west = cluster("west")
    kubectl = admin(west)
    await kubectl.create(pod("web", "nginx"), pod("curl"))
    async with Machine(west):
        before = await kubectl.until_ready("curl", "web")
    async with Machine(west) as machine:
        await answered(machine, "curl", f"http://{before[1].status.pod_ip}/")
        after = await kubectl.pods()
        assert [one.status for one in after] == [one.status for one in before]


async def test_programs_can_be_brought_along_and_are_tried_again_until_they_start() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def stubborn(site: Site) -> AsyncIterator[None]:
        seen.append(site.address)
        if len(seen) == 1:
            raise OSError(errno.EADDRINUSE, "taken")
        if len(seen) == 2:
            raise Unavailable("not yet")
        async with asyncio.TaskGroup():
            yield
        seen.append("ended")

    image = "registry.example:5000/team/ours:1.2"
    programs = {**PROGRAMS, "ours": stubborn}
    async with running(pod("one", image), programs=programs) as (_, kubectl):
        (found,) = await kubectl.until_ready("one")
        assert seen[0] != seen[1], "an address that is taken is not tried again"
        assert seen[1] == seen[2] == found.status.pod_ip, "another failure is no reason to move"
    assert seen[3:] == ["ended"]


async def test_a_container_that_cannot_start_says_why_and_leaves_the_others_alone() -> None:
    seen: list[str] = []
    repaired = asyncio.Event()

    @asynccontextmanager
    async def first(_site: Site) -> AsyncIterator[None]:
        seen.append("started")
        yield
        seen.append("ended")

    @asynccontextmanager
    async def second(_site: Site) -> AsyncIterator[None]:
        if not repaired.is_set():
            raise OSError(errno.EIO, "out of order")
        yield

    containers = [{"name": name, "image": name} for name in ("first", "second")]
    programs = {"first": first, "second": second}
    async with running(pod("one", containers=containers), programs=programs) as (_, kubectl):

        async def states() -> list[JsonObject]:
            found = await kubectl.client.get(PLAIN_PODS, Key("default", "one"))
            return [one["state"] for one in found["status"].get("containerStatuses", ())]

        up, waits = await until(states, lambda found: len(found) == 2 and "running" in found[0])
        assert "running" in up
        assert waits["waiting"]["reason"] == "RunContainerError"
        assert "out of order" in waits["waiting"]["message"]
        repaired.set()
        await kubectl.until_ready("one")
        assert seen == ["started"]


async def test_a_pod_that_is_deleted_goes_on_for_as_long_as_it_has_asked_for() -> None:
    slow = container(lifecycle={"preStop": {"sleep": {"seconds": 1}}})
    objects = service("web", "web"), pod("web", containers=[slow]), pod("curl")
    async with running(*objects) as (machine, kubectl):
        await answered(machine, "curl", "http://web/")
        await kubectl.delete("Pod", "web")

        async def conditions() -> list[tuple[bool | None, ...]]:
            (one,) = await kubectl.slices("web")
            found = (endpoint.conditions for endpoint in one.endpoints)
            return [(one.ready, one.serving, one.terminating) for one in found]

        await until(conditions, lambda found: found == [(False, True, True)])
        assert (await call(machine, "curl", "http://web/")).greeting == "web"
        await kubectl.until_ready("curl")
        await until(conditions, lambda found: found == [])


async def test_the_default_program_streams_sends_bytes_and_echoes_websockets() -> None:
    objects = service("web", "web"), pod("web", "anything"), pod("curl")
    async with running(*objects) as (machine, _):
        await answered(machine, "curl", "http://web/")
        asked = {"x-forwarded-client-cert": "URI=spiffe://east"}
        reply = await call(machine, "curl", "http://web/", headers=asked)
        assert reply.told == {
            "host": "web",
            "from": machine.pod("curl").status.pod_ip,
            "x-forwarded-client-cert": "URI=spiffe://east",
        }
        streamed = await call(machine, "curl", "http://web/stream?lines=2&pause=0")
        assert streamed.body == "line 0\nline 1\n"
        assert len((await call(machine, "curl", "http://web/bytes/100000")).body) == 100_000
        async with (
            session(machine, "curl") as client,
            client.ws_connect("http://web/websocket") as socket,
        ):
            await socket.send_str("hello")
            assert await socket.receive_str() == "hello"
            await socket.send_bytes(b"\0\1")
            assert await socket.receive_bytes() == b"\0\1"
