"""Our own kinds: the definitions we ship are accepted, and bad Links and Grants are refused."""

import msgspec
import pytest

from isthmus.model.links import Link, LinkSpec
from isthmus.model.wire import Json, JsonObject
from tests.contract.objects import obj
from tests.contract.server import Server
from tests.contract.summary import HOW_TO_BUILD, IS_BUILT
from tests.support.definitions import PLURALS, definition
from tests.support.waiting import until

VERSION = "isthmus.dev/v1alpha1"
ROOT = f"/apis/{VERSION}"
LINKS, GRANTS = f"{ROOT}/links", f"{ROOT}/grants"

# The rules written in CEL are carried out by the real server only.
real_only = pytest.mark.parametrize(
    "server",
    [
        pytest.param(
            "real",
            marks=[
                pytest.mark.sockets,
                pytest.mark.real,
                pytest.mark.skipif(not IS_BUILT, reason=HOW_TO_BUILD),
            ],
        )
    ],
    indirect=True,
)


def link(name: str, spec: Json = None) -> JsonObject:
    return {**obj(VERSION, "Link", name), "spec": {} if spec is None else spec}


def grant(name: str, spec: JsonObject) -> JsonObject:
    return {**obj(VERSION, "Grant", name), "spec": spec}


async def served(server: Server) -> None:
    """Return when both kinds can be used. The real server keeps them between tests."""
    for plural in PLURALS:
        await server.create("customresourcedefinitions", definition(plural))
        await until(
            lambda path=f"{ROOT}/{plural}": server.get(path),  # type: ignore[misc]  # bound early
            lambda reply: reply.code == 200,
            within=30,
        )


@pytest.mark.parametrize("plural", PLURALS)
async def test_the_definitions_we_ship_are_accepted(server: Server, plural: str) -> None:
    await served(server)
    name = f"customresourcedefinitions/{plural}.isthmus.dev"
    found = (await server.get(name)).ok
    states = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    assert states == {"NamesAccepted": "True", "Established": "True"}, states


async def test_a_link_that_says_nothing_is_filled_in_as_our_own_defaults_say(
    server: Server,
) -> None:
    await served(server)
    made = (await server.create(LINKS, link(server.unique("west")))).ok
    assert msgspec.convert(made, Link).spec == LinkSpec()


async def test_a_link_that_says_everything_is_kept_as_it_is(server: Server) -> None:
    await served(server)
    spec = {
        "gateway": {
            "addresses": ["203.0.113.9", "gw.example"],
            "port": 4143,
            "identity": "gw.west",
        },
        "via": "api",
        "dataPlane": "linkerd",
        "credentialsSecret": "cluster-credentials-west",
        "clusterDomain": "west.cluster.local",
        "enableHeadlessServices": True,
        "selector": {
            "matchLabels": {"team": "a"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["front"]}],
        },
        "naming": "{service}-{cluster}",
        "endpointNaming": "{hostname}-{service}-{cluster}",
        "createNamespaces": True,
        "allowedNamespaces": ["kube-system"],
        "excludedLabels": ["example.org/*"],
        "excludedAnnotations": ["note"],
        "probe": {"period": "500ms", "timeout": "1m", "failureThreshold": 1},
        "limits": {"services": 0},
    }
    made = (await server.create(LINKS, link(server.unique("west"), spec))).ok
    assert made["spec"] == spec


