"""What a cluster shows of its installation, above all what it is called."""

import json

import pytest

from isthmus import install
from isthmus.cli.installation import (
    Installation,
    NameDiffers,
    NameUnknown,
    described,
    homes,
    name,
)
from isthmus.install.values import parse
from isthmus.kube.client import Client
from isthmus.kube.plain import KINDS
from isthmus.kube.transport import Request, Response
from isthmus.model.names import CONTROLLER
from isthmus.model.wire import JsonObject
from tests.apps.clusters import place
from tests.support.transports import Canned, Intercepting


def deployment(*args: str, **container: object) -> JsonObject:
    containers = [{"name": "sidecar"}, {"name": "main", "args": list(args), **container}]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


def test_what_install_writes_is_understood() -> None:
    values = parse(("clusterName=west", "meshDomain=acme", "clusterDomain=w.example"), {})
    (found,) = (
        one
        for one in install.objects(values)
        if (one["kind"], one["metadata"]["name"]) == ("Deployment", CONTROLLER)
    )
    assert described(found) == Installation(
        cluster="west", mesh_domain="acme", cluster_domain="w.example"
    )


@pytest.mark.parametrize(
    "found, expected",
    [
        pytest.param(deployment("--cluster-name", "west"), "west", id="two words"),
        pytest.param(deployment("controller", "--cluster-name=west"), "west", id="one word"),
        pytest.param(
            deployment(command=["isthmus", "--cluster-name", "west"]), "west", id="the command"
        ),
        pytest.param(
            deployment("--cluster-name=$(NAME)", env=[{"name": "NAME", "value": "west"}]),
            "west",
            id="a variable",
        ),
        pytest.param(deployment("--cluster-name"), "", id="nothing after it"),
        pytest.param(deployment("--name", "west"), "", id="another option"),
        pytest.param(deployment(), "", id="no words"),
    ],
)
def test_what_it_is_called(found: JsonObject, expected: str) -> None:
    assert described(found).cluster == expected


WEST = Installation(cluster="west")


@pytest.mark.parametrize(
    "said, shown, expected",
    [("west", WEST, "west"), ("", WEST, "west"), ("west", Installation(), "west")],
)
def test_the_name_is_what_is_said_or_shown(said: str, shown: Installation, expected: str) -> None:
    assert name(said, shown, "--cluster-name") == expected


def test_a_name_that_differs_is_refused_with_both() -> None:
    with pytest.raises(NameDiffers, match=r"--to-name says 'east', but .* calls itself 'west'"):
        name("east", WEST, "--to-name")


def test_a_name_that_nobody_knows_has_to_be_said() -> None:
    with pytest.raises(NameUnknown, match=r"Deployment isthmus-controller .* --to-name"):
        name("", Installation(), "--to-name")


@pytest.mark.parametrize("may_list", [True, False])
async def test_where_it_is_shows_in_deployments_or_in_the_rights_of_a_controller(
    may_list: bool,
) -> None:
    west = place("west")

    async def answer(request: Request) -> Response | None:
        if may_list or not request.path.endswith("/deployments"):
            return None
        return Canned(403, json.dumps({"kind": "Status", "code": 403}).encode())

    client = Client(Intercepting(west.cluster.transport(), answer))
    assert await homes(client) == ()
    for one in install.objects(parse(("clusterName=west", "namespace=mesh"))):
        await west.client.apply(KINDS[one["kind"]], one)
    assert await homes(client) == ("mesh",)
