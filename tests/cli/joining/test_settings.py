"""``--set`` and files of fields: what they say, and what is refused by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.cli.joining.settings import BadSetting, gathered, merged
from isthmus.model.wire import JsonObject


@pytest.mark.parametrize(
    "typed, expected",
    [
        ("enableHeadlessServices=true", {"enableHeadlessServices": True}),
        ("createNamespaces=false", {"createNamespaces": False}),
        ("naming={service}-of-{cluster}", {"naming": "{service}-of-{cluster}"}),
        ("gateway.port=4143", {"gateway": {"port": 4143}}),
        ("gateway.addresses=a.b,c.d", {"gateway": {"addresses": ["a.b", "c.d"]}}),
        ('excludedLabels=["a=b","c"]', {"excludedLabels": ["a=b", "c"]}),
        ("excludedLabels=", {"excludedLabels": []}),
        ("probe.period=500ms", {"probe": {"period": "500ms"}}),
        ("limits.services=0", {"limits": {"services": 0}}),
        ("clusterDomain=west.cluster.local", {"clusterDomain": "west.cluster.local"}),
        (
            "selector.matchLabels.mirror.linkerd.io/exported=remote",
            {"selector": {"matchLabels": {"mirror.linkerd.io/exported": "remote"}}},
        ),
        (
            'selector.matchExpressions=[{"key": "a", "operator": "Exists"}]',
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
        ),
        ('selector={"matchLabels": {"a": "b"}}', {"selector": {"matchLabels": {"a": "b"}}}),
    ],
)  # fmt: skip
def test_what_is_typed_has_the_type_that_the_schema_says(typed: str, expected: JsonObject) -> None:
    assert gathered("Link", (), [typed]) == expected


@pytest.mark.parametrize(
    "typed, complaint",
    [
        ("enableHeadlesServices=true", "'enableHeadlesServices'; is enableHeadlessServices meant?"),
        ("gateway.prot=1", "no field 'gateway.prot'; is gateway.port meant?"),
        ("period=1s", "no field 'period'; is probe.period meant?"),
        ("probe.probe.period=1s", "is probe.period meant?"),
        ("xyzzy=1", "there are gateway, via, "),
        ("gateway.port.x=1", "no field 'gateway.port.x'"),
        ("gateway", "'gateway' is not an assignment"),
        ("=true", "'=true' is not an assignment"),
        ("gateway=203.0.113.9", "gateway: '203.0.113.9' is not JSON; name one of its fields, as "
                                "gateway.addresses=..., or write JSON"),
        ("enableHeadlessServices=yes", "enableHeadlessServices: 'yes' is neither true nor false"),
        ("gateway.port=https", "gateway.port: 'https' is not a whole number"),
        ("gateway.port=70000", "spec.gateway.port: "),
        ("via=proxy", "spec.via: "),
        ("naming=Web", "spec.naming: "),
        ("probe.period=soon", "spec.probe.period: 'soon' is not a duration, such as 3s or 500ms"),
        ("selector.matchExpressions=a", "selector.matchExpressions: 'a' is not JSON; write JSON"),
        ('selector={"matchLables": {}}', "'selector.matchLables'; is selector.matchLabels meant?"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(typed: str, complaint: str) -> None:
    with pytest.raises(BadSetting) as refused:
        gathered("Link", (), [typed])
    assert complaint in str(refused.value)


def test_files_come_first_and_the_last_word_counts() -> None:
    files: list[JsonObject] = [
        {"probe": {"period": "1s", "timeout": "2s"}, "excludedLabels": ["a"]},
        {"probe": {"timeout": "3s"}},
    ]
    assert gathered("Link", files, ["probe.period=4s", "excludedLabels=b"]) == {
        "probe": {"period": "4s", "timeout": "3s"},
        "excludedLabels": ["b"],
    }


def test_a_file_is_held_to_the_same_schema() -> None:
    with pytest.raises(BadSetting, match=r"'probe\.perod'; is probe\.period meant\?"):
        gathered("Link", [{"probe": {"perod": "1s"}}], ())
    with pytest.raises(BadSetting, match=r"spec\.enableHeadlessServices: .* boolean"):
        gathered("Link", [{"enableHeadlessServices": "true"}], ())


TREES = st.recursive(
    st.integers() | st.booleans() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(one=TREES, other=TREES)
def test_what_was_said_last_is_there_after_merging(one: object, other: object) -> None:
    assert merged(merged(one, other), other) == merged(one, other)
