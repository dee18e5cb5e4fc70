"""The manifests on a real API server: taken as they are, safe by its own rules, and in force."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from isthmus.cli import main
from isthmus.cli.applying import rehearsed
from isthmus.install.access import accounts
from isthmus.kube import requests
from isthmus.kube.client import Client
from isthmus.kube.errors import Forbidden
from isthmus.kube.plain import KINDS
from isthmus.kube.resources import Resource
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from lab.controlplane import ControlPlane, Settings, control_plane
from tests.apps.clusters import LINKS, PLAIN_NAMESPACES, SERVICES, SLICES, Place, link
from tests.install.made import NAMES, chosen, made, values
from tests.install.real import CONTROLLER, HOME, REAL, install, reached, token
from tests.support.waiting import until

pytestmark = REAL
MIRRORED = {"mirror.linkerd.io/mirrored-service": "true"}
PODS, CONFIG_MAPS, LEASES = KINDS["Pod"], KINDS["ConfigMap"], KINDS["Lease"]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with control_plane(Settings(name="west")) as west:
        yield west


async def namespace(west: Place, name: str = HOME) -> None:
    """Make the namespace, in which the server holds pods to the strictest of profiles."""
    first = made(f"namespace={name}")[0]
    assert first["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    await west.client.apply(PLAIN_NAMESPACES, first)


async def test_what_is_installed_twice_is_unchanged(plane: ControlPlane) -> None:
    async with reached(plane) as west:
        first = await install(west, values("ha=true"))
        assert {outcome for _, outcome in first} == {"created"}
        second = await install(west, values("ha=true"))
        assert {outcome for _, outcome in second} == {"unchanged"}


async def test_what_is_not_wanted_any_more_goes(plane: ControlPlane) -> None:
    async with reached(plane) as west:
        await install(west, values("ha=true"))
        said = await install(west, values("networkPolicy.enabled=false"))
        gone = {what for what, outcome in said if outcome == "deleted"}
        kinds = ("PodDisruptionBudget", "NetworkPolicy")
        assert gone == {f"{kind}/{name}" for kind in kinds for name in NAMES}
        assert await west.all(KINDS["NetworkPolicy"], HOME) == []


@pytest.mark.parametrize(
    "sets",
    [
        pytest.param((), id="default"),
        pytest.param(("ha=true", "removeNamespaces=true"), id="ha"),
        pytest.param(
            ("gateway.service.type=NodePort", "gateway.service.nodePort=30143"), id="node port"
        ),
        pytest.param(
            (
                "localCidrs=10.0.0.0/8",
                "allowLoopback=true",
                "gateway.service.loadBalancerSourceRanges=192.0.2.0/24",
                "gateway.service.loadBalancerClass=example.com/fast",
                "networkPolicy.metricsNamespaces=monitoring",
                "egress.nodeSelector.edge=true",
                "trust.anchors=any",
            ),
            id="all sorts of things",
        ),
    ],
)
async def test_a_server_takes_all_of_it(plane: ControlPlane, sets: tuple[str, ...]) -> None:
    async with reached(plane) as west:
        await namespace(west, "other")  # in which nothing is installed yet
        for one in made("namespace=other", *sets):
            await rehearsed(west.client, KINDS[one["kind"]], one, force=True)


def pod(name: str) -> JsonObject:
    """A pod as a Deployment of ours makes it."""
    template = chosen(made("ha=true"), "Deployment", name)["spec"]["template"]
    metadata = {**template["metadata"], "name": name, "namespace": HOME}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@pytest.mark.parametrize("name", NAMES)
async def test_pods_pass_the_restricted_profile(plane: ControlPlane, name: str) -> None:
    async with reached(plane) as west:
        await namespace(west)
        for account in accounts(values()):
            await west.client.apply(KINDS[account["kind"]], account)
        await rehearsed(west.client, PODS, pod(name))
        careless = pod(name)
        del careless["spec"]["containers"][0]["securityContext"]["capabilities"]
        with pytest.raises(Forbidden, match='violates PodSecurity "restricted:latest"'):
            await rehearsed(west.client, PODS, careless)


Deed = Callable[[Client], Awaitable[object]]


def creates(resource: Resource[JsonObject], obj: JsonObject) -> Deed:
    return lambda client: client.create(resource, obj)


def deletes(resource: Resource[JsonObject], namespace: str, name: str) -> Deed:
    return lambda client: client.delete(resource, Key(namespace, name))


def service(name: str, labels: dict[str, str], **spec: object) -> JsonObject:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"metadata": metadata, "spec": {"ports": [{"port": 80}], **spec}}


def slice_of(name: str, labels: dict[str, str]) -> JsonObject:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"metadata": metadata, "addressType": "IPv4", "endpoints": [], "ports": []}


def at_home(name: str, **more: object) -> JsonObject:
    return {"metadata": {"name": name, "namespace": HOME}, **more}


def named(name: str, **labels: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": labels}}


FOREIGN, OURS = "foreign", "ours"  # Services that are there
ALLOWED = {
    "a mirror": creates(SERVICES, service("new", MIRRORED)),
    "a headless mirror": creates(SERVICES, service("set", MIRRORED, clusterIP="None")),
    "the end of a mirror": deletes(SERVICES, "default", OURS),
    "a mirror's slice": creates(SLICES, slice_of("new", MIRRORED)),
    "a namespace for mirrors": creates(
        PLAIN_NAMESPACES, named("made", **{"isthmus.dev/created-by-link": "west"})
    ),
    "what is seen of trust": creates(CONFIG_MAPS, at_home("isthmus-trust-seen")),
    "the lease": creates(LEASES, at_home(CONTROLLER)),
}
REFUSED = {
    "a Service of anybody": creates(SERVICES, service("other", {})),
    "a Service with another label's value": creates(
        SERVICES, service("other", {"mirror.linkerd.io/mirrored-service": "false"})
    ),
    "the end of somebody's Service": deletes(SERVICES, "default", FOREIGN),
    "the end of the API server's Service": deletes(SERVICES, "default", "kubernetes"),
    "a mirror that the world can reach": creates(
        SERVICES, service("other", MIRRORED, type="LoadBalancer")
    ),
    "a mirror that takes others' addresses": creates(
        SERVICES, service("other", MIRRORED, externalIPs=["192.0.2.1"])
    ),
    "a mirror that leads to this cluster's pods": creates(
        SERVICES, service("other", MIRRORED, selector={"app": "bank"})
    ),
    "a slice of anybody": creates(SLICES, slice_of("other", {})),
    "the end of the API server's endpoints": deletes(SLICES, "default", "kubernetes"),
    "a namespace of anybody": creates(PLAIN_NAMESPACES, named("other")),
    "a ConfigMap": creates(CONFIG_MAPS, at_home("other")),
    "a Lease": creates(LEASES, at_home("other")),
}


@asynccontextmanager
async def as_controller(plane: ControlPlane) -> AsyncIterator[tuple[Place, Client]]:
    """A cluster with the policy in force, and the way into it that the controller has."""
    async with reached(plane) as west:
        await install(west, values())
        async with reached(plane, await token(west, CONTROLLER)) as own:

            async def is_in_force() -> bool:
                try:
                    await own.create(SERVICES, service("probe", {}))
                except Forbidden:
                    return True
                await west.delete(SERVICES, "probe")
                return False

            await until(is_in_force, bool)
            for name, labels in ((FOREIGN, {}), (OURS, MIRRORED)):
                if await west.get(SERVICES, name) is None:
                    await west.create(SERVICES, service(name, labels))
            yield west, own.client


async def test_the_controller_may_write_what_is_its_own(plane: ControlPlane) -> None:
    async with as_controller(plane) as (_, client):
        for deed in ALLOWED.values():
            await deed(client)


async def test_the_controller_may_write_nothing_else(plane: ControlPlane) -> None:
    async with as_controller(plane) as (west, client):
        for deed in REFUSED.values():
            with pytest.raises(Forbidden, match="ValidatingAdmissionPolicy 'isthmus-controller'"):
                await deed(client)
        # It is about nobody else.
        await west.create(SERVICES, service("mine", {}))


async def test_nothing_is_taken_over_by_a_label_nor_set_free(plane: ControlPlane) -> None:
    async with as_controller(plane) as (west, client):
        for name, labels in ((FOREIGN, MIRRORED), (OURS, {})):
            found = await west.get(SERVICES, name)
            assert found is not None
            found["metadata"]["labels"] = labels
            with pytest.raises(Forbidden, match="ValidatingAdmissionPolicy"):
                await client.replace(SERVICES, found)


async def test_a_link_keeps_its_spec_and_gets_its_finalizer(plane: ControlPlane) -> None:
    async with as_controller(plane) as (west, client):
        await west.create(LINKS, link("east"))
        patch: JsonObject = {"metadata": {"finalizers": ["isthmus.dev/mirrors"]}}
        await client.merge_patch(LINKS, Key("", "east"), patch)
        for change in ({"spec": {"createNamespaces": True}}, {"spec": {"via": "gateway"}}):
            with pytest.raises(Forbidden, match="changes no Link's spec"):
                await client.merge_patch(LINKS, Key("", "east"), change)
        await client.merge_patch(LINKS, Key("", "east"), {"metadata": {"finalizers": []}})
        await west.delete(LINKS, "east")


async def test_whoever_applied_it_first_by_other_means_can_go_on_by_the_command(
    plane: ControlPlane,
) -> None:
    """What others have set to the same is no conflict, as long as nothing of it is defaulted."""
    async with reached(plane) as west:
        for one in made("ha=true"):
            call = requests.apply(KINDS[one["kind"]], one, manager="kubectl", force=True)
            await west.client.exchange.fetch(call, 1 << 20)
        await install(west, values("ha=true"))
        again = await install(west, values("ha=true"))
        assert {outcome for _, outcome in again} == {"unchanged"}


async def test_what_was_installed_by_the_command_goes_by_the_command(
    plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, anchor = tmp_path / "config", str(tmp_path / "anchor")
    config.write_text(yaml.safe_dump(plane.kubeconfig()))

    async def typed(*words: str) -> str:
        command = ["--kubeconfig", str(config), *words]
        assert await asyncio.to_thread(main.run, command) == 0
        return capsys.readouterr().out

    async with reached(plane) as west:
        await west.delete(SERVICES, OURS)
        await typed("trust", "create", "--out", anchor)
        install = ("install", "--cluster-name", "west", "--anchor", anchor, "--apply")
        await typed(*install, "--force-conflicts")
        assert "the issuer of west.isthmus stays" in await typed(*install)
        said = await typed("uninstall", "--apply")
        assert said.splitlines()[-1] == "namespace/isthmus deleted"
        assert await typed("uninstall", "--apply") == ""
        for kind in ("ClusterRole", "CustomResourceDefinition", "ValidatingAdmissionPolicy"):
            left = [one["metadata"]["name"] for one in await west.all(KINDS[kind])]
            assert not [name for name in left if "isthmus" in name]
