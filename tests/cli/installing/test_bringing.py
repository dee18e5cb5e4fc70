"""An installation comes into a cluster whole, in order, and as often as one likes."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from isthmus.cli.applying import Contested
from isthmus.cli.installing.bringing import PATIENCE, Delivery, NoNamespace, NotServed
from isthmus.cli.installing.rights import NotAllowed
from isthmus.install import objects
from isthmus.install.values import Values, parse
from isthmus.kube import requests
from isthmus.kube.client import Client
from isthmus.kube.errors import Forbidden
from isthmus.kube.plain import KINDS
from isthmus.kube.requests import Call
from isthmus.kube.transport import Request, Response
from isthmus.model.wire import JsonObject
from tests.apps.clusters import Place, VirtualClock, place
from tests.support.transports import Canned, Intercepting

DEFINITIONS = "/customresourcedefinitions/"
MEMORY = "ConfigMap/isthmus-values"
Answer = Callable[[Request], Awaitable[Response | None]]


def values(*sets: str) -> Values:
    return parse(["clusterName=west", *sets])


def is_write(request: Request) -> bool:
    dry = ("dryRun", "All") in request.query
    return request.method != "GET" and not dry and "reviews" not in request.path


async def bring(west: Place, wanted: Values, answer: Answer | None = None) -> dict[str, str]:
    """Install; return what became of each object."""
    said: dict[str, str] = {}

    def say(obj: JsonObject, outcome: str) -> None:
        said[f"{obj['kind']}/{obj['metadata']['name']}"] = outcome

    transport = west.cluster.transport()
    client = Client(transport if answer is None else Intercepting(transport, answer))
    await Delivery(client, wanted, say, VirtualClock()).run()
    return said


async def test_what_was_created_is_unchanged_next_time_and_configured_when_it_differs() -> None:
    west = place("west")
    first = await bring(west, values())
    assert set(first.values()) == {"created"}
    assert len(first) == len(objects(values()))
    writes: list[str] = []

    async def note(request: Request) -> None:
        if is_write(request):
            writes.append(request.path)

    assert set((await bring(west, values(), note)).values()) == {"unchanged"}
    assert writes == []
    third = await bring(west, values("ha=true", "logLevel=debug"), note)
    changed = {name for name, outcome in third.items() if outcome == "configured"}
    names = ("controller", "gateway", "egress")
    assert changed == {f"Deployment/isthmus-{name}" for name in names} | {MEMORY}
    budgets = {f"PodDisruptionBudget/isthmus-{name}" for name in names}
    assert {name for name, outcome in third.items() if outcome == "created"} == budgets
    fourth = await bring(west, values("admissionPolicy.enabled=false"))
    gone = {name for name, outcome in fourth.items() if outcome == "deleted"}
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    assert gone == budgets | {f"{kind}/isthmus-controller" for kind in kinds}


async def test_a_namespace_that_others_make_must_be_there_before_anything_is_written() -> None:
    west = place("west")
    with pytest.raises(NoNamespace, match="there is no namespace isthmus, and createNamespace is"):
        await bring(west, values("createNamespace=false"))
    assert await west.all(KINDS["CustomResourceDefinition"]) == []
    await west.create(KINDS["Namespace"], {"metadata": {"name": "isthmus"}})
    assert set((await bring(west, values("createNamespace=false"))).values()) == {"created"}
    made = await west.get(KINDS["Namespace"], "isthmus")
    assert made is not None
    assert not [name for name in made["metadata"]["labels"] if "pod-security" in name]


async def test_a_namespace_that_somebody_has_made_stays_theirs() -> None:
    west = place("west")
    await west.create(KINDS["Namespace"], {"metadata": {"name": "isthmus"}})
    for expected in ("configured", "unchanged"):
        assert (await bring(west, values()))["Namespace/isthmus"] == expected
    made = await west.get(KINDS["Namespace"], "isthmus")
    assert made is not None
    assert "app.kubernetes.io/part-of" not in made["metadata"]["labels"]
    assert made["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


async def test_what_is_not_ours_is_not_removed() -> None:
    west = place("west")
    await bring(west, values("networkPolicy.enabled=false"))
    theirs = {
        "metadata": {"name": "isthmus-gateway", "namespace": "isthmus"},
        "spec": {"podSelector": {}},
    }
    await west.create(KINDS["NetworkPolicy"], theirs)
    await bring(west, values("networkPolicy.enabled=false"))
    assert await west.get(KINDS["NetworkPolicy"], "isthmus-gateway", "isthmus") is not None


async def test_whoever_may_do_half_of_it_is_told_all_that_is_missing_before_a_write() -> None:
    west = place("west")
    writes: list[str] = []
    forbidden = ("clusterroles", "deployments")

    async def review(request: Request) -> Response | None:
        if is_write(request):
            writes.append(request.path)
        if not request.path.endswith("/selfsubjectaccessreviews"):
            return None
        asked = json.loads(request.body)
        wanted = asked["spec"]["resourceAttributes"]
        allowed = wanted["resource"] not in forbidden or wanted["verb"] == "get"
        return Canned(201, json.dumps({**asked, "status": {"allowed": allowed}}).encode())

    with pytest.raises(NotAllowed) as refused:
        await bring(west, values(), review)
    assert str(refused.value) == (
        "you may not create, patch clusterroles.rbac.authorization.k8s.io; "
        "you may not create, patch deployments.apps. Nothing was written"
    )
    assert writes == []


async def test_a_field_that_somebody_else_has_set_is_theirs_and_nothing_is_half_done() -> None:
    west = place("west")
    await bring(west, values())
    await west.client.exchange.fetch(_scaled_by_somebody(7), 1 << 20)
    writes: list[str] = []

    async def note(request: Request) -> None:
        if is_write(request):
            writes.append(request.path)

    with pytest.raises(Contested, match=r"deployment.apps/isthmus-egress: .*--force-conflicts"):
        await bring(west, values("logLevel=debug"), note)
    assert writes == []
    found = await west.get(KINDS["Deployment"], "isthmus-egress", "isthmus")
    assert found is not None
    assert found["spec"]["replicas"] == 7


def _scaled_by_somebody(replicas: int) -> Call[JsonObject]:
    """What ``kubectl apply --server-side --force-conflicts`` of somebody else asks for."""
    name = {"name": "isthmus-egress", "namespace": "isthmus"}
    obj = {"metadata": name, "spec": {"replicas": replicas}}
    return requests.apply(KINDS["Deployment"], obj, manager="somebody", force=True)


async def test_one_that_was_interrupted_goes_on() -> None:
    west, left = place("west"), 9

    async def interrupt(request: Request) -> None:
        nonlocal left
        if is_write(request):
            left -= 1
            if not left:
                await asyncio.Event().wait()  # no answer, ever

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await bring(west, values(), interrupt)
    said = await bring(west, values())
    assert list(said.values()).count("unchanged") == 8
    assert set(said.values()) == {"unchanged", "created"}


async def test_a_kind_that_is_never_served_is_not_waited_for_for_ever() -> None:
    west = place("west")

    async def never(request: Request) -> Response | None:
        if request.method == "GET" and DEFINITIONS in request.path:
            head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
            stored = {**head, "metadata": {"name": request.path.rpartition("/")[2]}, "status": {}}
            return Canned(200, json.dumps(stored).encode())
        return None

    clock = asyncio.get_running_loop().time
    began = clock()
    with pytest.raises(NotServed, match="is defined, and not served after 60 s"):
        await bring(west, values(), never)
    assert clock() - began >= PATIENCE


async def test_rights_that_a_server_knows_better_about_are_its_own_words() -> None:
    """Whoever may create roles may still not give away what he has not."""
    west = place("west")

    async def refuse(request: Request) -> Response | None:
        if request.method != "PATCH" or not request.path.endswith(
            "/clusterroles/isthmus-controller"
        ):
            return None
        status = {"kind": "Status", "message": "attempting to grant RBAC permissions", "code": 403}
        return Canned(403, json.dumps(status).encode(), {"Content-Type": "application/json"})

    with pytest.raises(Forbidden, match="attempting to grant RBAC permissions"):
        await bring(west, values(), refuse)
    assert await west.get(KINDS["Namespace"], "isthmus") is None  # it was tried before
