"""``isthmus why`` on joined clusters in which something was broken on purpose: it names that."""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from zlib import crc32

import pytest

from isthmus.cli.checking import examining
from isthmus.cli.checking.walking.walk import WAY
from isthmus.core.listeners import FIRST, LAST
from isthmus.kube.plain import KINDS
from isthmus.model.identities import MESH_DOMAIN
from isthmus.model.names import ANCHORS, EXPORTED, ISSUER, TRUST
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from isthmus.pki.anchor import create_anchor
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import chain_pem, key_pem
from isthmus.runtime.clock import SystemClock
from tests.cli.checking.stage import Stage, gateway, staged
from tests.dataplane.fleet import shared
from tests.dataplane.joined import GRANTS, Side
from tests.dataplane.workloads import SYSTEM, WORKLOADS
from tests.support.machine import deployment, headless, pod, service, stateful_set
from tests.support.waiting import until

pytestmark = pytest.mark.sockets

DAY = timedelta(days=1)


def labelled(obj: JsonObject, value: str = "true") -> JsonObject:
    obj["metadata"].setdefault("labels", {})[EXPORTED] = value
    return obj


def inside(obj: JsonObject, namespace: str) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


UDP = service("dns", "web", ports=[{"name": "dns", "port": 53, "protocol": "UDP"}])
EAST = (pod("curl", serviceAccountName="default"), service("taken-west", "curl"))
WEST = (
    {"kind": "Namespace", "metadata": {"name": "shop"}},
    deployment("web", 1),
    stateful_set("nginx-set", 2, of="nginx-svc"),
    labelled(headless("nginx-svc", "nginx-set")),
    labelled(service("web", "web")),
    service("plain", "web"),
    labelled(service("never", "web"), "false"),
    labelled(service("canary", "web"), "canary"),
    labelled(UDP),
    labelled(service("dark", "nothing")),
    labelled(service("taken", "web")),
    labelled(inside(service("cart", "web"), "shop")),
    labelled(service("hidden", "web")),
)


