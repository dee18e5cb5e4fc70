"""Our typed client: it says what it means, and understands what it is told."""

from collections.abc import Callable

import pytest

from isthmus.kube.client import Client
from isthmus.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    NotFound,
    Rejected,
    Unauthorized,
)
from isthmus.kube.exchange import Limits
from isthmus.kube.requests import Preconditions, Selection
from isthmus.kube.resources import (
    CONFIG_MAPS,
    ENDPOINT_SLICES,
    LEASES,
    NAMESPACES,
    SECRETS,
    SELF_ACCESS_REVIEWS,
    SERVICE_ACCOUNTS,
    SERVICES,
    TOKEN_REVIEWS,
    Resource,
)
from isthmus.model.objects import (
    ConfigMap,
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Key,
    Lease,
    LeaseSpec,
    Metadata,
    Secret,
    Service,
    ServiceAccount,
    ServicePort,
    ServiceSpec,
)
from isthmus.model.reviews import (
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
    TokenRequest,
    TokenRequestSpec,
    TokenReview,
    TokenReviewSpec,
)
from isthmus.model.wire import Json
from tests.contract.objects import account, config, namespace
from tests.contract.server import Server

MICRO = "2026-01-01T00:00:00.123456Z"


def client(server: Server, limits: Limits | None = None) -> Client:
    return Client(server.transport(server.token), limits=limits)


def named(server: Server, name: str = "web") -> Metadata:
    return Metadata(name=name, namespace=server.namespace, labels={"mine": "yes"})


def web(server: Server) -> Service:
    ports = (ServicePort(port=80, name="http", target_port=8080),)
    return Service(metadata=named(server), spec=ServiceSpec(ports=ports))


async def test_an_object_comes_back_as_it_was_written(server: Server) -> None:
    kube = client(server)
    made = await kube.create(SERVICES, web(server))
    assert made.spec.ports == web(server).spec.ports
    assert made.spec.cluster_ip
    assert made.metadata.uid
    assert await kube.get(SERVICES, made.metadata.key) == made


ENDPOINT = Endpoint(
    addresses=("10.1.2.3",), conditions=EndpointConditions(ready=False), hostname="pod-0"
)
LEASE = LeaseSpec(holder_identity="one", lease_duration_seconds=15, renew_time=MICRO)


@pytest.mark.parametrize(
    "resource, made",
    [
        pytest.param(SERVICES, web, id="Service"),
        pytest.param(
            ENDPOINT_SLICES,
            lambda server: EndpointSlice(
                metadata=named(server),
                address_type="IPv4",
                endpoints=(ENDPOINT,),
                ports=(EndpointPort(name="http", port=20000),),
            ),
            id="EndpointSlice",
        ),
        pytest.param(
            ENDPOINT_SLICES,
            lambda server: EndpointSlice(metadata=named(server), address_type="IPv4"),
            id="empty EndpointSlice",
        ),
        pytest.param(
            CONFIG_MAPS,
            lambda server: ConfigMap(metadata=named(server), data={"a": "b"}),
            id="ConfigMap",
        ),
        pytest.param(
            SECRETS,
            lambda server: Secret(metadata=named(server), data={"a": b"\x00\xff"}),
            id="Secret",
        ),
        pytest.param(LEASES, lambda server: Lease(metadata=named(server), spec=LEASE), id="Lease"),
        pytest.param(
            SERVICE_ACCOUNTS,
            lambda server: ServiceAccount(metadata=named(server)),
            id="ServiceAccount",
        ),
    ],
)
async def test_applying_twice_writes_once(
    server: Server, resource: Resource[Json], made: Callable[[Server], Json]
) -> None:
    kube, wanted = client(server), made(server)
    first = await kube.apply(resource, wanted)
    assert await kube.apply(resource, wanted) == first
    found = await kube.get(resource, first.metadata.key)
    assert found == first
    assert await kube.apply(resource, wanted) == first


