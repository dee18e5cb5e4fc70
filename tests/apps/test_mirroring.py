"""What a controller does and does not do, on embedded clusters and virtual time."""

import asyncio
import base64
import ssl

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from msgspec.structs import replace
from prometheus_client import generate_latest

from isthmus.apps.controller.metrics import registry
from isthmus.embedded.faults import effects
from isthmus.kube.transport import Request
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    LINKS,
    PLAIN_NAMESPACES,
    PLAIN_SECRETS,
    SERVICES,
    SLICES,
    Air,
    Place,
    controlling,
    egress_slice,
    endpoints,
    exported,
    foreign,
    join,
    kubeconfig,
    link,
    place,
    secret,
    settled,
    source,
)
from tests.support.certificates import self_signed
from tests.support.pki import of_version
from tests.support.waiting import eventually, until

HOUR = 3600.0


async def pair(*services: JsonObject, **spec: object) -> tuple[Place, Place]:
    """A source linked to a target that exports ``services``, each with a ready endpoint."""
    east, west = await source(), place("west", 1)
    await join(east, west, **spec)
    for one in services:
        await west.create(SERVICES, one)
        await west.create(SLICES, endpoints(one["metadata"]["name"], "10.2.0.1"))
    return east, west


def web(count: int) -> list[JsonObject]:
    return [exported(f"web-{number}") for number in range(count)]


def mirrored(count: int) -> list[str]:
    return [f"web-{number}-west" for number in range(count)]


async def mirror_slices(east: Place, name: str) -> list[JsonObject]:
    return await east.all(SLICES, labels=f"kubernetes.io/service-name={name}")


async def readiness(east: Place, name: str) -> list[bool]:
    return [
        one["conditions"]["ready"]
        for each in await mirror_slices(east, name)
        for one in each["endpoints"] or ()
    ]


def mirror_writes(writes: list[str]) -> list[str]:
    """Those that concern mirrors, as opposed to Links and Events."""
    return [one for one in writes if "/services" in one or "/endpointslices" in one]


async def test_a_mirror_points_at_the_egress_with_a_listener_of_its_own() -> None:
    east, west = await pair(*web(2))
    async with controlling(east, [west]):
        await settled(east, mirrored(2))
        ports = set()
        for name in mirrored(2):
            (found,) = await mirror_slices(east, name)
            assert [one["addresses"] for one in found["endpoints"]] == [["10.1.0.7"], ["10.1.0.8"]]
            ports |= {one["port"] for one in found["ports"]}
        assert len(ports) == 2
        await east.edit(
            SLICES,
            "isthmus-egress-1",
            {"endpoints": egress_slice("10.1.0.9")["endpoints"]},
            "isthmus",
        )
        await asyncio.sleep(5)
        (found,) = await mirror_slices(east, "web-0-west")
        assert [one["addresses"] for one in found["endpoints"]] == [["10.1.0.9"]]
        assert {one["port"] for one in found["ports"]} < ports


async def test_drift_is_repaired_and_what_is_not_ours_is_left_alone() -> None:
    east, west = await pair(exported("web"), exported("db"))
    await east.create(SERVICES, foreign("db-west"))
    theirs = await east.get(SERVICES, "db-west")
    async with controlling(east, [west]):
        await settled(east, ["web-west"])
        await east.edit(SERVICES, "web-west", {"spec": {"selector": {"app": "evil"}}})
        await asyncio.sleep(2)
        repaired = await east.get(SERVICES, "web-west")
        assert repaired is not None
        assert "selector" not in repaired["spec"]
        await east.delete(SLICES, "web-west-ipv4")
        await asyncio.sleep(2)
        assert len(await mirror_slices(east, "web-west")) == 1
        await east.delete(SERVICES, "web-west")
        await settled(east, ["web-west"])
        assert await east.get(SERVICES, "db-west") == theirs
        status = (await east.link())["status"]
        assert [one["reason"] for one in status["refused"]] == ["NameTaken"]
        await east.delete(SERVICES, "db-west")
        await settled(east, ["db-west", "web-west"])
        assert (await east.link())["status"]["refusedCount"] == 0