@pytest.fixture(scope="module")
def stage(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with shared(runner, staged(tmp_path_factory.mktemp("stage"), EAST, WEST)) as made:
        runner.run(_limited(made))
        yield made


async def _limited(made: Stage) -> None:
    """Let west show east everything but what is called hidden."""
    selector = {"matchExpressions": [{"key": "hide", "operator": "DoesNotExist"}]}
    west = made.two.west
    await west.client.merge_patch(GRANTS, Key("", "east"), {"spec": {"to": {"selector": selector}}})
    hide = {"metadata": {"labels": {"hide": "yes"}}}
    await west.kubectl.change("Service", "hidden", hide)
    await made.until_well()


async def test_all_is_well_by_whatever_name_it_is_asked(stage: Stage) -> None:
    for name in (
        "web",
        "web-west",
        "nginx-svc-west",
        "nginx-set-0.nginx-svc-west",
        "nginx-set-1-west",
        "http://web-west.default.svc.east.cluster.local:80/path",
    ):
        answer = await stage.why(name)
        assert [(one.name, one.outcome) for one in answer.steps] == [
            (one.name, "ok") for one in answer.steps
        ], (name, answer.steps)
        assert len(answer.steps) == len(WAY)


async def test_a_check_of_both_finds_nothing_wrong(stage: Stage) -> None:
    async def amiss() -> list[tuple[str, str]]:
        found = await examining.run(stage.where, examining.Wanted(others=("west",)))
        assert len(found) > 30
        return [(one.outcome, one.name) for one in found if one.outcome != "ok"]

    # What was seeded on purpose is all that there is to say.
    expected = [
        ("warning", "link west mirrors every export"),
        ("warning", "every mirror has a ready endpoint"),
    ]
    await until(amiss, lambda found: found == expected, within=20)


@pytest.mark.parametrize(
    "name, namespace, step, reason",
    [
        pytest.param("plain", "default", "export", "NotLabelled", id="no label"),
        pytest.param("never", "default", "export", "NotLabelled", id="labelled false"),
        pytest.param("nothing", "default", "export", "NoService", id="no such Service"),
        pytest.param("dns", "default", "export", "NoTCPPorts", id="a UDP port"),
        pytest.param("canary", "default", "selector", "NotSelected", id="selector mismatch"),
        pytest.param("hidden", "default", "grant", "NotGranted", id="another Service granted"),
        pytest.param("taken-west", "default", "mirror", "NameTaken", id="name taken"),
        pytest.param("cart-west", "shop", "mirror", "NamespaceMissing", id="missing namespace"),
        pytest.param("dark-west", "default", "endpoints", "NoEndpoints", id="no endpoints"),
        pytest.param(
            "nginx-set-7.nginx-svc-west", "default", "mirror", "NoSuchPod", id="no such pod"
        ),
        pytest.param("web-0.web-west", "default", "export", "NotHeadless", id="no set"),
    ],
)
async def test_a_service_that_cannot_be_called(
    stage: Stage, name: str, namespace: str, step: str, reason: str
) -> None:
    assert await stage.verdict(name, namespace=namespace) == (step, reason)
    # The other end's name for it means the same.
    other = name.removesuffix("-west")
    assert await stage.verdict(other, namespace=namespace, target="west") == (step, reason)


async def test_a_grant_for_another_account(stage: Stage) -> None:
    west = stage.two.west
    accounts = {"from": {"serviceAccounts": ["default/curl"]}}
    await west.client.merge_patch(GRANTS, Key("", "east"), {"spec": accounts})
    found = await stage.verdict("web-west", account="default/other")
    assert found == ("grant", "AccountNotGranted")
    assert (await stage.verdict("web-west", account="default/curl"))[0] != "grant"
    await west.client.merge_patch(GRANTS, Key("", "east"), {"spec": {"from": None}})
    await stage.until_well()


async def test_a_link_that_is_missing(stage: Stage) -> None:
    assert await stage.verdict("web", source="west", target="east") == ("export", "NoService")
    assert await stage.verdict("curl", source="west", target="east") == ("export", "NoService")
    east = stage.two.east
    await east.kubectl.create(labelled(service("shared", "curl")))
    await east.grant("west")
    assert await stage.verdict("shared", source="west", target="east") == ("link", "LinkMissing")
    await east.revoke("west")
    await east.kubectl.delete("Service", "shared")


async def test_headless_services_are_not_enabled(stage: Stage) -> None:
    await stage.relink(enableHeadlessServices=False)
    found = await stage.verdict("nginx-set-0.nginx-svc-west")
    assert found == ("mirror", "HeadlessNotEnabled")
    await stage.relink(enableHeadlessServices=True)
    await stage.until_well("nginx-set-0.nginx-svc-west")


async def test_a_name_of_the_gateway_that_leads_nowhere(stage: Stage) -> None:
    await stage.relink(gateway={"addresses": ["gateway.west.invalid"]})
    await stage.until("web-west", "gateway", "NameNotResolved")
    await stage.relink(**await gateway(stage.two.west))
    await stage.until_well()


async def test_another_anchor(stage: Stage) -> None:
    other = create_anchor(MESH_DOMAIN, datetime.now(UTC))
    text = chain_pem(other.certificate).decode()
    async with changed(stage.two.east, "ConfigMap", TRUST, {ANCHORS: text}):
        assert await stage.verdict("web-west") == ("trust", "WrongAnchor")
    await stage.until_well()


async def test_an_issuer_that_has_expired(stage: Stage) -> None:
    past = datetime.now(UTC) - 10 * DAY
    anchor = create_anchor(MESH_DOMAIN, past)
    issuer = create_issuer(anchor, "west", MESH_DOMAIN, past, DAY)
    pair = {"tls.crt": chain_pem(issuer.certificate), "tls.key": key_pem(issuer.key)}
    data = {key: base64.b64encode(value).decode() for key, value in pair.items()}
    async with changed(stage.two.west, "Secret", ISSUER, data):
        assert await stage.verdict("web-west") == ("trust", "IssuerExpired")
    await stage.until_well()


async def test_configuration_that_envoy_refuses(stage: Stage) -> None:
    key = Key("default", "stuck-west")
    port = FIRST + crc32(f"{key}:http".encode()) % (LAST - FIRST + 1)
    address = stage.two.east.machine.pod("isthmus-egress", SYSTEM).status.pod_ip
    with socket.create_server((address, port)):
        await stage.two.west.kubectl.create(labelled(service("stuck", "web")))
        await stage.until("stuck-west", "egress", "ProxyRefused")
        answer = await stage.why("stuck-west")
        (egress,) = (one for one in answer.steps if one.name == "egress")
        assert f"out|{port}" in egress.detail
        assert "address" in egress.detail.lower()
        await stage.until_well("web-west")
    await stage.two.west.kubectl.delete("Service", "stuck")


@pytest.mark.e2e
async def test_the_egress_is_down(stage: Stage) -> None:
    await stage.until_well()
    async with stopped(stage.two.east, "isthmus-egress"):
        assert await stage.verdict("web-west") == ("egress", "EgressDown")
    await stage.until_well()


# From here on nobody waits until links have recovered, which takes them half a minute: what is
# asked about stands before the catalogue on the way of a call.


async def test_no_grant(stage: Stage) -> None:
    west = stage.two.west
    kept = await west.client.get(GRANTS, Key("", "east"))
    await west.revoke("east")
    assert await stage.verdict("web-west") == ("grant", "NoGrant")
    # Whoever sees the source only is told the same, a moment later.
    await stage.until("web-west", "grant", "NoGrant", target="nowhere")
    await west.client.create(GRANTS, {"metadata": {"name": "east"}, "spec": kept["spec"]})
    assert (await stage.verdict("web-west"))[0] != "grant"


@pytest.mark.e2e
@pytest.mark.parametrize(
    "side, workload, step, reason",
    [
        pytest.param("east", "isthmus-controller", "link", "ControllerDown", id="controller"),
        pytest.param(
            "west", "isthmus-controller", "catalogue", "TargetControllerDown", id="un-synced"
        ),
        pytest.param("west", "isthmus-gateway", "gateway", "GatewayDown", id="gateway"),
    ],
)
async def test_a_workload_that_is_down(
    stage: Stage, side: str, workload: str, step: str, reason: str
) -> None:
    async with stopped(stage.two.east if side == "east" else stage.two.west, workload):
        assert await stage.verdict("web-west") == (step, reason)


@pytest.mark.e2e
async def test_a_clock_that_is_wrong(stage: Stage) -> None:
    stage.clocks["west"] = Late()
    async with stopped(stage.two.west, "isthmus-controller"):
        pass
    assert await stage.verdict("web-west") == ("trust", "ClockSkew")
    del stage.clocks["west"]
    async with stopped(stage.two.west, "isthmus-controller"):
        pass
    assert (await stage.verdict("web-west"))[0] != "trust"


class Late:
    """A clock that is behind by more than certificates allow for."""

    def __init__(self) -> None:
        self._right = SystemClock()

    def now(self) -> float:
        return self._right.now()

    def utc(self) -> datetime:
        return self._right.utc() - timedelta(minutes=20)

    async def sleep(self, seconds: float) -> None:
        await self._right.sleep(seconds)


@asynccontextmanager
async def stopped(of: Side, workload: str) -> AsyncIterator[None]:
    """Let one of our workloads be gone for a while."""
    await of.stop(workload)
    try:
        yield
    finally:
        await of.start(workload)
        await of.until_up(*WORKLOADS)


@asynccontextmanager
async def changed(of: Side, kind: str, name: str, data: dict[str, str]) -> AsyncIterator[None]:
    """Let an object hold other data for a while."""
    key = Key(SYSTEM, name)
    kept = (await of.client.get(KINDS[kind], key))["data"]
    await of.client.merge_patch(KINDS[kind], key, {"data": data})
    try:
        yield
    finally:
        await of.client.merge_patch(KINDS[kind], key, {"data": kept})