async def test_refusals_have_names(server: Server) -> None:
    kube = client(server)
    made = await kube.create(SERVICES, web(server))
    key = made.metadata.key
    with pytest.raises(AlreadyExists, match='services "web" already exists'):
        await kube.create(SERVICES, web(server))
    await kube.merge_patch(SERVICES, key, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict, match="the object has been modified"):
        await kube.replace(SERVICES, made)
    with pytest.raises(Conflict, match="does not match the UID in record"):
        await kube.delete(SERVICES, key, Preconditions(uid="another"))
    with pytest.raises(NotFound, match='services "none" not found'):
        await kube.get(SERVICES, Key(server.namespace, "none"))
    with pytest.raises(Rejected, match="may not change once set"):
        await kube.merge_patch(SERVICES, key, {"spec": {"clusterIP": "10.96.200.1"}})


async def test_a_field_of_somebody_else_is_a_conflict(server: Server) -> None:
    kube = client(server)
    await server.apply("configmaps/web", config("web", {"a": "theirs"}), fieldManager="they")
    ours = ConfigMap(metadata=named(server), data={"a": "ours"})
    with pytest.raises(Conflict, match="Apply failed with 1 conflict"):
        await kube.apply(CONFIG_MAPS, ours)
    assert (await kube.apply(CONFIG_MAPS, ours, force=True)).data == {"a": "ours"}


async def test_a_deletion_hits_what_was_meant(server: Server) -> None:
    kube = client(server)
    made = await kube.create(SERVICES, web(server))
    meant = Preconditions(uid=made.metadata.uid, resource_version=made.metadata.resource_version)
    await kube.delete(SERVICES, made.metadata.key, meant)
    with pytest.raises(NotFound):
        await kube.get(SERVICES, made.metadata.key)


async def test_strangers_are_unauthorized_and_others_forbidden(server: Server) -> None:
    with pytest.raises(Unauthorized):
        await client(server.acting_as("nonsense")).list(SERVICES)
    await server.create("serviceaccounts", account())
    asked = TokenRequest(spec=TokenRequestSpec(audiences=(), expiration_seconds=600))
    given = await client(server).request_token(Key(server.namespace, "robot"), asked)
    robot = client(server.acting_as(given.status.token))
    with pytest.raises(Forbidden, match='cannot list resource "services"') as refused:
        await robot.list(SERVICES)
    assert not refused.value.terminating
    assert given.status.token not in repr(given)


async def test_an_ending_namespace_is_told_apart(server: Server) -> None:
    name = server.unique("ending")
    await server.create("namespaces", namespace(name))
    inside = f"/api/v1/namespaces/{name}/configmaps"
    await server.create(inside, config(finalizers=["example.org/hold"]))
    kube = client(server)
    await kube.delete(NAMESPACES, Key("", name))
    with pytest.raises(Forbidden, match="is being terminated") as refused:
        await kube.create(CONFIG_MAPS, ConfigMap(metadata=Metadata(name="x", namespace=name)))
    assert refused.value.terminating
    await server.merge(f"{inside}/settings", {"metadata": {"finalizers": None}})


async def test_a_list_is_complete_whatever_the_size_of_its_pages(server: Server) -> None:
    for name in "abcde":
        await server.create("configmaps", config(name, labels={"mine": "yes"}))
    mine = Selection(namespace=server.namespace, labels="mine=yes")
    pages = [
        await client(server, Limits(page=size)).list(CONFIG_MAPS, mine) for size in (1, 2, 5, 500)
    ]
    for page in pages:
        assert [one.metadata.name for one in page.objects] == list("abcde")
        assert page.objects == pages[0].objects


async def test_questions_are_answered(server: Server) -> None:
    kube = client(server)
    await server.create("serviceaccounts", account())
    asked = TokenRequest(spec=TokenRequestSpec(audiences=("isthmus",), expiration_seconds=600))
    given = await kube.request_token(Key(server.namespace, "robot"), asked)
    spec = TokenReviewSpec(token=given.status.token, audiences=("isthmus",))
    told = await kube.review(TOKEN_REVIEWS, TokenReview(spec=spec))
    assert told.status.authenticated
    assert told.status.user.username == f"system:serviceaccount:{server.namespace}:robot"
    wish = ResourceAttributes(verb="list", resource="services", namespace=server.namespace)
    question = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resource_attributes=wish))
    assert (await kube.review(SELF_ACCESS_REVIEWS, question)).status.allowed
