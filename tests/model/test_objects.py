"""The objects we use, as they come from the API and go back to it."""

import json
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.model.objects import (
    ConfigMap,
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Event,
    Ingress,
    Key,
    Lease,
    LeaseSpec,
    LoadBalancer,
    Metadata,
    Namespace,
    ObjectReference,
    OwnerReference,
    Secret,
    Service,
    ServiceAccount,
    ServicePort,
    ServiceSpec,
    ServiceStatus,
    Value,
)
from isthmus.model.reviews import TokenRequestStatus, TokenReviewSpec
from isthmus.model.times import micro_time, parsed, second_time
from isthmus.model.wire import Json, JsonObject

WEB = Metadata(name="web", namespace="shop")
NAMED = {"metadata": {"name": "web", "namespace": "shop"}}

WRITTEN: list[tuple[Value, JsonObject]] = [
    (
        Service(
            metadata=WEB,
            spec=ServiceSpec(
                cluster_ip="None",
                ports=(
                    ServicePort(name="http", port=80, target_port=8080, app_protocol="http"),
                    ServicePort(name="db", port=5432, target_port="pg"),
                ),
            ),
        ),
        NAMED
        | {
            "spec": {
                "clusterIP": "None",
                "ports": [
                    {"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"},
                    {"name": "db", "port": 5432, "targetPort": "pg"},
                ],
            }
        },
    ),
    (
        EndpointSlice(
            metadata=Metadata(
                name="web-1",
                namespace="shop",
                labels={"kubernetes.io/service-name": "web"},
                owner_references=(
                    OwnerReference(api_version="v1", kind="Service", name="web", uid="u"),
                ),
            ),
            address_type="IPv4",
            endpoints=(
                Endpoint(
                    addresses=("10.0.0.7",),
                    hostname="web-0",
                    conditions=EndpointConditions(ready=False),
                ),
            ),
            ports=(EndpointPort(name="http", port=80),),
        ),
        {
            "metadata": {
                "name": "web-1",
                "namespace": "shop",
                "labels": {"kubernetes.io/service-name": "web"},
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "u"}
                ],
            },
            "addressType": "IPv4",
            "endpoints": [
                {
                    "addresses": ["10.0.0.7"],
                    "hostname": "web-0",
                    "conditions": {"ready": False},
                }
            ],
            "ports": [{"name": "http", "port": 80}],
        },
    ),
    (Namespace(metadata=Metadata(name="shop")), {"metadata": {"name": "shop"}}),
    (
        Secret(metadata=WEB, type="x/y", data={"key": b"\x00\xff"}),
        NAMED | {"type": "x/y", "data": {"key": "AP8="}},
    ),
    (ConfigMap(metadata=WEB, data={"a": "b"}), NAMED | {"data": {"a": "b"}}),
    (ServiceAccount(metadata=WEB), NAMED),
    (
        Lease(metadata=WEB, spec=LeaseSpec(holder_identity="", lease_transitions=0)),
        NAMED | {"spec": {"holderIdentity": "", "leaseTransitions": 0}},
    ),
    (
        Event(
            metadata=WEB,
            event_time="2026-11-16T10:00:00.000000Z",
            reason="Mirrored",
            regarding=ObjectReference(kind="Service", name="web"),
        ),
        NAMED
        | {
            "eventTime": "2026-11-16T10:00:00.000000Z",
            "reason": "Mirrored",
            "regarding": {"kind": "Service", "name": "web"},
        },
    ),
]


@pytest.mark.parametrize(
    "obj, written", [pytest.param(*pair, id=type(pair[0]).__name__) for pair in WRITTEN]
)
def test_what_is_written_is_what_the_api_calls_it_and_reads_back(
    obj: Value, written: JsonObject
) -> None:
    body = msgspec.json.encode(obj)
    assert json.loads(body) == written
    assert msgspec.json.decode(body, type=type(obj)) == obj


def read(shape: type[Value], found: Json) -> Json:
    return msgspec.json.decode(json.dumps(found), type=shape)


def test_fields_we_do_not_use_are_skipped() -> None:
    found = read(Service, NAMED | {"spec": {"sessionAffinity": "None"}, "else": [1, {"a": None}]})
    assert found == Service(metadata=WEB)


def test_a_slice_whose_lists_are_null_equals_one_whose_lists_are_empty() -> None:
    null = read(EndpointSlice, NAMED | {"addressType": "IPv4", "endpoints": None, "ports": None})
    assert null == EndpointSlice(metadata=WEB, address_type="IPv4")
    assert null.endpoints == ()


def test_a_load_balancer_shows_its_addresses() -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}, {"hostname": "lb.example"}]}}
    found = read(Service, NAMED | {"status": status})
    ingress = (Ingress(ip="203.0.113.9"), Ingress(hostname="lb.example"))
    assert found.status == ServiceStatus(load_balancer=LoadBalancer(ingress=ingress))


@pytest.mark.parametrize(
    "shape, found",
    [
        pytest.param(Service, {}, id="no metadata"),
        pytest.param(Service, {"metadata": {}}, id="no name"),
        pytest.param(Service, {"metadata": None}, id="null metadata"),
        pytest.param(Service, NAMED | {"spec": {"ports": [{}]}}, id="a port without a number"),
        pytest.param(EndpointSlice, NAMED, id="a slice without a family"),
        pytest.param(Secret, NAMED | {"data": {"key": "not base64!"}}, id="a secret in the clear"),
    ],
)
def test_what_lacks_the_necessary_is_refused(shape: type[Value], found: Json) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        read(shape, found)
    assert "not base64!" not in str(caught.value)


@pytest.mark.parametrize(
    "holder",
    [
        pytest.param(Secret(metadata=WEB, data={"password": b"canary"}), id="Secret"),
        pytest.param(TokenReviewSpec(token="canary"), id="TokenReview"),
        pytest.param(TokenRequestStatus(token="canary"), id="TokenRequest"),
    ],
)
def test_secrets_do_not_show(holder: Value) -> None:
    assert "canary" not in repr(holder)
    assert "canary" not in str(holder)


def test_keys_read_as_people_write_them() -> None:
    assert str(Key("shop", "web")) == "shop/web"
    assert str(Key("", "shop")) == "shop"


ZONES = st.integers(-720, 720).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(moment=st.integers(-(10**15), 10**16), zone=ZONES)
def test_times_survive_the_way_to_the_api_and_back(moment: int, zone: timezone) -> None:
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment)
    assert parsed(micro_time(when.astimezone(zone))) == when
    assert parsed(second_time(when.astimezone(zone))) == when.replace(microsecond=0)
    assert len(micro_time(when)) == len("2026-11-16T10:00:00.000000Z")


@pytest.mark.parametrize("text", ["", "today", "2026-11-16T10:00:00"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"isoformat|time zone"):
        parsed(text)
