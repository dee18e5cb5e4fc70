"""What a cluster shows of its installation, above all what it is called."""

import pytest

from isthmus import install
from isthmus.cli.installation import (
    Installation,
    NameDiffers,
    NameUnknown,
    described,
    name,
)
from isthmus.install.values import parse
from isthmus.model.names import CONTROLLER
from isthmus.model.wire import JsonObject


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
