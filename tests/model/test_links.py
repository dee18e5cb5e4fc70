"""What we read of a Link is what its definition lets users write, defaults included."""

import msgspec
import pytest

from isthmus.model.links import Gateway, Limits, Link, LinkSpec, LinkStatus, Probe, RefusedExport
from isthmus.model.objects import Condition
from isthmus.model.selectors import Requirement, Selector
from isthmus.model.wire import Json, JsonObject
from tests.support.definitions import schema

LINK = schema("links")["properties"]
SPEC, STATUS = LINK["spec"], LINK["status"]
PARTS = [
    pytest.param(LinkSpec, SPEC, id="spec"),
    pytest.param(Gateway, SPEC["properties"]["gateway"], id="gateway"),
    pytest.param(Probe, SPEC["properties"]["probe"], id="probe"),
    pytest.param(Limits, SPEC["properties"]["limits"], id="limits"),
    pytest.param(Selector, SPEC["properties"]["selector"], id="selector"),
    pytest.param(
        Requirement,
        SPEC["properties"]["selector"]["properties"]["matchExpressions"]["items"],
        id="expression",
    ),
    pytest.param(LinkStatus, STATUS, id="status"),
    pytest.param(Condition, STATUS["properties"]["conditions"]["items"], id="condition"),
    pytest.param(RefusedExport, STATUS["properties"]["refused"]["items"], id="refused export"),
]


@pytest.mark.parametrize("struct, described", PARTS)
def test_the_definition_has_the_fields_that_we_read(
    struct: type[msgspec.Struct], described: JsonObject
) -> None:
    fields = {one.encode_name for one in msgspec.structs.fields(struct)}
    assert fields == described["properties"].keys()


@pytest.mark.parametrize("struct, described", PARTS)
def test_required_fields_are_those_without_a_default(
    struct: type[msgspec.Struct], described: JsonObject
) -> None:
    required = {one.encode_name for one in msgspec.structs.fields(struct) if one.required}
    assert required == set(described.get("required", ()))


@pytest.mark.parametrize("struct, described", PARTS)
def test_values_that_are_one_of_a_few_are_the_same_few(
    struct: type[msgspec.Struct], described: JsonObject
) -> None:
    for one in msgspec.inspect.type_info(struct).fields:  # type: ignore[attr-defined]  # a struct
        if isinstance(one.type, msgspec.inspect.LiteralType):
            assert set(described["properties"][one.encode_name]["enum"]) == set(one.type.values)


def filled(described: JsonObject, value: Json) -> Json:
    """What the API server makes of ``value``: objects get the defaults of their members."""
    if not isinstance(value, dict):
        return value
    members = described.get("properties", {})
    given = {
        name: member["default"] for name, member in members.items() if "default" in member
    } | value
    return {name: filled(members.get(name, {}), one) for name, one in given.items()}


@pytest.mark.parametrize(
    "written",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"gateway": {}}, id="an empty gateway"),
        pytest.param({"probe": {}, "limits": {}}, id="an empty probe, empty limits"),
        pytest.param({"selector": {}}, id="an empty selector stays empty"),
        pytest.param({"probe": {"period": "9s"}}, id="one field of the probe"),
    ],
)
def test_defaults_are_the_same_whoever_fills_them_in(written: JsonObject) -> None:
    ours = msgspec.convert(written, LinkSpec)
    theirs = msgspec.convert(filled(SPEC, written), LinkSpec)
    assert ours == theirs


def test_every_default_of_the_definition_is_the_one_of_our_own() -> None:
    assert filled(SPEC, {}) == {
        name: value
        for name, value in everything(LinkSpec()).items()
        if "default" in SPEC["properties"][name]
    }


def everything(value: msgspec.Struct) -> JsonObject:
    """Encode ``value`` with its defaults, which are left out otherwise; empty lists stay out."""
    found: JsonObject = {}
    for one in msgspec.structs.fields(value):
        member = getattr(value, one.name)
        if isinstance(member, msgspec.Struct):
            found[one.encode_name] = everything(member)
        elif member not in ((), {}):
            found[one.encode_name] = msgspec.to_builtins(member)
    return found


def test_a_link_is_read_as_kubectl_shows_it() -> None:
    shown = b"""{
      "apiVersion": "isthmus.dev/v1alpha1", "kind": "Link",
      "metadata": {"name": "west", "uid": "1-2-3", "managedFields": [{"manager": "kubectl"}]},
      "spec": {"via": "api", "credentialsSecret": "cluster-credentials-west", "unknown": true},
      "status": {"clusterUID": "4-5-6", "mirrors": 4, "refusedCount": 1,
        "refused": [{"namespace": "shop", "name": "web", "reason": "NameTaken"}]}
    }"""
    found = msgspec.json.decode(shown, type=Link)
    assert (found.cluster, found.uid) == ("west", "1-2-3")
    assert (found.spec.via, found.spec.credentials_secret) == ("api", "cluster-credentials-west")
    assert (found.status.cluster_uid, found.status.mirrors) == ("4-5-6", 4)
    assert found.status.refused[0].reason == "NameTaken"
