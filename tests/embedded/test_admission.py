"""Defaults and judgements of built-in kinds, as kube-apiserver 1.36 pronounces them."""

import pytest

from isthmus.embedded.kinds import admission, strictness
from isthmus.embedded.kinds.builtin import BUILTIN
from isthmus.embedded.status import Refusal
from isthmus.model.wire import Json, JsonObject

KINDS = {kind.name: kind for kind in BUILTIN if kind.view is None}
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def made(kind: str, metadata: JsonObject | None = None, **content: Json) -> JsonObject:
    api = KINDS[kind]
    meta: JsonObject = {"name": "x"}
    if api.namespaced:
        meta["namespace"] = "default"
    meta |= metadata or {}
    return {"apiVersion": api.api_version, "kind": kind, "metadata": meta, **content}


def admitted(obj: JsonObject, old: JsonObject | None = None) -> JsonObject:
    return admission.admit(KINDS[obj["kind"]], obj, old)


def complaints(obj: JsonObject, old: JsonObject | None = None) -> list[tuple[str, str]]:
    try:
        admitted(obj, old)
    except Refusal as refusal:
        return list(dict.fromkeys((cause.field, cause.message) for cause in refusal.causes))
    return []


def service(metadata: JsonObject | None = None, **spec: Json) -> JsonObject:
    return made("Service", metadata, spec={"ports": [{"port": 80}], **spec})


def slice_of(*addresses: str, **content: Json) -> JsonObject:
    endpoints = [{"addresses": [address]} for address in addresses]
    return made("EndpointSlice", **{"addressType": "IPv4", "endpoints": endpoints, **content})


TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
}
SELECTOR = {"matchLabels": {"a": "b"}}


def workload(kind: str, **spec: Json) -> JsonObject:
    return made(kind, spec={"selector": SELECTOR, "template": TEMPLATE, **spec})


CONTAINER = {
    "name": "c",
    "image": "nginx",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param(
            {},
            {
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
            },
            id="ClusterIP",
        ),
        pytest.param(
            {"clusterIP": "None"},
            {
                "clusterIPs": ["None"],
                "ipFamilies": ["IPv4", "IPv6"],
                "ipFamilyPolicy": "RequireDualStack",
            },
            id="headless without a selector",
        ),
        pytest.param(
            {"clusterIP": "None", "selector": {"a": "b"}},
            {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"},
            id="headless with a selector",
        ),
        pytest.param(
            {"type": "LoadBalancer"},
            {"externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": True},
            id="LoadBalancer",
        ),
        pytest.param(
            {"sessionAffinity": "ClientIP"},
            {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}},
            id="session affinity",
        ),
    ],
)
def test_services_are_completed(spec: JsonObject, expected: JsonObject) -> None:
    done = admitted(service(**spec))["spec"]
    assert {name: done.get(name) for name in expected} == expected


def test_what_is_empty_is_not_stored() -> None:
    sent = service({"labels": {}, "annotations": None}, selector={}, publishNotReadyAddresses=False)
    done = admitted(sent)
    assert set(done["metadata"]) == {"name", "namespace"}
    assert not {"selector", "publishNotReadyAddresses"} & done["spec"].keys()


@pytest.mark.parametrize(
    "obj, expected",
    [
        pytest.param(
            slice_of("10.0.0.1", ports=[{"port": 80}]),
            {"ports": [{"port": 80, "name": "", "protocol": "TCP"}]},
            id="EndpointSlice ports",
        ),
        pytest.param(slice_of(), {"endpoints": None, "ports": None}, id="an empty EndpointSlice"),
        pytest.param(
            made("Secret", stringData={"a": "b"}, data={"c": "eHg="}),
            {"type": "Opaque", "data": {"a": "Yg==", "c": "eHg="}},
            id="Secret",
        ),
        pytest.param(
            made("Namespace"),
            {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
            id="Namespace",
        ),
        pytest.param(
            made(
                "RoleBinding",
                roleRef={"kind": "Role", "name": "r"},
                subjects=[{"kind": "User", "name": "u"}],
            ),
            {
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": "r",
                },
                "subjects": [
                    {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}
                ],
            },
            id="RoleBinding",
        ),
        pytest.param(made("Role"), {"rules": None}, id="Role"),
        pytest.param(made("Lease"), {"spec": {}}, id="Lease"),
    ],
)
def test_other_kinds_are_completed(obj: JsonObject, expected: JsonObject) -> None:
    done = admitted(obj)
    assert {name: done.get(name) for name in expected} == expected