async def test_a_restart_costs_no_write_and_neither_does_a_quiet_quarter_of_an_hour() -> None:
    east, west = await pair(*web(30), exported("db", headless=True))
    await west.edit(SLICES, "db-abcde", {"endpoints": endpoints("db", "db-0")["endpoints"]})
    expected = [*mirrored(30), "db-west", "db-0-west"]
    async with controlling(east, [west]) as first:
        await settled(east, expected)
        await asyncio.sleep(30)
        first.writes.clear()
        await asyncio.sleep(HOUR / 4)
        assert first.writes == []
    async with controlling(east, [west], seed=2) as second:
        await asyncio.sleep(120)
        assert second.controller.election.still_leading()
        assert second.writes == []


async def test_an_unreachable_target_changes_nothing_but_the_status() -> None:
    east, west = await pair(*web(8))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(8))
        before = await east.all(SERVICES), await east.all(SLICES)
        west.cluster.faults.stop()
        await asyncio.sleep(HOUR)
        assert (await east.all(SERVICES), await east.all(SLICES)) == before
        assert await east.condition("Connected") == ("False", "Unreachable")
        assert await east.condition("Synced") == ("False", "Stale")
        assert (await east.link())["status"]["staleSince"] < "2026-01-02T03:06"
        assert len(running.writes) < 50
        west.cluster.faults.start()
        await west.delete(SERVICES, "web-0")
        await settled(east, mirrored(8)[1:], within=60)
        ready = ("True", "Ready")
        await until(lambda: east.condition("Ready"), lambda found: found == ready, within=60)
        assert "staleSince" not in (await east.link())["status"]


async def test_a_controller_starts_while_its_target_is_down() -> None:
    east, west = await pair(*web(8))
    async with controlling(east, [west]):
        await settled(east, mirrored(8))
    west.cluster.faults.stop()
    async with controlling(east, [west], seed=2) as running:
        await asyncio.sleep(HOUR / 10)
        assert mirror_writes(running.writes) == []
        assert await east.condition("Connected") == ("False", "Unreachable")


async def test_rotated_credentials_are_used_without_a_write() -> None:
    east, west = await pair(*web(8))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(8))
        running.writes.clear()
        # The administrator's token stays good; the Secret's text is another.
        raw = kubeconfig("west", west.cluster.admin_token) + b"# rotated\n"
        await east.edit(PLAIN_SECRETS, "cluster-credentials-west", secret("west", raw), "isthmus")
        await asyncio.sleep(60)
        assert running.writes == []
        await west.create(SERVICES, exported("late"))
        await settled(east, [*mirrored(8), "late-west"])


def with_authority(pem: str) -> bytes:
    found = yaml.safe_load(kubeconfig("west"))
    coded = base64.b64encode(pem.encode()).decode()
    found["clusters"][0]["cluster"]["certificate-authority-data"] = coded
    return yaml.safe_dump(found).encode()


CA = x509.load_pem_x509_certificate(self_signed("ca").certificate).public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    "raw, reason",
    [
        pytest.param(b"nonsense: [", "BadCredentials", id="no YAML"),
        pytest.param(kubeconfig("west", "wrong"), "Unauthorized", id="wrong token"),
        pytest.param(
            kubeconfig("west").replace(b"https://west.example:6443", b"https://169.254.169.254"),
            "BadCredentials",
            id="metadata service",
        ),
        pytest.param(
            with_authority(ssl.DER_cert_to_PEM_cert(of_version(CA, 3))),
            "BadCredentials",
            id="an authority of a version that there is not",
        ),
    ],
)
async def test_a_useless_secret_is_shown_and_the_old_credential_stays_in_use(
    raw: bytes, reason: str
) -> None:
    east, west = await pair(*web(3))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(3))
        await east.edit(PLAIN_SECRETS, "cluster-credentials-west", secret("west", raw), "isthmus")
        await asyncio.sleep(60)
        assert mirror_writes(running.writes)[0].startswith("POST")
        assert await east.condition("Connected") == ("False", reason)
        await west.create(SERVICES, exported("late"))
        await settled(east, [*mirrored(3), "late-west"])


