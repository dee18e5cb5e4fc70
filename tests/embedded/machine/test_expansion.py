"""What a container's words mean on this machine."""

from pathlib import Path

import pytest

from isthmus.embedded.machine.expansion import expanded, field, relocated, variables
from isthmus.embedded.machine.objects import (
    Container,
    FieldReference,
    Pod,
    PodMetadata,
    PodSpec,
    Variable,
    VariableSource,
)

POD = Pod(
    metadata=PodMetadata(
        name="web-0", namespace="shop", uid="u-1", labels={"app": "web"}, annotations={"a/b": "c"}
    ),
    spec=PodSpec(node_name="machine", service_account_name="clerk"),
)
MOUNTS = (
    ("/etc/trust", Path("/tmp/p/trust")),
    ("/etc/trust/deep", Path("/tmp/p/deep")),
    ("/run/", Path("/tmp/p/run")),
)


def from_field(name: str, path: str) -> Variable:
    reference = FieldReference(field_path=path)
    return Variable(name=name, value_from=VariableSource(field_ref=reference))


@pytest.mark.parametrize(
    "path, value",
    [
        ("metadata.name", "web-0"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "u-1"),
        ("metadata.labels['app']", "web"),
        ("metadata.annotations['a/b']", "c"),
        ("metadata.labels['none']", ""),
        ("spec.nodeName", "machine"),
        ("spec.serviceAccountName", "clerk"),
        ("status.podIP", "127.1.2.3"),
        ("status.hostIP", "127.0.0.1"),
        ("metadata.nothing", ""),
    ],
)
def test_a_pod_knows_itself(path: str, value: str) -> None:
    assert field(POD, "127.1.2.3", path) == value


@pytest.mark.parametrize(
    "word, value",
    [
        pytest.param("--name=$(NAME)", "--name=web", id="a variable"),
        pytest.param("$(NAME)-$(NAME)", "web-web", id="twice"),
        pytest.param("$(NONE)", "$(NONE)", id="an unknown one stays"),
        pytest.param("$$(NAME)", "$(NAME)", id="escaped"),
        pytest.param("$NAME ${NAME}", "$NAME ${NAME}", id="no shell is here"),
    ],
)
def test_words_name_variables(word: str, value: str) -> None:
    assert expanded(word, {"NAME": "web"}) == value


def test_a_variable_may_name_those_before_it_and_comes_before_those_given() -> None:
    container = Container(
        name="main",
        env=(
            from_field("POD", "metadata.name"),
            Variable(name="FULL", value="$(POD).$(ZONE)"),
            Variable(name="ZONE", value="ours"),
            Variable(name="LATE", value="$(ZONE)"),
        ),
    )
    assert variables(POD, container, "127.1.2.3", {"ZONE": "theirs"}) == {
        "POD": "web-0",
        "FULL": "web-0.theirs",
        "ZONE": "ours",
        "LATE": "ours",
    }


@pytest.mark.parametrize(
    "word, value",
    [
        pytest.param("/etc/trust/anchors.pem", "/tmp/p/trust/anchors.pem", id="a file"),
        pytest.param("/etc/trust", "/tmp/p/trust", id="the folder itself"),
        pytest.param("--file=/etc/trust/x", "--file=/tmp/p/trust/x", id="behind an option"),
        pytest.param("/etc/trust/deep/x", "/tmp/p/deep/x", id="the longest counts"),
        pytest.param("/run/x", "/tmp/p/run/x", id="a mount with a slash at its end"),
        pytest.param("/etc/trusted", "/etc/trusted", id="a neighbour stays"),
        pytest.param("see /etc/trust", "see /etc/trust", id="no path"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_mounted_paths_are_others_on_this_machine(word: str, value: str) -> None:
    assert relocated(word, MOUNTS) == value
