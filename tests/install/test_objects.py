"""What an installation consists of, and the promises that hold for every one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.apps.controller.config import Config
from isthmus.apps.proxy import config as proxies
from isthmus.apps.proxy import run as proxying
from isthmus.cli.running.controller import controller
from isthmus.cli.running.proxy import proxy
from isthmus.core import listeners
from isthmus.envoy import process
from isthmus.install import objects, possible, superseded
from isthmus.install.everything import identity
from isthmus.install.parts import ADMIN, ADS, ISTHMUS, METRICS, NAME, PART_OF, SIGN
from isthmus.install.values import Values, parse
from isthmus.kube.plain import KINDS
from isthmus.model import names
from isthmus.model.links import Gateway
from isthmus.model.wire import JsonObject
from isthmus.xds.names import PORT as GATEWAY_PORT
from tests.install.made import NAMES, chosen, container, made, pod

ALL = ("ha=true", "removeNamespaces=true", "allowLoopback=true", "localCidrs=10.0.0.0/8,fd00::/8")
VARIANTS = pytest.mark.parametrize("sets", [(), ALL], ids=["default", "all"])


@st.composite
def values(draw: st.DrawFn) -> Values:
    """Any installation that differs in what decides about objects."""
    flags = ("ha", "createNamespace", "networkPolicy.enabled", "admissionPolicy.enabled")
    said = [f"{one}={str(draw(st.booleans())).lower()}" for one in flags]
    said += [
        f"{one}.replicas={draw(st.sampled_from(('null', '1', '3')))}"
        for one in ("controller", "gateway", "egress")
    ]
    if draw(st.booleans()):
        said += ["trust.anchors=a", "trust.issuer.certificate=b", "trust.issuer.key=c"]
    return parse(
        ["clusterName=west", f"namespace={draw(st.sampled_from(('isthmus', 'a')))}", *said]
    )


@given(values())
def test_everything_is_labelled_known_and_there_once(chosen: Values) -> None:
    found = objects(chosen)
    assert len({identity(one) for one in found}) == len(found)
    for one in found:
        assert one["metadata"]["labels"][PART_OF] == ISTHMUS
        resource = KINDS[one["kind"]]
        assert one["apiVersion"] == resource.api_version
        assert resource.namespaced == ("namespace" in one["metadata"])
        assert one["metadata"].get("namespace", chosen.namespace) == chosen.namespace


@given(values(), values())
def test_what_an_installation_turns_into_and_what_is_superseded_is_all_there_can_be(
    before: Values, after: Values
) -> None:
    """Whatever was installed before is wanted, removed, or of the kinds that are kept."""
    wanted = {identity(one) for one in objects(after)}
    removed = {identity(one) for one in superseded(after)}
    there = {identity(one) for one in possible(before.namespace)}
    for one in objects(before):
        kept = one["kind"] in ("Namespace", "ConfigMap", "Secret")
        known = kept or before.namespace != after.namespace
        assert known or identity(one) in wanted | removed
        assert identity(one) in there
    assert not wanted & removed


def test_each_is_applied_after_what_it_needs() -> None:
    kinds = [one["kind"] for one in made("ha=true", "trust.anchors=a")]
    first = {kind: kinds.index(kind) for kind in kinds}
    last = {kind: len(kinds) - 1 - kinds[::-1].index(kind) for kind in kinds}
    assert first["Namespace"] == 0
    for kind in set(kinds) - {"Deployment"}:
        # Nothing runs before it has its rights, its limits and its papers.
        assert last[kind] < first["Deployment"], kind
    assert last["ServiceAccount"] < first["ClusterRoleBinding"]
    assert last["ClusterRole"] < first["ClusterRoleBinding"]


@VARIANTS
def test_the_controller_understands_its_arguments(sets: tuple[str, ...]) -> None:
    command, *words = container(made(*sets), "isthmus-controller")["args"]
    assert command == "controller"
    told = controller.make_context("controller", words).params
    wanted = parse(["clusterName=west", *sets])
    assert (told["cluster_name"], told["name"]) == ("west", "$(POD_NAME)")
    assert told["local_cidrs"] == wanted.local_cidrs
    assert told["allow_loopback"] == wanted.allow_loopback
    assert (told["admin_port"], told["sign_port"], told["ads_port"]) == (ADMIN, SIGN, ADS)
    known = {key: told[key] for key in ("cluster_name", "namespace", "mesh_domain", "workers")}
    Config(**known, cluster_domain=told["cluster_domain"], local_cidrs=told["local_cidrs"])


@pytest.mark.parametrize("role", ["gateway", "egress"])
def test_a_proxy_understands_its_arguments_and_finds_its_files(role: str) -> None:
    found = made("namespace=mesh", "clusterDomain=west.example", f"{role}.drain=7")
    one = container(found, f"isthmus-{role}")
    command, *words = one["args"]
    assert command == "proxy"
    told = proxy.make_context("proxy", words).params
    assert (told["role"], told["drain"], told["namespace"]) == (role, 7.0, "mesh")
    for option, port in (("controller", SIGN), ("ads", ADS)):
        host = "isthmus-controller.mesh.svc.west.example"
        assert proxies.place(option, told[option]) == (host, port)
    assert proxies.place("metrics", told["metrics"]) == ("0.0.0.0", METRICS)
    mounts = {mount["mountPath"]: mount["name"] for mount in one["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod(found, f"isthmus-{role}")["volumes"]}
    token = volumes[mounts[str(told["token_file"].parent)]]["projected"]["sources"][0]
    assert token["serviceAccountToken"]["audience"] == names.audience("west")
    assert token["serviceAccountToken"]["path"] == told["token_file"].name
    trust = volumes[mounts[str(told["trust_file"].parent)]]["configMap"]
    assert (trust["name"], told["trust_file"].name) == (names.TRUST, names.ANCHORS)
    assert volumes[mounts[str(told["directory"])]]["emptyDir"]["medium"] == "Memory"


@pytest.mark.parametrize("role", ["gateway", "egress"])
def test_a_pod_is_given_longer_to_end_than_its_process_takes(role: str) -> None:
    spec = pod(made(f"{role}.drain=100"), f"isthmus-{role}")
    longest = 100 + 2 * process.GRACE + proxying.FAREWELL
    assert spec["terminationGracePeriodSeconds"] > longest


def test_the_ports_are_those_that_processes_have() -> None:
    config = Config(cluster_name="west")
    assert (config.sign_port, config.ads_port, config.admin_port) == (SIGN, ADS, ADMIN)
    assert Gateway().port == GATEWAY_PORT
    assert container(made(), "isthmus-gateway")["ports"][0]["containerPort"] == GATEWAY_PORT


@pytest.mark.parametrize("name", NAMES)
def test_services_budgets_and_policies_find_the_pods_that_they_are_for(name: str) -> None:
    found = made("ha=true")
    labels = chosen(found, "Deployment", name)["spec"]["template"]["metadata"]["labels"]
    assert chosen(found, "Service", name)["spec"]["selector"].items() <= labels.items()
    for kind, field in (
        ("Deployment", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        wanted = chosen(found, kind, name)["spec"][field]["matchLabels"]
        assert wanted.items() <= labels.items()
    ports = {port["name"] for port in container(found, name)["ports"]}
    assert {port["targetPort"] for port in chosen(found, "Service", name)["spec"]["ports"]} <= ports


@pytest.mark.parametrize("name", NAMES)
def test_every_port_of_a_pod_is_open_to_somebody_and_no_other_is(name: str) -> None:
    rules = chosen(made(), "NetworkPolicy", name)["spec"]["ingress"]
    opened = {port["port"] for rule in rules for port in rule["ports"] if "endPort" not in port}
    assert opened == {port["containerPort"] for port in container(made(), name)["ports"]}


def test_all_pods_and_only_pods_may_call_the_egress() -> None:
    calls = chosen(made(), "NetworkPolicy", "isthmus-egress")["spec"]["ingress"][0]
    assert calls["from"] == [{"namespaceSelector": {}}]
    (ports,) = calls["ports"]
    assert (ports["port"], ports["endPort"]) == (listeners.FIRST, listeners.LAST)


def test_only_our_own_proxies_may_ask_the_controller() -> None:
    asks, _ = chosen(made(), "NetworkPolicy", "isthmus-controller")["spec"]["ingress"]
    (peer,) = asks["from"]
    (expression,) = peer["podSelector"]["matchExpressions"]
    assert expression == {
        "key": NAME,
        "operator": "In",
        "values": ["isthmus-gateway", "isthmus-egress"],
    }


@pytest.mark.parametrize("name, port", list(zip(NAMES, (ADMIN, METRICS, METRICS), strict=True)))
def test_metrics_can_be_for_some_namespaces_only(name: str, port: int) -> None:
    found = made("networkPolicy.metricsNamespaces=monitoring")
    *_, rule = chosen(found, "NetworkPolicy", name)["spec"]["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": port}]
    labels = {"kubernetes.io/metadata.name": "monitoring"}
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": labels}}]


@pytest.mark.parametrize(
    "sets, replicas",
    [
        ((), (1, 1, 1)),
        (("ha=true",), (2, 2, 2)),
        (("ha=true", "gateway.replicas=5", "egress.replicas=1"), (2, 5, 1)),
        (("egress.replicas=3",), (1, 1, 3)),
    ],
)
def test_as_many_pods_as_wanted_and_a_budget_where_there_are_several(
    sets: tuple[str, ...], replicas: tuple[int, ...]
) -> None:
    found = made(*sets)
    assert tuple(chosen(found, "Deployment", one)["spec"]["replicas"] for one in NAMES) == replicas
    budgets = [one["metadata"]["name"] for one in found if one["kind"] == "PodDisruptionBudget"]
    assert budgets == [name for name, count in zip(NAMES, replicas, strict=True) if count > 1]


def service(*sets: str) -> JsonObject:
    found: JsonObject = chosen(made(*sets), "Service", "isthmus-gateway")
    return found


def test_the_gateway_is_reached_as_was_chosen() -> None:
    assert service()["spec"]["type"] == "LoadBalancer"
    assert service("gateway.service.annotations.a/b=c")["metadata"]["annotations"] == {"a/b": "c"}
    balanced = service(
        "gateway.service.loadBalancerSourceRanges=192.0.2.0/24",
        "gateway.service.loadBalancerClass=example.com/fast",
        "gateway.service.port=443",
        "gateway.service.externalTrafficPolicy=Local",
    )["spec"]
    assert balanced["loadBalancerSourceRanges"] == ["192.0.2.0/24"]
    assert balanced["loadBalancerClass"] == "example.com/fast"
    assert balanced["externalTrafficPolicy"] == "Local"
    (port,) = balanced["ports"]
    assert (port["port"], port["targetPort"]) == (443, "tls")
    node = service("gateway.service.type=NodePort", "gateway.service.nodePort=30143")["spec"]
    assert node["ports"][0]["nodePort"] == 30143
    inside = service("gateway.service.type=ClusterIP")["spec"]
    assert "externalTrafficPolicy" not in inside


def test_the_egress_has_no_address_of_its_own() -> None:
    assert chosen(made(), "Service", "isthmus-egress")["spec"]["clusterIP"] == "None"


def test_proxies_have_neither_rights_nor_a_token_for_the_api() -> None:
    found = made(*ALL)
    for one in found:
        for subject in one.get("subjects", ()):
            assert subject["name"] == "isthmus-controller"
    for name in ("isthmus-gateway", "isthmus-egress"):
        assert pod(found, name)["automountServiceAccountToken"] is False
    for name in NAMES:
        assert chosen(found, "ServiceAccount", name)["automountServiceAccountToken"] is False


def test_what_was_chosen_for_pods_is_in_them() -> None:
    found = made(
        "image.repository=example.com/isthmus",
        "image.digest=sha256:abc",
        "image.pullSecrets=one,two",
        "gateway.priorityClassName=high",
        "gateway.nodeSelector.edge=true",
        "gateway.podAnnotations.a=b",
        "runAsUser=1000",
    )
    spec, one = pod(found, "isthmus-gateway"), container(found, "isthmus-gateway")
    assert one["image"] == "example.com/isthmus:0.1.0@sha256:abc"
    assert spec["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]
    assert (spec["priorityClassName"], spec["nodeSelector"]) == ("high", {"edge": "true"})
    template = chosen(found, "Deployment", "isthmus-gateway")["spec"]["template"]
    assert template["metadata"]["annotations"] == {"a": "b"}
    assert spec["securityContext"]["runAsUser"] == 1000
    assert "priorityClassName" not in pod(found, "isthmus-egress")
    assert "runAsUser" not in pod(made("runAsUser=null"), "isthmus-egress")["securityContext"]


def test_papers_are_there_if_they_were_given() -> None:
    papers = {names.TRUST, names.ISSUER}
    assert not [one for one in made() if one["metadata"]["name"] in papers]
    found = made("trust.anchors=A", "trust.issuer.certificate=B", "trust.issuer.key=C")
    assert chosen(found, "ConfigMap", names.TRUST)["data"] == {names.ANCHORS: "A"}
    secret = chosen(found, "Secret")
    assert secret["metadata"]["name"] == names.ISSUER
    assert secret["data"] == {"tls.crt": "Qg==", "tls.key": "Qw=="}