async def test_a_secret_for_another_cluster_is_refused() -> None:
    east, west = await pair(*web(8))
    north = place("north", 2)
    async with controlling(east, [west, north]) as running:
        await settled(east, mirrored(8))
        running.writes.clear()
        raw = kubeconfig("north", north.cluster.admin_token)
        await east.edit(PLAIN_SECRETS, "cluster-credentials-west", secret("west", raw), "isthmus")
        await asyncio.sleep(120)
        assert mirror_writes(running.writes) == []
        assert await east.condition("Connected") == ("False", "IdentityChanged")
    async with controlling(east, [west, north], seed=2) as again:
        await asyncio.sleep(120)
        assert mirror_writes(again.writes) == []


def lists(request: Request) -> bool:
    return request.method == "GET" and request.path.endswith("/services")


def watches(request: Request) -> bool:
    return ("watch", "true") in request.query


def streams(request: Request) -> bool:
    return any(name == "sendInitialEvents" for name, _ in request.query)


async def test_an_empty_list_deletes_nothing() -> None:
    east, west = await pair(*web(20))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(20))
        running.writes.clear()
        faults = west.cluster.faults
        faults.add(effects.failing(400), streams)
        faults.add(effects.empty_list(), lists)
        faults.add(effects.failing(410), watches, times=2)
        faults.disconnect()
        await asyncio.sleep(600)
        assert mirror_writes(running.writes) == []
        assert (await east.condition("DeletionHeld"))[0] == "True"
        faults.clear()
        await asyncio.sleep(700)
        assert mirror_writes(running.writes) == []
        assert await east.condition("DeletionHeld") == ("", "")


async def test_a_server_that_recovers_between_two_questions_has_not_confirmed_anything() -> None:
    east, west = await pair(*web(3))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(3))
        running.writes.clear()
        faults = west.cluster.faults
        # The list that asks for the loss, and the first that is asked whether it is true.
        faults.add(effects.empty_list(), lambda one: lists(one) and not watches(one), times=2)
        faults.add(effects.failing(410), lambda one: lists(one) and watches(one), times=1)
        faults.disconnect()
        await asyncio.sleep(900)
        assert mirror_writes(running.writes) == []


async def test_a_true_mass_deletion_waits_for_a_second_list_and_then_happens() -> None:
    east, west = await pair(*web(20))
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(20))
    for number in range(6):
        await west.delete(SERVICES, f"web-{number}")
    async with controlling(east, [west], seed=2) as running:
        await asyncio.sleep(0.9)  # shorter than any pause before the second list
        assert len(await east.mirrors()) == 20
        await settled(east, mirrored(20)[6:])
        await asyncio.sleep(5)
        assert await east.condition("Ready") == ("True", "Ready")
        assert len([one for one in running.writes if "DELETE" in one and "/services" in one]) == 6


async def test_whoever_takes_a_name_while_deletions_are_held_gets_no_slices_of_ours() -> None:
    east, west = await pair(*web(3))
    async with controlling(east, [west]):
        await settled(east, mirrored(3))
        faults = west.cluster.faults
        faults.add(effects.empty_list(), lists)
        faults.add(effects.failing(410), watches, times=2)
        faults.disconnect()
        await asyncio.sleep(30)
        assert (await east.condition("DeletionHeld"))[0] == "True"
        await east.delete(SERVICES, "web-0-west")
        await east.create(SERVICES, foreign("web-0-west"))
        await asyncio.sleep(5)
        assert await mirror_slices(east, "web-0-west") == []
        assert await east.mirrors() == mirrored(3)[1:]


async def test_slices_of_a_mirror_that_somebody_deletes_before_we_may_go_as_well() -> None:
    east, west = await pair(*web(3))
    async with controlling(east, [west]):
        await settled(east, mirrored(3))
    for number in range(3):
        await west.delete(SERVICES, f"web-{number}")
    async with controlling(east, [west], seed=2):
        await asyncio.sleep(0.5)  # shorter than any pause before the second list
        await east.delete(SERVICES, "web-0-west")
        await settled(east, [])
        await asyncio.sleep(5)
        assert await east.all(SLICES, labels="mirror.linkerd.io/mirrored-service=true") == []


