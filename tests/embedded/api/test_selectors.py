"""Selectors choose what Kubernetes would choose, and refuse what it cannot parse."""

import pytest

from isthmus.embedded.api.selectors import selection
from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.kinds.kind import Kind
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject


def kind(name: str) -> Kind:
    return next(one for one in BUILTIN if one.name == name)


def labelled(**labels: str) -> JsonObject:
    return {"metadata": {"name": "it", "namespace": "home", "labels": labels}}


@pytest.mark.parametrize(
    "text, labels, chosen",
    [
        pytest.param("a=b", {"a": "b"}, True, id="equal"),
        pytest.param("a==b", {"a": "c"}, False, id="not equal"),
        pytest.param("a!=b", {}, True, id="an absent label differs from every value"),
        pytest.param("a", {"a": ""}, True, id="present"),
        pytest.param("!a", {"a": ""}, False, id="not absent"),
        pytest.param("a in (b, c)", {"a": "c"}, True, id="one of"),
        pytest.param("a in ()", {"a": ""}, True, id="one of nothing is the empty value"),
        pytest.param("a notin (b,c)", {"a": "c"}, False, id="none of"),
        pytest.param("a notin (b,c)", {}, True, id="an absent label is in no set"),
        pytest.param("a in (in)", {"a": "in"}, True, id="a value like an operator"),
        pytest.param("a>4", {"a": "5"}, True, id="greater"),
        pytest.param("a<4", {"a": "5"}, False, id="not less"),
        pytest.param("a>4", {"a": "many"}, False, id="not a number"),
        pytest.param("a=b,c", {"a": "b"}, False, id="all have to hold"),
        pytest.param("a=", {"a": ""}, True, id="the empty value"),
        pytest.param(" a = b ,  !c ", {"a": "b"}, True, id="spaces"),
    ],
)
def test_label_selectors(text: str, labels: dict[str, str], chosen: bool) -> None:
    chooses = selection(kind("ConfigMap"), text, "")
    assert chooses is not None
    assert chooses(labelled(**labels)) is chosen


def test_no_selector_chooses_everything() -> None:
    assert selection(kind("ConfigMap"), "", " ") is None


@pytest.mark.parametrize(
    "text, message",
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("!=b", "found '!=', expected: !, identifier, or 'end of string'"),
        ("! ,a", "unable to parse requirement: found ',', expected: identifier"),
        ("a,", "found '', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ],
)
def test_what_cannot_be_parsed_is_refused(text: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        selection(kind("ConfigMap"), text, "")
    assert (refused.value.code, refused.value.message) == (400, message)


@pytest.mark.parametrize(
    "name, text, obj, chosen",
    [
        ("ConfigMap", "metadata.name=it", {}, True),
        ("ConfigMap", "metadata.name!=it", {}, False),
        ("ConfigMap", "metadata.namespace==home,metadata.name=other", {}, False),
        ("Secret", "type=Opaque", {"type": "Opaque"}, True),
        ("Pod", "status.phase=Running", {"status": {"phase": "Pending"}}, False),
        ("Pod", "spec.nodeName=", {"spec": {}}, True),
        ("Pod", "spec.hostNetwork=false", {"spec": {}}, True),
        ("Node", "spec.unschedulable=true", {"spec": {"unschedulable": True}}, True),
    ],
)
def test_field_selectors(name: str, text: str, obj: dict[str, Json], chosen: bool) -> None:
    chooses = selection(kind(name), "", text)
    assert chooses is not None
    assert chooses({**labelled(), **obj}) is chosen


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("Pod", "spec.foo=1", "field label not supported: spec.foo"),
        (
            "ConfigMap",
            "data.x=1",
            '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("ConfigMap", "foo", "invalid selector: 'foo'; can't understand 'foo'"),
    ],
)
def test_unknown_fields_are_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        selection(kind(name), "", text)
    assert refused.value.message == message