def test_deployments_are_completed() -> None:
    assert admitted(workload("Deployment"))["spec"] == {
        "replicas": 1,
        "selector": SELECTOR,
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "containers": [CONTAINER],
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "dnsPolicy": "ClusterFirst",
                "securityContext": {},
                "schedulerName": "default-scheduler",
            },
        },
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }


def test_stateful_sets_are_completed() -> None:
    spec = admitted(workload("StatefulSet", serviceName="s"))["spec"]
    del spec["template"], spec["selector"]
    assert spec == {
        "replicas": 1,
        "serviceName": "s",
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    }


@pytest.mark.parametrize(
    "image, policy",
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("registry:5000/nginx", "Always"),
        ("registry:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
    ],
)
def test_only_images_that_move_are_pulled_every_time(image: str, policy: str) -> None:
    pod = admitted(made("Pod", spec={"containers": [{"name": "c", "image": image}]}))
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_probes_volumes_and_quantities_are_completed() -> None:
    container = {
        "name": "c",
        "image": "i",
        "readinessProbe": {"httpGet": {"port": 80}},
        "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
    }
    volumes = [{"name": "s", "secret": {"secretName": "s"}}, {"name": "e"}]
    spec = admitted(made("Pod", spec={"containers": [container], "volumes": volumes}))["spec"]
    (done,) = spec["containers"]
    assert done["readinessProbe"] == {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    limits = {"cpu": "500m", "memory": "1Gi"}
    assert done["resources"] == {"limits": limits, "requests": limits}
    assert spec["volumes"] == [
        {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}},
        {"name": "e", "emptyDir": {}},
    ]


def test_filling_is_settled_after_one_round() -> None:
    for obj in (service(), slice_of("10.0.0.1"), workload("Deployment"), made("Secret")):
        kind = KINDS[obj["kind"]]
        once = admission.filled(kind, obj)
        assert admission.filled(kind, once) == once


@pytest.mark.parametrize(
    "metadata, expected",
    [
        pytest.param(
            {"name": "Ab"}, [("metadata.name", f'Invalid value: "Ab": {LABEL}')], id="case"
        ),
        pytest.param(
            {"name": "a.b"}, [("metadata.name", 'Invalid value: "a.b": must not contain dots')]
        ),
        pytest.param(
            {"name": ""},
            [("metadata.name", "Required value: name or generateName is required")],
            id="no name",
        ),
        pytest.param({"name": "1st"}, [], id="a Service may start with a digit"),
        pytest.param({"generateName": "x-"}, [], id="a prefix may end with a dash"),
        pytest.param(
            {"annotations": {"a": "x" * 300_000}},
            [("metadata.annotations", "Too long: may not be more than 262144 bytes")],
            id="too many annotations",
        ),
        pytest.param(
            {"finalizers": ["x"]},
            [
                (
                    "metadata.finalizers[0]",
                    'Invalid value: "x": name is neither a standard finalizer name nor is it '
                    "fully qualified",
                )
            ],
            id="finalizer",
        ),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]},
            [("metadata.ownerReferences.uid", 'Invalid value: "": must not be empty')],
            id="owner",
        ),
    ],
)
def test_metadata_is_judged(metadata: JsonObject, expected: list[tuple[str, str]]) -> None:
    assert complaints(service(metadata)) == expected


@pytest.mark.parametrize(
    "labels, fragment",
    [
        ({"a b": "c"}, "name part must consist of alphanumeric characters"),
        ({"a": "c d"}, "a valid label must be an empty string or consist of"),
        ({"/a": "c"}, "prefix part must be non-empty"),
        ({"a/b/c": "c"}, "a valid label key must consist of"),
        ({"a" * 64: "c"}, "name part must be no more than 63 bytes"),
        ({"a": "c" * 64}, "must be no more than 63 bytes"),
    ],
)
def test_labels_are_judged(labels: JsonObject, fragment: str) -> None:
    ((field, message),) = complaints(service({"labels": labels}))
    assert field == "metadata.labels"
    assert fragment in message


RANGE = "must be between 1 and 65535, inclusive"


