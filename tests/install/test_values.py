"""What can be chosen about an installation: by words, by files, and what is refused."""

from collections.abc import Mapping
from contextlib import suppress

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from isthmus.install import keys
from isthmus.install.documents import BadValue
from isthmus.install.keys import Entry
from isthmus.install.values import (
    Controller,
    Egress,
    Gateway,
    GatewayService,
    Image,
    Issuer,
    Resources,
    Toleration,
    Trust,
    Values,
    parse,
)
from tests.model.test_yamls import BOMB

WEST = Values(cluster_name="west")
ENTRIES = tuple(keys.entries(Values))


def said(*sets: str, **files: str) -> Values:
    return parse(
        ("clusterName=west", *sets), {f"{name}.yaml": each for name, each in files.items()}
    )


@pytest.mark.parametrize(
    "sets, expected",
    [
        pytest.param((), WEST, id="defaults"),
        pytest.param(("ha=true",), replace(WEST, ha=True), id="truth"),
        pytest.param(
            ("controller.replicas=3",),
            replace(WEST, controller=Controller(replicas=3)),
            id="number",
        ),
        pytest.param(("controller.replicas=null",), WEST, id="null, where nothing is a choice"),
        pytest.param(
            ("image.tag=1.20",), replace(WEST, image=Image(tag="1.20")), id="a text stays a text"
        ),
        pytest.param(
            ("image.tag=1", "image.tag=2"), replace(WEST, image=Image(tag="2")), id="last"
        ),
        pytest.param(
            ("localCidrs=10.0.0.0/8,fd00::/8",),
            replace(WEST, local_cidrs=("10.0.0.0/8", "fd00::/8")),
            id="list",
        ),
        pytest.param(
            ("localCidrs={10.0.0.0/8, 10.1.0.0/16}",),
            replace(WEST, local_cidrs=("10.0.0.0/8", "10.1.0.0/16")),
            id="list as Helm writes it",
        ),
        pytest.param(("localCidrs=",), WEST, id="empty list"),
        pytest.param(
            ("gateway.service.annotations.example.com/type=a=b",),
            replace(
                WEST,
                gateway=Gateway(service=GatewayService(annotations={"example.com/type": "a=b"})),
            ),
            id="keys with dots, values with equals signs",
        ),
        pytest.param(
            (r"egress.nodeSelector.kubernetes\.io/os=linux",),
            replace(WEST, egress=Egress(node_selector={"kubernetes.io/os": "linux"})),
            id="dots as Helm writes them",
        ),
        pytest.param(
            ("controller.resources.limits.cpu=2",),
            replace(
                WEST,
                controller=Controller(resources=Resources(limits={"memory": "1Gi", "cpu": "2"})),
            ),
            id="one of several keeps the others",
        ),
    ],
)
def test_words(sets: tuple[str, ...], expected: Values) -> None:
    assert said(*sets) == expected


@pytest.mark.parametrize(
    "files, expected",
    [
        pytest.param({"a": ""}, WEST, id="empty"),
        pytest.param({"a": "ha: true"}, replace(WEST, ha=True), id="one"),
        pytest.param(
            {"a": "image: {tag: a, digest: b}", "b": "image: {tag: c}"},
            replace(WEST, image=Image(tag="c", digest="b")),
            id="later files win, key by key",
        ),
        pytest.param(
            {"a": "controller: {resources: {limits: {memory: null}, requests: {cpu: 1}}}"},
            replace(
                WEST,
                controller=Controller(
                    resources=Resources(limits={}, requests={"cpu": 1, "memory": "128Mi"})
                ),
            ),
            id="null takes a key away",
        ),
        pytest.param(
            {"a": "controller: {resources: {limits: null}}"},
            replace(WEST, controller=Controller(resources=Resources(limits={}))),
            id="or all of them",
        ),
        pytest.param({"a": "gateway: null"}, WEST, id="a group of which nothing is said"),
        pytest.param(
            {"a": "egress: {tolerations: [{key: edge, operator: Exists}]}"},
            replace(WEST, egress=Egress(tolerations=(Toleration(key="edge", operator="Exists"),))),
            id="tolerations",
        ),
        pytest.param(
            {"a": "trust: {anchors: a, issuer: {certificate: b, key: c}}"},
            replace(WEST, trust=Trust(anchors="a", issuer=Issuer(certificate="b", key="c"))),
            id="trust",
        ),
    ],
)
def test_files(files: Mapping[str, str], expected: Values) -> None:
    assert said(**files) == expected


def test_words_win_over_files() -> None:
    assert said("logLevel=debug", a="logLevel: error").log_level == "debug"


