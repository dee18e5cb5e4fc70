"""An installation remembers what was chosen about it, and nothing that is secret or by default."""

import json

import pytest
from msgspec.structs import replace

from isthmus.install.memory import KEPT, Difference, compared, memory
from isthmus.install.values import Trust, Values, parse
from isthmus.model.names import VALUES
from tests.install.made import chosen, made, values

CHOICES = (
    (),
    ("ha=true", "image.tag=mine"),
    ("clusterDomain=w.example", "meshDomain=mesh.example", "runAsUser=null"),
    ("localCidrs=10.0.0.0/8,fd00::/8", "gateway.drain=60", "gateway.service.type=NodePort"),
    ("gateway.service.annotations.example.com/a=b", "egress.nodeSelector.edge=true"),
    ("controller.resources.limits.cpu=2", "controller.replicas=3"),
)
FILE = """\
controller: {resources: {requests: {cpu: 1, memory: null}, limits: null}}
egress: {tolerations: [{key: edge, operator: Exists, tolerationSeconds: 5}]}
"""


def kept(of: Values) -> str:
    text: str = memory(of)["data"][KEPT]
    return text


@pytest.mark.parametrize("sets", CHOICES)
@pytest.mark.parametrize("file", ["", FILE], ids=["words", "file"])
def test_what_is_remembered_makes_the_same_again(sets: tuple[str, ...], file: str) -> None:
    before = parse(("clusterName=west", *sets), {"a": file})
    assert parse((), {"memory": kept(before)}) == before


def test_only_what_was_chosen_is_remembered() -> None:
    assert json.loads(kept(values("ha=true", "logLevel=info"))) == {
        "clusterName": "west",
        "ha": True,
    }


def test_neither_a_key_nor_where_it_stands_is_remembered() -> None:
    text = kept(
        values(
            *("namespace=mesh", "trust.anchors=ANCHORS"),
            *("trust.issuer.certificate=CERTIFICATE", "trust.issuer.key=SECRET"),
        )
    )
    assert json.loads(text) == {"clusterName": "west"}


def test_it_is_part_of_every_installation() -> None:
    found = chosen(made("namespace=mesh"), "ConfigMap", VALUES)
    assert found["metadata"]["namespace"] == "mesh"


def test_what_is_kept_and_what_changes_is_told_apart() -> None:
    before = values("ha=true", "gateway.drain=60")
    now = replace(values("gateway.drain=60", "logLevel=debug"), trust=Trust(anchors="A"))
    assert compared(before, now) == Difference(
        {"gateway.drain": 60}, {"ha": (True, False), "logLevel": ("info", "debug")}
    )