@pytest.mark.parametrize(
    "spec, expected",
    [
        pytest.param({"ports": []}, [("spec.ports", "Required value")], id="no ports"),
        pytest.param(
            {"ports": [{"port": 70000, "targetPort": 1}]},
            [("spec.ports[0].port", f"Invalid value: 70000: {RANGE}")],
            id="port out of range",
        ),
        pytest.param(
            {"ports": [{"port": 1, "targetPort": "web-Port"}]},
            [
                (
                    "spec.ports[0].targetPort",
                    'Invalid value: "web-Port": must contain only alpha-numeric characters '
                    "(a-z, 0-9), and hyphens (-)",
                )
            ],
            id="target port name",
        ),
        pytest.param(
            {"ports": [{"port": 1}, {"port": 2, "name": "b"}]},
            [("spec.ports[0].name", "Required value")],
            id="unnamed among several",
        ),
        pytest.param(
            {"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]},
            [("spec.ports[1].name", 'Duplicate value: "a"')],
            id="two of one name",
        ),
        pytest.param(
            {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]},
            [
                (
                    "spec.ports[1]",
                    'Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,'
                    '"TargetPort":0,"NodePort":0}',
                )
            ],
            id="two of one number",
        ),
        pytest.param(
            {"ports": [{"port": 1, "protocol": "HTTP"}]},
            [
                (
                    "spec.ports[0].protocol",
                    'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
                )
            ],
            id="protocol",
        ),
        pytest.param(
            {"type": "Foo"},
            [
                (
                    "spec.type",
                    'Unsupported value: "Foo": supported values: "ClusterIP", "ExternalName", '
                    '"LoadBalancer", "NodePort"',
                )
            ],
            id="type",
        ),
        pytest.param(
            {"clusterIP": "1.2.3"},
            [
                (
                    "spec.clusterIPs[0]",
                    'Invalid value: "1.2.3": must be a valid IP address, '
                    "(e.g. 10.9.8.7 or 2001:db8::ffff)",
                )
            ],
            id="cluster IP",
        ),
        pytest.param(
            {"clusterIP": "None", "type": "NodePort"},
            [
                (
                    "spec.clusterIPs[0]",
                    "Invalid value: \"None\": may not be set to 'None' for NodePort services",
                )
            ],
            id="headless with node ports",
        ),
        pytest.param(
            {"externalTrafficPolicy": "Local"},
            [
                (
                    "spec.externalTrafficPolicy",
                    'Invalid value: "Local": may only be set for externally-accessible services',
                )
            ],
            id="external policy of an internal Service",
        ),
        pytest.param(
            {"type": "ExternalName"}, [("spec.externalName", "Required value")], id="no target"
        ),
    ],
)
def test_services_are_judged(spec: JsonObject, expected: list[tuple[str, str]]) -> None:
    assert complaints(service(**spec)) == expected


def settled_service(**spec: Json) -> JsonObject:
    return admitted(service(**{"clusterIP": "10.96.0.9", **spec}))


@pytest.mark.parametrize(
    "old, spec, expected",
    [
        pytest.param(
            settled_service(),
            {"clusterIP": "10.96.0.8"},
            [("spec.clusterIPs[0]", 'Invalid value: ["10.96.0.8"]: may not change once set')],
            id="another address",
        ),
        pytest.param(
            settled_service(),
            {"clusterIP": "None"},
            [("spec.clusterIPs[0]", 'Invalid value: ["None"]: may not change once set')],
            id="headless afterwards",
        ),
        pytest.param(settled_service(), {"clusterIP": "10.96.0.9"}, [], id="the same"),
        pytest.param(
            settled_service(),
            {"type": "ExternalName", "externalName": "a.b"},
            [],
            id="becomes an ExternalName",
        ),
    ],
)
def test_cluster_addresses_stay(
    old: JsonObject, spec: JsonObject, expected: list[tuple[str, str]]
) -> None:
    sent = {**old, "spec": {**old["spec"], **spec}}
    assert complaints(sent, old) == expected