async def test_two_replicas_write_as_one() -> None:
    east, west = await pair(*web(10))
    async with controlling(east, [west]) as first, controlling(east, [west], seed=2) as second:
        await settled(east, mirrored(10))
        await asyncio.sleep(60)
        one, other = sorted((mirror_writes(first.writes), mirror_writes(second.writes)), key=len)
        assert not one
        assert len(other) == 20
        leader, follower = (first, second) if first.writes else (second, first)
        await leader.crash()
        await west.create(SERVICES, exported("late"))
        await settled(east, [*mirrored(10), "late-west"], within=60)
        assert len(mirror_writes(follower.writes)) == 2


@pytest.mark.parametrize("moment", range(0, 60, 3))
async def test_a_crash_at_any_moment_is_followed_by_the_same_end(moment: int) -> None:
    east, west = await pair(*web(3), exported("db", headless=True))
    await west.edit(SLICES, "db-abcde", {"endpoints": endpoints("db", "db-0", "db-1")["endpoints"]})
    expected = [*mirrored(3), "db-west", "db-0-west", "db-1-west"]
    async with controlling(east, [west]) as running:
        await eventually(lambda: bool(running.writes))
        for _ in range(moment):
            await asyncio.sleep(0)
        await running.crash()
    async with controlling(east, [west], seed=2):
        await settled(east, expected, within=60)
        for name in expected:
            assert len(await mirror_slices(east, name)) == 1


async def test_a_link_that_is_deleted_takes_its_mirrors_along_even_if_the_target_is_down() -> None:
    east, west = await pair(*web(10))
    async with controlling(east, [west]):
        await settled(east, mirrored(10))
        west.cluster.faults.stop()
        await east.delete(LINKS, "west")
        await settled(east, [])
        assert await east.get(LINKS, "west") is None
        assert await east.all(SLICES, labels="endpointslice.kubernetes.io/managed-by") == []


async def test_namespaces_are_created_on_request_and_removed_when_they_are_empty() -> None:
    east, west = await pair(createNamespaces=True)
    for name in ("shop", "bank"):
        await west.create(PLAIN_NAMESPACES, {"metadata": {"name": name}})
        await west.create(SERVICES, exported("web", namespace=name))
    async with controlling(east, [west]):
        await settled(east, ["bank/web-west", "shop/web-west"])
        await east.create(
            PLAIN_SECRETS, {"metadata": {"name": "mine", "namespace": "bank"}, "data": {}}
        )
        await east.delete(LINKS, "west")
        await settled(east, [])
        await asyncio.sleep(5)
        assert await east.get(LINKS, "west") is None
        assert await east.get(PLAIN_NAMESPACES, "shop") is None
        assert await east.get(PLAIN_NAMESPACES, "bank") is not None


async def test_a_missing_namespace_is_reported_and_its_mirrors_come_with_it() -> None:
    east, west = await pair()
    await west.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
    await west.create(SERVICES, exported("web", namespace="shop"))
    async with controlling(east, [west]):
        await asyncio.sleep(10)
        (refused,) = (await east.link())["status"]["refused"]
        assert refused["reason"] == "NamespaceMissing"
        await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "shop"}})
        await settled(east, ["shop/web-west"])


async def test_a_dead_gateway_makes_endpoints_unready_and_deletes_nothing() -> None:
    east, west = await pair(exported("web"))
    air = Air()
    async with controlling(east, [west], air=air):
        await settled(east, ["web-west"])
        assert await readiness(east, "web-west") == [True, True]
        air.dead.add("203.0.113.9")
        await asyncio.sleep(15)
        assert await readiness(east, "web-west") == [False, False]
        assert await east.condition("GatewayAlive") == ("False", "ProbeFailed")
    async with controlling(east, [west], air=air, seed=2) as again:
        await asyncio.sleep(30)
        assert again.writes == []
        air.dead.clear()
        await asyncio.sleep(15)
        assert await readiness(east, "web-west") == [True, True]


