"""Defaults and judgements of the smaller built-in kinds, as kube-apiserver 1.36 pronounces them."""

import pytest

from isthmus.embedded.kinds import admission, strictness
from isthmus.embedded.status import Refusal
from isthmus.model.wire import JsonObject
from tests.embedded.kinds.sent import (
    KINDS,
    admitted,
    complaints,
    made,
    service,
    slice_of,
    workload,
)


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


def test_filling_is_settled_after_one_round() -> None:
    for obj in (service(), slice_of("10.0.0.1"), workload("Deployment"), made("Secret")):
        kind = KINDS[obj["kind"]]
        once = admission.filled(kind, obj)
        assert admission.filled(kind, once) == once


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