def test_a_change_of_type_takes_along_what_belonged_to_the_old_one() -> None:
    old = settled_service(type="LoadBalancer")
    sent = {**old, "spec": {**old["spec"], "type": "ClusterIP"}}
    spec = admitted(sent, old)["spec"]
    assert not {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"} & spec.keys()


@pytest.mark.parametrize(
    "address, sentence",
    [
        ("127.0.0.1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("169.254.1.1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("224.0.0.1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        ("0.0.0.0", "may not be unspecified (0.0.0.0)"),
        ("010.0.0.1", "must not have leading 0s"),
        ("x", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ],
)
def test_addresses_of_endpoints_are_judged(address: str, sentence: str) -> None:
    assert complaints(slice_of(address)) == [
        ("endpoints[0].addresses[0]", f'Invalid value: "{address}": {sentence}')
    ]


@pytest.mark.parametrize(
    "obj, expected",
    [
        pytest.param(
            slice_of(*["10.0.0.1"] * 1001),
            [("endpoints", "Too many: 1001: must have at most 1000 items")],
            id="too many endpoints",
        ),
        pytest.param(
            slice_of(endpoints=[{"addresses": ["10.0.0.1"], "hostname": "a.b"}]),
            [("endpoints[0].hostname", 'Invalid value: "a.b": must not contain dots')],
            id="hostname",
        ),
        pytest.param(slice_of(addressType=""), [("addressType", "Required value")], id="no family"),
        pytest.param(
            slice_of(ports=[{"port": 1}, {"port": 2}]),
            [("ports[1].name", 'Duplicate value: ""')],
            id="two unnamed ports",
        ),
        pytest.param(
            made("Lease", spec={"leaseDurationSeconds": 0, "leaseTransitions": -1}),
            [
                ("spec.leaseDurationSeconds", "Invalid value: 0: must be greater than 0"),
                ("spec.leaseTransitions", "Invalid value: -1: must be greater than or equal to 0"),
            ],
            id="Lease",
        ),
        pytest.param(
            made("Secret", type="kubernetes.io/tls"),
            [("data[tls.crt]", "Required value"), ("data[tls.key]", "Required value")],
            id="TLS Secret",
        ),
        pytest.param(
            made("ConfigMap", data={"a": "b"}, binaryData={"a": "eHg="}),
            [("data[a]", 'Invalid value: "a": duplicate of key present in binaryData')],
            id="ConfigMap",
        ),
        pytest.param(
            workload("Deployment", selector={"matchLabels": {"x": "y"}}),
            [
                (
                    "spec.template.metadata.labels",
                    'Invalid value: {"a":"b"}: `selector` does not match template `labels`',
                )
            ],
            id="Deployment selector",
        ),
        pytest.param(
            made("Pod", spec={}), [("spec.containers", "Required value")], id="no containers"
        ),
        pytest.param(
            made("ClusterRoleBinding", roleRef={"kind": "Role", "name": "r"}),
            [("roleRef.kind", 'Unsupported value: "Role": supported values: "ClusterRole"')],
            id="ClusterRoleBinding",
        ),
        pytest.param(
            made("Role", rules=[{"verbs": ["get"], "apiGroups": [""]}]),
            [
                (
                    "rules[0].resources",
                    "Required value: resource rules must supply at least one resource",
                )
            ],
            id="Role",
        ),
        pytest.param(
            made("Event", involvedObject={"namespace": "other"}),
            [
                (
                    "involvedObject.namespace",
                    'Invalid value: "other": does not match event.namespace',
                )
            ],
            id="Event",
        ),
    ],
)
def test_other_kinds_are_judged(obj: JsonObject, expected: list[tuple[str, str]]) -> None:
    assert complaints(obj) == expected


FROZEN = "Forbidden: field is immutable when `immutable` is set"


@pytest.mark.parametrize(
    "old, new, expected",
    [
        pytest.param(
            slice_of("10.0.0.1"),
            slice_of("10.0.0.1", addressType="FQDN"),
            [("addressType", 'Invalid value: "FQDN": field is immutable')],
            id="EndpointSlice family",
        ),
        pytest.param(
            made("Secret", data={"a": "eHg="}, immutable=True),
            made("Secret", data={"a": "eHh4"}, immutable=True),
            [("data", FROZEN)],
            id="immutable Secret",
        ),
        pytest.param(
            made("Secret"),
            made("Secret", type="x"),
            [("type", 'Invalid value: "x": field is immutable')],
            id="Secret type",
        ),
        pytest.param(
            workload("StatefulSet", serviceName="a"),
            workload("StatefulSet", serviceName="a", replicas=3),
            [],
            id="StatefulSet replicas",
        ),
        pytest.param(
            made("RoleBinding", roleRef={"kind": "Role", "name": "a"}),
            made("RoleBinding", roleRef={"kind": "Role", "name": "b"}),
            [
                (
                    "roleRef",
                    'Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role",'
                    '"Name":"b"}: cannot change roleRef',
                )
            ],
            id="roleRef",
        ),
    ],
)
def test_some_fields_never_change(
    old: JsonObject, new: JsonObject, expected: list[tuple[str, str]]
) -> None:
    assert complaints(new, admitted(old)) == expected


def test_a_stateful_set_keeps_most_of_its_spec() -> None:
    old = admitted(workload("StatefulSet", serviceName="a"))
    ((field, message),) = complaints(workload("StatefulSet", serviceName="b"), old)
    assert field == "spec"
    assert message.startswith("Forbidden: updates to statefulset spec for fields other than")


def test_no_finalizers_are_added_while_deleting() -> None:
    old = admitted(service({"finalizers": ["a.io/b"], "deletionTimestamp": "2026-01-01T00:00:00Z"}))
    sent = service({"finalizers": ["a.io/c"], "deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert complaints(sent, old) == [
        (
            "metadata.finalizers",
            "Forbidden: no new finalizers can be added if the object is being deleted, found new "
            'finalizers []string{"a.io/c"}',
        )
    ]


def test_the_refusal_counts_every_wrong_field() -> None:
    with pytest.raises(Refusal) as refusal:
        admitted(slice_of("127.0.0.1", addressType="IPv4", ports=[{"protocol": "X"}]))
    assert refusal.value.message == (
        'EndpointSlice.discovery.k8s.io "x" is invalid: [ports[0].protocol: Unsupported value: '
        '"X": supported values: "SCTP", "TCP", "UDP", endpoints[0].addresses[0]: Invalid value: '
        '"127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)]'
    )


@pytest.mark.parametrize(
    "obj, sentence",
    [
        pytest.param(
            service(ports=[{"port": "80"}]),
            "json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of "
            "type int32",
            id="text for a number",
        ),
        pytest.param(
            service(ports=[{"port": 80.5}]),
            "json: cannot unmarshal number 80.5 into Go struct field ServicePort.spec.ports.port "
            "of type int32",
            id="a fraction",
        ),
        pytest.param(
            service(ports={}),
            "json: cannot unmarshal object into Go struct field ServiceSpec.spec.ports of type "
            "[]v1.ServicePort",
            id="an object for a list",
        ),
        pytest.param(
            service({"labels": {"a": 1}}),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of "
            "type string",
            id="a label that is a number",
        ),
        pytest.param(
            made("Secret", data={"a": "!"}), "illegal base64 data at input byte 0", id="base64"
        ),
        pytest.param(
            made("Lease", spec={"renewTime": "2020-01-01T00:00:00Z"}),
            'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot '
            'parse "Z" as ".000000"',
            id="a time without microseconds",
        ),
    ],
)
def test_what_does_not_fit_its_type_is_a_bad_request(obj: JsonObject, sentence: str) -> None:
    with pytest.raises(Refusal) as refusal:
        admitted(obj)
    kind = obj["kind"]
    text = f'{kind} in version "v1" cannot be handled as a {kind}: {sentence}'
    assert (refusal.value.code, refusal.value.message) == (400, text)


def test_unknown_fields_are_named_and_dropped() -> None:
    sent = service({"q": 1}, ports=[{"port": 1, "x": 2}])
    assert KINDS["Service"].unknown(sent) == ["metadata.q", "spec.ports[0].x"]
    assert "x" not in admitted(sent)["spec"]["ports"][0]


def test_fields_written_twice_are_named() -> None:
    body = b'{"kind":"Service","kind":"Service","metadata":{"name":"x","name":"x"},"spec":{"q":1}}'
    sent = {"kind": "Service", "metadata": {"name": "x"}, "spec": {"q": 1}}
    assert strictness.complaints(KINDS["Service"], sent, body) == [
        'duplicate field "kind"',
        'duplicate field "metadata.name"',
        'unknown field "spec.q"',
    ]


def test_decoding_gives_one_form() -> None:
    sent = made("Lease", spec={"renewTime": "2020-01-01T02:00:00.000001+02:00"})
    assert admitted(sent)["spec"] == {"renewTime": "2020-01-01T00:00:00.000001Z"}