BAD_LINKS = [
    pytest.param({"gateway": {"port": 0}}, "spec.gateway.port", id="port 0"),
    pytest.param({"gateway": {"port": 65536}}, "spec.gateway.port", id="port 65536"),
    pytest.param({"gateway": {"port": -1}}, "spec.gateway.port", id="a negative port"),
    pytest.param({"gateway": {"port": "4143"}}, "spec.gateway.port", id="a port as text"),
    pytest.param(
        {"gateway": {"addresses": [f"10.0.0.{one}" for one in range(17)]}},
        "spec.gateway.addresses",
        id="17 addresses",
    ),
    pytest.param({"gateway": {"addresses": [""]}}, "spec.gateway.addresses[0]", id="no address"),
    pytest.param(
        {"gateway": {"addresses": ["a" * 254]}}, "spec.gateway.addresses[0]", id="254 characters"
    ),
    pytest.param({"via": "pigeon"}, "spec.via", id="an unknown way"),
    pytest.param({"dataPlane": "iptables"}, "spec.dataPlane", id="an unknown data plane"),
    pytest.param({"credentialsSecret": ""}, "spec.credentialsSecret", id="an empty secret name"),
    pytest.param({"clusterDomain": "West.Local"}, "spec.clusterDomain", id="domain, upper case"),
    pytest.param({"clusterDomain": "a..b"}, "spec.clusterDomain", id="domain with two dots"),
    pytest.param({"naming": "{service}_{cluster}"}, "spec.naming", id="naming, underscore"),
    pytest.param({"naming": "{service.uid}"}, "spec.naming", id="naming, another field"),
    pytest.param({"naming": "{service}" + "x" * 55}, "spec.naming", id="naming, 64 characters"),
    pytest.param({"naming": ""}, "spec.naming", id="naming, empty"),
    pytest.param({"endpointNaming": "{pod}"}, "spec.endpointNaming", id="naming of pods"),
    pytest.param(
        {"probe": {"failureThreshold": 0}}, "spec.probe.failureThreshold", id="threshold 0"
    ),
    pytest.param(
        {"probe": {"failureThreshold": -3}}, "spec.probe.failureThreshold", id="threshold -3"
    ),
    pytest.param(
        {"probe": {"period": "1000000000000s"}}, "spec.probe.period", id="a period that is long"
    ),
    pytest.param({"probe": {"timeout": 5}}, "spec.probe.timeout", id="a timeout without a unit"),
    pytest.param({"limits": {"services": -1}}, "spec.limits.services", id="a negative limit"),
    pytest.param({"limits": {"services": 100_001}}, "spec.limits.services", id="a huge limit"),
    pytest.param(
        {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
        "spec.selector.matchExpressions[0].operator",
        id="an unknown operator",
    ),
    pytest.param(
        {"selector": {"matchExpressions": [{"operator": "Exists"}]}},
        "spec.selector.matchExpressions[0].key",
        id="an expression without a key",
    ),
    pytest.param(
        {"excludedLabels": ["a", "a"]}, "spec.excludedLabels[1]", id="the same exclusion twice"
    ),
    pytest.param("everything", "spec", id="a spec that is text"),
]


@pytest.mark.parametrize("spec, field", BAD_LINKS)
async def test_the_schema_refuses_a_bad_link(server: Server, spec: Json, field: str) -> None:
    await served(server)
    reply = await server.create(LINKS, link(server.unique("west"), spec))
    assert reply.refusal[:2] == (422, "Invalid")
    # The real server notes, about no field, that it did not get as far as the rules in CEL.
    assert {cause[1] for cause in reply.causes} - {"<nil>"} == {field}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("..", id="dots"),
        pytest.param("a/b", id="a slash"),
        pytest.param("West", id="upper case"),
        pytest.param("\U0001f30d", id="an emoji"),
        pytest.param("-west", id="a leading dash"),
    ],
)
async def test_a_link_with_an_impossible_name_is_refused(server: Server, name: str) -> None:
    await served(server)
    reply = await server.create(LINKS, link(name))
    assert reply.refusal[:2] == (422, "Invalid")


@real_only
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("w" * 64, id="64 characters"),
        pytest.param("a.b", id="a dot"),
        pytest.param("1west", id="a leading digit"),
    ],
)
async def test_a_link_is_named_after_a_cluster(server: Server, name: str) -> None:
    await served(server)
    reply = await server.create(LINKS, link(name))
    assert reply.refusal[:2] == (422, "Invalid")
    assert "the name of the target cluster" in reply.refusal[2]