async def test_gateways_with_names_are_resolved_and_the_last_good_answer_outlives_a_failure() -> (
    None
):
    spec = {"dataPlane": "external", "gateway": {"addresses": ["gw.example"]}}
    east, west = await pair(exported("web"), **spec)
    air = Air(names={"gw.example": ("203.0.113.7", "127.0.0.1")})

    async def addresses() -> list[str]:
        found = await mirror_slices(east, "web-west")
        return [ip for each in found for one in each["endpoints"] or () for ip in one["addresses"]]

    async with controlling(east, [west], air=air):
        await settled(east, ["web-west"])
        assert await addresses() == ["203.0.113.7"]
        air.names["gw.example"] = ("203.0.113.8",)
        await asyncio.sleep(60)
        assert await addresses() == ["203.0.113.8"]
        air.names.clear()
    async with controlling(east, [west], air=air, seed=2) as again:
        await asyncio.sleep(300)
        assert await addresses() == ["203.0.113.8"]
        assert mirror_writes(again.writes) == []


async def test_a_link_to_the_own_cluster_is_refused() -> None:
    east = await source()
    await east.create(PLAIN_SECRETS, secret("east", kubeconfig("east", east.cluster.admin_token)))
    await east.create(LINKS, link("east"))
    await east.create(SERVICES, exported("web"))
    async with controlling(east, [east]):
        await asyncio.sleep(30)
        assert await east.mirrors() == []
        assert await east.condition("Connected", "east") == ("False", "LinkToSelf")


async def test_of_two_links_to_one_cluster_the_older_stays() -> None:
    east, west = await pair(exported("web"))
    await asyncio.sleep(5)
    raw = kubeconfig("west", west.cluster.admin_token)
    await east.create(PLAIN_SECRETS, secret("twin", raw))
    await east.create(LINKS, link("twin"))
    async with controlling(east, [west]):
        await asyncio.sleep(60)
        assert await east.mirrors() == ["web-west"]
        assert await east.condition("Connected", "twin") == ("False", "DuplicateTarget")
        assert await east.condition("Ready", "west") == ("True", "Ready")


async def test_events_tell_of_turns_and_refusals_within_bounds() -> None:
    east, west = await pair(*(exported(f"web-{number}") for number in range(30)))
    for number in range(30):
        await east.create(SERVICES, foreign(f"web-{number}-west"))
    async with controlling(east, [west]) as running:
        await asyncio.sleep(50)
        told = [one for one in running.writes if "/events" in one]
        assert 0 < len(told) <= 10
        status = (await east.link())["status"]
        assert len(status["refused"]) == 20
        assert status["refusedCount"] == 30


async def test_the_limit_keeps_the_oldest_exports() -> None:
    east, west = await pair(limits={"services": 3})
    for number in (9, 8, 7, 6, 5):
        await west.create(SERVICES, exported(f"web-{number}"))
        await asyncio.sleep(2)
    async with controlling(east, [west]):
        await settled(east, ["web-7-west", "web-8-west", "web-9-west"])
        assert (await east.condition("LimitExceeded"))[0] == "True"
        await west.delete(SERVICES, "web-9")
        await settled(east, ["web-6-west", "web-7-west", "web-8-west"])


async def test_the_limit_bounds_the_mirrors_of_pods_and_takes_them_from_the_largest_set() -> None:
    east, west = await pair(limits={"services": 6})
    for name, size in (("db", 2), ("big", 50)):
        await west.create(SERVICES, exported(name, headless=True))
        pods = [f"{name}-{number}" for number in range(size)]
        await west.create(SLICES, endpoints(name, *pods))
    few = ["big-west", "db-west", "db-0-west", "db-1-west"]
    async with controlling(east, [west]):
        await settled(east, [*few, *(f"big-{number}-west" for number in range(4))])
        assert (await east.condition("LimitExceeded"))[0] == "True"
        (refused,) = (await east.link())["status"]["refused"]
        assert (refused["name"], refused["reason"]) == ("big", "LimitExceeded")
        assert "46 of its named pods" in refused["message"]
        await west.create(SERVICES, exported("kv", headless=True))
        await west.create(SLICES, endpoints("kv", "kv-0"))
        few += ["kv-west", "kv-0-west"]
        await settled(east, [*few, *(f"big-{number}-west" for number in range(3))])
        await west.edit(
            SLICES, "big-abcde", {"endpoints": endpoints("big", "big-7", "big-9")["endpoints"]}
        )
        await settled(east, [*few, "big-7-west", "big-9-west"])
        assert await east.condition("LimitExceeded") == ("", "")


