"""What users of joined clusters do, through real Envoys: call by name, and be refused in time."""

import socket

import aiohttp
import pytest
from prometheus_client import generate_latest

from isthmus.apps.controller.metrics import registry
from isthmus.core import listeners
from isthmus.embedded.machine.records import Unresolved
from isthmus.kube.errors import NotFound
from isthmus.kube.resources import CONFIG_MAPS, LINKS
from isthmus.model.objects import Key
from isthmus.pki import reports
from isthmus.xds.late import ROOMS
from tests.dataplane.joined import Pair, account, pair
from tests.support.machine import deployment, headless, pod, service, stateful_set
from tests.support.waiting import until

pytestmark = pytest.mark.sockets

SET = (stateful_set("nginx-set", 3, of="nginx-svc"), headless("nginx-svc", "nginx-set"))
WEB = (deployment("web", 2), service("web", "web"))
CURL = pod("curl", serviceAccountName="default")
OTHER = (account("other"), pod("other", serviceAccountName="other"))
SOON = 5.0  # seconds


async def greeting(two: Pair, url: str, caller: str = "curl") -> str:
    """Return which pod answers; or, in brackets, what came instead."""
    try:
        reply = await two.east.call(caller, url)
    except (OSError, aiohttp.ClientError, Unresolved) as error:
        return f"[{type(error).__name__}]"
    return reply.greeting if reply.status == 200 else f"[{reply.status}]"


async def answered(two: Pair, url: str) -> str:
    return await until(lambda: greeting(two, url), lambda found: not found.startswith("["))


async def refused(two: Pair, url: str) -> str:
    """Wait until calls are refused; whoever waits too long fails."""
    return await until(lambda: greeting(two, url), lambda found: found.startswith("["), within=SOON)


async def test_a_call_by_name_is_answered_by_that_very_pod() -> None:
    async with pair(east=(CURL,), west=SET) as two:
        await two.west.export("nginx-svc")
        for number in (0, 1, 2):
            url = f"http://nginx-set-{number}.nginx-svc-west/"
            assert await answered(two, url) == f"nginx-set-{number}"
        reply = await two.east.call("curl", "http://nginx-set-2.nginx-svc-west/")
        assert reply.told["host"] == "nginx-set-2.nginx-svc-west"
        parts = dict(
            part.split("=", 1) for part in reply.told["x-forwarded-client-cert"].split(";")
        )
        assert parts["URI"] == "spiffe://east.isthmus/ns/default/sa/default"
        assert parts["By"] == "spiffe://west.isthmus/ns/isthmus/sa/isthmus-gateway"


async def test_a_mirror_leads_to_all_pods() -> None:
    async with pair(east=(CURL,), west=WEB) as two:
        await two.west.export("web")
        await answered(two, "http://web-west/")
        pods = {one.metadata.name for one in await two.west.kubectl.pods("web")}
        found = [await greeting(two, "http://web-west/") for _ in range(20)]
        assert set(found) == pods


async def test_a_revoked_grant_ends_calls_and_a_new_one_lets_them_pass() -> None:
    async with pair(east=(CURL,), west=WEB) as two:
        await two.west.export("web")
        await answered(two, "http://web-west/")
        await two.west.revoke("east")
        assert await refused(two, "http://web-west/") == "[404]"
        await two.west.grant("east")
        await answered(two, "http://web-west/")


async def test_a_grant_is_for_those_whom_it_names() -> None:
    accounts = {"serviceAccounts": ["default/default"]}
    async with pair(east=(CURL, *OTHER), west=WEB, grant={"from": accounts}) as two:
        await two.west.export("web")
        await answered(two, "http://web-west/")
        assert await greeting(two, "http://web-west/", caller="other") == "[403]"


async def test_what_is_not_exported_any_more_cannot_be_called() -> None:
    async with pair(east=(CURL,), west=(*WEB, *SET)) as two:
        await two.west.export("web")
        await two.west.export("nginx-svc")
        await answered(two, "http://web-west/")
        listener = await two.east.listener("web-west")
        await two.west.export("web", None)
        await refused(two, f"http://{listener}/")
        await answered(two, "http://nginx-set-0.nginx-svc-west/")


async def test_an_address_that_is_no_pods_is_nobody() -> None:
    async with pair(east=(CURL,), west=WEB) as two:
        await two.west.export("web")
        await answered(two, "http://web-west/")
        listener = await two.east.listener("web-west")
        source = aiohttp.TCPConnector(local_addr=("127.0.0.1", 0))
        async with (
            aiohttp.ClientSession(connector=source) as stranger,
            stranger.get(f"http://{listener}/") as reply,
        ):
            assert reply.status == 503


async def test_what_every_proxy_trusts_is_written_down_once_it_is_acknowledged() -> None:
    async with pair(east=(CURL,), west=WEB) as two:

        async def seen() -> set[str]:
            try:
                found = await two.east.client.get(CONFIG_MAPS, Key("isthmus", "isthmus-trust-seen"))
            except NotFound:
                return set()
            (own,) = two.east.controllers
            fingerprints = frozenset(own.dataplane.authority.anchors.fingerprints)
            news = reports.news(found.data)
            said = {name: news.of_proxy(name) for name in ("isthmus-gateway", "isthmus-egress")}
            said["isthmus-controller"] = news.of_controller("isthmus-controller")
            return {
                name
                for name, report in said.items()
                if report and report.trusts == report.chains_to == fingerprints
            }

        everybody = {"isthmus-controller", "isthmus-gateway", "isthmus-egress"}
        await until(seen, lambda found: found == everybody)


async def test_a_listener_that_cannot_be_had_is_said_of_the_link_and_others_go_on() -> None:
    async with pair(east=(CURL,), west=(*WEB, *SET)) as two:
        egress = two.east.machine.pod("isthmus-egress", "isthmus").status.pod_ip
        port = listeners.chosen(Key("default", "web-west"), ["http"], {}, {})["http"]
        with socket.create_server((egress, port)):
            await two.west.export("web")
            await two.west.export("nginx-svc")
            await answered(two, "http://nginx-set-0.nginx-svc-west/")

            async def refusal() -> str:
                found = await two.east.client.get(LINKS, Key("", "west"))
                return next(
                    (one.message for one in found.status.conditions if one.type == "ProxyRefused"),
                    "",
                )

            assert f"Listener out|{port}: " in await until(refusal, bool)


async def test_what_proxies_are_told_is_counted() -> None:
    async with pair(east=(CURL,), west=WEB) as two:
        await two.west.export("web")
        await answered(two, "http://web-west/")
        (controller,) = two.east.controllers
        found = generate_latest(registry(controller)).decode()
        for line in (
            'isthmus_proxies_connected{role="egress"} 1.0',
            'isthmus_proxies_connected{role="gateway"} 1.0',
            f'isthmus_resources{{role="egress",type="Listener"}} {2 + ROOMS}.0',
            'isthmus_resources_refused{role="egress"} 0.0',
            "isthmus_accounts 1.0",
            "isthmus_callers_shared 0.0",
        ):
            assert line in found
        assert 'isthmus_acknowledged_total{type="Listener"}' in found
        assert "isthmus_proxy_refused_total{" not in found