@pytest.mark.parametrize(
    "word, wrong",
    [
        (
            "gateway.service.typ=x",
            "no key 'gateway.service.typ'; did you mean gateway.service.type?",
        ),
        (
            "replicas=2",
            "did you mean controller.replicas or gateway.replicas or egress.replicas?",
        ),
        ("qqqq=2", "there is no key 'qqqq'; `isthmus install --keys` lists all of them"),
        ("gateway.service=2", "gateway.service is a group of keys: gateway.service.type, "),
        ("egress.nodeSelector=2", "egress.nodeSelector has keys of its own"),
        ("ha", "'ha' is not of the form key=value"),
        ("=1", "'=1' is not of the form key=value"),
        ("ha=maybe", "ha: 'maybe' is not true or false"),
        ("controller.workers=many", "controller.workers: 'many' is not a whole number from 1"),
        (f"gateway.replicas={10**20}", f"'{10**20}' is not a whole number from 1 to 1000 or null"),
        ("egress.replicas=1001", "'1001' is not a whole number from 1 to 1000 or null"),
        ("egress.concurrency=1001", "'1001' is not a whole number from 1 to 1000"),
        ("egress.drain=86401", "egress.drain: '86401' is not a whole number from 0 to 86400"),
        ("egress.linger=-1", "egress.linger: '-1' is not a whole number from 0 to 86400"),
        (f"runAsUser={2**31}", "is not a whole number from 1 to 2147483647 or null"),
        ("controller.workers=0", "controller.workers: '0' is not a whole number from 1"),
        ("gateway.service.port=65536", "'65536' is not a whole number from 1 to 65535"),
        (
            "gateway.service.type=Magic",
            "gateway.service.type: 'Magic' is not one of LoadBalancer, NodePort, ClusterIP",
        ),
        ("localCidrs=10.0.0.1/8", "localCidrs: '10.0.0.1/8' is not a range such as 10.0.0.0/8"),
        ("gateway.service.loadBalancerSourceRanges=x", "loadBalancerSourceRanges: 'x' is not"),
        ("clusterName=West", "'West' is not the name of a cluster"),
        ("clusterName=", "clusterName is missing"),
        ("meshDomain=-", "'-' is not a mesh domain"),
        ("clusterDomain=a..b", "clusterDomain: 'a..b' is not a DNS name"),
        ("namespace=a.b", "namespace: 'a.b' is not a DNS label"),
        ("image.repository=", "image.repository: '' is not a text"),
    ],
)
def test_words_that_are_refused(word: str, wrong: str) -> None:
    with pytest.raises(BadValue) as refused:
        said(word)
    assert wrong in str(refused.value)


def test_a_node_port_needs_a_service_that_has_one() -> None:
    with pytest.raises(BadValue, match="type ClusterIP has none"):
        said("gateway.service.type=ClusterIP", "gateway.service.nodePort=30000")


@pytest.mark.parametrize(
    "text, wrong",
    [
        ("a: b: c", "a.yaml: not valid YAML at line 1, column 5"),
        ("a: 2001-99-99", "a.yaml: there is no key 'a'"),
        (BOMB.replace("a9", "localCidrs"), "a.yaml: line 6: nested too deeply, or too many values"),
        ("ha: true\nha: false", "a.yaml: line 2: the field ha is set twice"),
        ("ha: true\n---\nha: true", "a.yaml: line 2: a second document starts; a file of values"),
        ("ha: !maybe true", "a.yaml: line 1: the tag !maybe is not taken"),
        ("- a", "a.yaml: expected keys with values"),
        ("controller: {replica: 2}", "a.yaml: there is no key 'controller.replica'"),
        ("controller: 3", "a.yaml: controller is a group of keys, not 3"),
        ("trust: a secret", "a.yaml: trust is a group of keys, not this"),
        ("trust: {issuer: a secret}", "a.yaml: trust.issuer is a group of keys, not this"),
        ("controller: {replicas: two}", "controller.replicas: 'two' is not a whole number"),
        ("controller: {replicas: true}", "controller.replicas: True is not a whole number"),
        ("localCidrs: 10.0.0.0/8", "localCidrs: '10.0.0.0/8' is not a list of texts"),
        ("localCidrs: [1]", "localCidrs: [1] is not a list of texts"),
        ("image: {tag: 1.5}", "image.tag: 1.5 is not a text"),
        ("image: {tag: null}", "image.tag: None is not a text"),
        ("egress: {tolerations: [{kee: a}]}", "egress.tolerations: "),
        ("gateway: {service: {annotations: {a: 1}}}", "gateway.service.annotations: "),
        ("trust: {issuer: {key: c}}", "trust.issuer: certificate and key belong together"),
        ("1: a", "there is no key '1'"),
    ],
)
def test_files_that_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(BadValue) as refused:
        said(a=text)
    assert wrong in str(refused.value)


def test_a_private_key_is_never_shown() -> None:
    given = said(a="trust: {issuer: {certificate: b, key: SECRET}}")
    assert "SECRET" not in repr(given)
    for text in ("trust: {issuer: {certificate: b, key: [SECRET]}}", "trust: {issuer: SECRETS"):
        with pytest.raises(BadValue) as refused:
            said(a=text)
        assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: one.path)
def test_every_key_is_described_in_one_line_and_takes_its_default(entry: Entry) -> None:
    assert entry.text.endswith(".")
    assert "\n" not in entry.text
    assert entry.takes != "something else"
    document: object = msgspec.to_builtins(entry.default)
    for step in reversed(entry.path.split(".")):
        document = {step: document}
    if entry.path != "clusterName":
        assert said(a=yaml.safe_dump(document)) == WEST


@given(path=st.sampled_from(ENTRIES), place=st.integers(0, 60), letter=st.sampled_from("qzx"))
def test_a_slip_of_the_finger_is_refused_and_the_key_is_suggested(
    path: Entry, place: int, letter: str
) -> None:
    place %= len(path.path) + 1
    typed = path.path[:place] + letter + path.path[place:]
    if path.is_map and typed.startswith(path.path):
        return
    with pytest.raises(BadValue) as refused:
        said(f"{typed}=1")
    assert "did you mean" in str(refused.value)


@given(words=st.lists(st.text(max_size=40), max_size=4), text=st.text(max_size=200))
def test_whatever_is_typed_is_understood_or_refused_in_our_own_words(
    words: list[str], text: str
) -> None:
    with suppress(BadValue):
        parse(["clusterName=west", *words], {"a.yaml": text})