async def test_a_change_of_the_selector_is_followed_without_a_gap() -> None:
    east, west = await pair(*web(4))
    await west.edit(SERVICES, "web-0", {"metadata": {"labels": {"team": "a"}}})
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(4))
        running.writes.clear()
        await east.edit(LINKS, "west", {"spec": {"selector": {"matchLabels": {"team": "a"}}}})
        await until(east.mirrors, lambda found: found == mirrored(1), within=60)
        assert not [one for one in running.writes if "web-0-west" in one]


async def test_a_secret_that_comes_and_goes_is_no_reason_to_lose_the_target() -> None:
    east, west = await source(), place("west", 1)
    await west.create(SERVICES, exported("web"))
    await east.create(LINKS, link("west"))
    credentials = secret("west", kubeconfig("west", west.cluster.admin_token))
    async with controlling(east, [west]) as running:
        await asyncio.sleep(10)
        assert await east.condition("Connected") == ("False", "CredentialsMissing")
        await east.create(PLAIN_SECRETS, credentials)
        await settled(east, ["web-west"])
        running.writes.clear()
        await east.delete(PLAIN_SECRETS, "cluster-credentials-west", "isthmus")
        await asyncio.sleep(10)
        assert await east.condition("Connected") == ("False", "CredentialsMissing")
        await west.create(SERVICES, exported("late"))
        await settled(east, ["late-west", "web-west"])
        await east.create(PLAIN_SECRETS, credentials)
        await asyncio.sleep(10)
        assert await east.condition("Ready") == ("True", "Ready")


async def test_a_target_that_was_rebuilt_behind_its_address_is_not_believed() -> None:
    east, west = await pair(*web(8))
    other = place("west", 7)
    async with controlling(east, [west]) as running:
        await settled(east, mirrored(8))
        running.writes.clear()
        known = {"authorization": f"Bearer {other.cluster.admin_token}"}
        rebuilt = other.cluster.faults
        west.cluster.faults.add(
            lambda request, _serve: rebuilt.handle(replace(request, headers=known))
        )
        west.cluster.faults.disconnect()
        await asyncio.sleep(600)
        assert mirror_writes(running.writes) == []
        assert await east.condition("Connected") == ("False", "IdentityChanged")
        uid = {"status": {"clusterUID": None}}
        await east.client.merge_patch(LINKS, Key("", "west"), uid, "status")
        await other.create(SERVICES, exported("new"))
        await settled(east, ["new-west"], within=120)


async def test_a_recorded_identity_that_somebody_has_edited_is_corrected() -> None:
    east, west = await pair(*web(8))
    async with controlling(east, [west]) as running, controlling(east, [west], seed=2) as other:
        await settled(east, mirrored(8))
        uid = (await east.link())["status"]["clusterUID"]
        for one in (running, other):
            one.writes.clear()
        edit = {"status": {"clusterUID": "11111111-2222-3333-4444-555555555555"}}
        await east.client.merge_patch(LINKS, Key("", "west"), edit, "status")
        await asyncio.sleep(5)
        assert (await east.link())["status"]["clusterUID"] == uid
        west.cluster.faults.disconnect()
        await asyncio.sleep(60)
        assert await east.condition("Ready") == ("True", "Ready")
        assert mirror_writes([*running.writes, *other.writes]) == []
        await west.create(SERVICES, exported("late"))
        await settled(east, [*mirrored(8), "late-west"])