@real_only
@pytest.mark.parametrize(
    "spec, message",
    [
        pytest.param({"via": "api"}, "needs credentialsSecret", id="api without a secret"),
        pytest.param(
            {"gateway": {"identity": "gw"}}, "identity is for dataPlane linkerd", id="identity"
        ),
        pytest.param({"dataPlane": "linkerd"}, "need via: api", id="linkerd through our gateway"),
        pytest.param({"dataPlane": "external"}, "need via: api", id="external, likewise"),
        pytest.param({"naming": "{cluster}"}, "must contain {service}", id="one name for all"),
        pytest.param(
            {"endpointNaming": "{service}"}, "must contain {hostname}", id="one name for all pods"
        ),
        pytest.param({"probe": {"period": "1e9s"}}, "between 500ms and 1h", id="period 1e9s"),
        pytest.param({"probe": {"period": "-3s"}}, "between 500ms and 1h", id="period -3s"),
        pytest.param({"probe": {"period": "0s"}}, "between 500ms and 1h", id="period 0s"),
        pytest.param({"probe": {"period": "499ms"}}, "between 500ms and 1h", id="period 499ms"),
        pytest.param({"probe": {"period": "61m"}}, "between 500ms and 1h", id="period 61m"),
        pytest.param({"probe": {"period": "soon"}}, "between 500ms and 1h", id="period in words"),
        pytest.param({"probe": {"period": ""}}, "between 500ms and 1h", id="an empty period"),
        pytest.param({"probe": {"timeout": "99ms"}}, "between 100ms and 1m", id="timeout 99ms"),
        pytest.param({"probe": {"timeout": "61s"}}, "between 100ms and 1m", id="timeout 61s"),
        pytest.param(
            {"probe": {"timeout": "99999999h"}},
            "between 100ms and 1m",
            id="a timeout that overflows",
        ),
    ],
)
async def test_the_rules_refuse_a_bad_link(server: Server, spec: JsonObject, message: str) -> None:
    await served(server)
    reply = await server.create(LINKS, link(server.unique("west"), spec))
    assert reply.refusal[:2] == (422, "Invalid")
    assert message in reply.refusal[2]


@pytest.mark.parametrize(
    "spec, field",
    [
        pytest.param({}, "spec.cluster", id="no cluster"),
        pytest.param({"cluster": "East"}, "spec.cluster", id="upper case"),
        pytest.param({"cluster": "e" * 64}, "spec.cluster", id="64 characters"),
        pytest.param(
            {"cluster": "east", "from": {"serviceAccounts": ["curl"]}},
            "spec.from.serviceAccounts[0]",
            id="a service account without its namespace",
        ),
        pytest.param(
            {"cluster": "east", "to": {"services": ["shop/*"]}},
            "spec.to.services[0]",
            id="a service that is a pattern",
        ),
    ],
)
async def test_the_schema_refuses_a_bad_grant(server: Server, spec: JsonObject, field: str) -> None:
    await served(server)
    reply = await server.create(GRANTS, grant(server.unique("east"), spec))
    assert reply.refusal[:2] == (422, "Invalid")
    assert field in {cause[1] for cause in reply.causes}


async def test_a_grant_that_names_a_cluster_is_enough(server: Server) -> None:
    await served(server)
    made = (await server.create(GRANTS, grant(server.unique("east"), {"cluster": "east"}))).ok
    assert made["spec"] == {"cluster": "east", "from": {}, "to": {}}


@real_only
async def test_a_grant_with_an_empty_selector_is_refused(server: Server) -> None:
    await served(server)
    spec = {"cluster": "east", "to": {"selector": {}}}
    reply = await server.create(GRANTS, grant(server.unique("east"), spec))
    assert "an empty selector selects nothing" in reply.refusal[2]


async def test_a_rehearsed_link_is_what_applying_it_makes(server: Server) -> None:
    await served(server)
    name = server.unique("west")
    path, made = f"{LINKS}/{name}", link(name, {"gateway": {"addresses": ["203.0.113.9"]}})
    first = (await server.apply(path, made)).ok
    assert (await server.apply(path, made, dryRun="All")).ok == first
    made["spec"]["enableHeadlessServices"] = True
    tried = (await server.apply(path, made, dryRun="All")).ok
    assert tried["spec"]["enableHeadlessServices"] is True
    assert tried["metadata"]["generation"] == 2
    assert (await server.get(path)).ok == first