async def test_secrets_reach_neither_logs_nor_status(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    east, west = await pair(exported("web"))
    canary = "canary-4711"
    async with controlling(east, [west]):
        await settled(east, ["web-west"])
        for raw in (
            kubeconfig("west", canary),
            kubeconfig("west", canary + "\x01"),
            kubeconfig("west", canary).replace(b"token:", b"tokn:"),
            kubeconfig("west", canary)[:-30] + b"]" + canary.encode(),
        ):
            changed = secret("west", raw)
            await east.edit(PLAIN_SECRETS, "cluster-credentials-west", changed, "isthmus")
            await asyncio.sleep(40)
            assert canary not in str(await east.link())
            assert (await east.condition("Connected"))[0] == "False"
    assert canary not in caplog.text
    assert not any(canary in str(record.__dict__) for record in caplog.records)


async def test_metrics_show_links_gateways_requests_and_the_queue() -> None:
    east, west = await pair(exported("web"), exported("udp"))
    await east.create(SERVICES, foreign("udp-west"))
    async with controlling(east, [west]) as running:
        await settled(east, ["web-west"])
        text = generate_latest(registry(running.controller)).decode()
    for line in (
        'gateway_alive{target_cluster_name="west"} 1.0',
        'gateway_enabled{target_cluster_name="west"} 1.0',
        'gateway_probe_latency_ms_bucket{le="20",target_cluster_name="west"}',
        'gateway_probes{probe_successful="true",target_cluster_name="west"}',
        'isthmus_mirrors{target_cluster_name="west"} 1.0',
        'isthmus_refused{reason="NameTaken",target_cluster_name="west"} 1.0',
        'isthmus_sync_lag_seconds{target_cluster_name="west"} 0.0',
        'isthmus_cache_divergence_total{target_cluster_name="west"} 0.0',
        'isthmus_api_requests_total{cluster="west",code="200",resource="services",verb="watch"}',
        'isthmus_api_requests_total{cluster="east",code="201",resource="services",verb="create"}',
        "isthmus_leading 1.0",
        "isthmus_queue_depth 0.0",
        "isthmus_loop_lag_seconds 0.0",
        "isthmus_tasks ",
    ):
        assert line in text


async def test_a_secret_that_is_gone_is_missing_and_no_longer_bad() -> None:
    east = await source()
    await east.create(LINKS, link("west"))
    await east.create(PLAIN_SECRETS, secret("west", b"no kubeconfig"))
    async with controlling(east, []):
        await asyncio.sleep(10)
        assert await east.condition("Connected") == ("False", "BadCredentials")
        await east.delete(PLAIN_SECRETS, "cluster-credentials-west", "isthmus")
        await asyncio.sleep(300)
        assert await east.condition("Connected") == ("False", "CredentialsMissing")


async def test_a_missing_namespace_is_said_and_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    east, west = await source(), place("west", 1)
    await west.create(SERVICES, exported("web"))
    await join(east, west)
    await east.delete(PLAIN_NAMESPACES, "isthmus", "")
    async with controlling(east, [west]):
        await asyncio.sleep(30)
        assert any("isthmus" in str(vars(one).get("error")) for one in caplog.records)
        assert await east.mirrors() == []
        await east.create(PLAIN_NAMESPACES, {"metadata": {"name": "isthmus"}})
        credentials = secret("west", kubeconfig("west", west.cluster.admin_token))
        await east.create(PLAIN_SECRETS, credentials)
        await settled(east, ["web-west"], within=60)


def makes_a_mirror(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("/services")


async def test_a_mirror_that_is_being_made_while_its_link_ends_is_not_left_behind() -> None:
    """Nobody sees it yet when the link could go, and once that is gone nobody looks for it."""
    east, west = await pair(*web(1))
    async with controlling(east, [west]) as running:
        east.cluster.faults.add(effects.delayed(8), makes_a_mirror)
        await eventually(lambda: any("POST" in one for one in mirror_writes(running.writes)))
        await east.delete(LINKS, "west")
        await asyncio.sleep(60)
        assert await east.mirrors() == []
        assert await east.get(LINKS, "west") is None
