"""What other clusters, proxies and gateways say: the catalogue, XFCC, xDS, and the authority."""

from collections.abc import Iterable
from functools import cache

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from isthmus.apps.controller.certifying.refusal import Refused
from isthmus.apps.controller.certifying.tokens import Tokens
from isthmus.apps.controller.certifying.trust import Unusable, read_anchors, read_issuer
from isthmus.apps.controller.certifying.witness import statement
from isthmus.apps.proxy.asking import LONGEST_WAIT, Got, Unsigned, taken
from isthmus.apps.rotation import kept
from isthmus.apps.signed import Current, Signed
from isthmus.catalogue.callers import Site, source
from isthmus.catalogue.errors import Forbidden, Garbled, WrongCluster
from isthmus.catalogue.reader import Limits, Reader
from isthmus.core.grant import permit, problem
from isthmus.envoy.admin import NoAnswer
from isthmus.envoy.process import open_connections
from isthmus.envoy.translation import address_of, asked, response
from isthmus.kube import errors
from isthmus.kube.client import Client
from isthmus.kube.codec import decoded
from isthmus.kube.credentials import Anonymous
from isthmus.kube.resources import GRANTS, TOKEN_REVIEWS
from isthmus.model.identities import MESH_DOMAIN, Identity
from isthmus.model.names import ANCHORS
from isthmus.model.objects import ConfigMap, Key, Metadata, Secret
from isthmus.runtime.clock import SystemClock
from isthmus.xds.session import Session, TooManyNames
from isthmus.xds.snapshot import Snapshot, snapshot
from tests.fuzz.target import check_readable, chunks_of, parts_of, refusing, target, text_of
from tests.support.transports import Nowhere
from tests.xds.routes import GATEWAY, whole_gateway

SMALL = Limits(line_bytes=4096, total_bytes=8192, offers=10)
SITE = Site(cluster="west", mesh_domain=MESH_DOMAIN, namespace="isthmus")
CONTROLLER = Identity("west", MESH_DOMAIN, "isthmus", "isthmus-controller")


@target
def catalogue_of_another_cluster(data: bytes) -> None:
    whole = _read([data[1:]])
    assert _read(chunks_of(data)) == whole


def _read(chunks: Iterable[bytes]) -> list[str]:
    """Return what is heard of a stream, and how it ended."""
    reader = Reader("west", MESH_DOMAIN, SMALL)
    heard: list[str] = []
    try:
        for chunk in chunks:
            heard.extend(repr(one) for one in reader.receive(chunk))
            assert len(reader._sizes) <= SMALL.offers
    except (Garbled, Forbidden, WrongCluster) as error:
        check_readable(error)
        heard.append(type(error).__name__)
    return heard


@target
def caller_named_by_the_gateway(data: bytes) -> None:
    header = data.decode("latin-1")
    with refusing(Forbidden):
        cluster = source(SITE.gateway(), [header], SITE)
        named = str(CONTROLLER._replace(cluster=cluster))
        assert header.split(";").count(f"URI={named}") == 1
        assert header.count("URI=") == 1


@target
def requests_of_a_proxy(data: bytes) -> None:
    """Each request has its length before it, as in a stream of gRPC."""
    session = Session()
    told = _told()
    most = sum(len(told.of(kind)) for kind in told.types)
    session.publish(told)
    while data:
        size = int.from_bytes(data[:2])
        message, data = data[2 : 2 + size], data[2 + size :]
        try:
            request = discovery_pb2.DeltaDiscoveryRequest.FromString(message)
        except DecodeError:
            continue
        address = address_of(request.node)
        names = len(request.resource_names_subscribe) + len(request.initial_resource_versions)
        most += names
        with refusing(TooManyNames):
            for one in session.receive(asked(request)):
                response(one, address).SerializeToString()
        assert session.pending <= most
        assert all(len(one.message) <= 2000 for one in session.refused.values())


@cache  # making it takes longer than all that is done with it
def _told() -> Snapshot:
    return snapshot(whole_gateway(GATEWAY))


@target
def report_of_a_proxy(data: bytes) -> None:
    with refusing(Refused):
        statement(data)


@target
def review_of_a_token(data: bytes) -> None:
    tokens = Tokens(Client(Nowhere(), Anonymous()), CONTROLLER, SystemClock())
    with refusing(Refused, errors.Garbled):
        status = decoded(TOKEN_REVIEWS, data, "review a token").status
        found = tokens._proved(status)
        expected = f"system:serviceaccount:{found.identity.namespace}:{found.identity.account}"
        assert status.user.username == expected
        assert found.identity.cluster == "west"


@target
def answer_of_a_controller(data: bytes) -> None:
    status, wish, body = parts_of(data, 3)
    got = Got(200 if status == b"200" else 503, wish.decode("latin-1"), body)
    for wanted in (Signed, Current):
        error = _unsigned(wanted, got)
        if error is not None:
            check_readable(error)
            assert 0 <= error.retry_after <= LONGEST_WAIT


def _unsigned(wanted: type[Signed | Current], got: Got) -> Unsigned | None:
    try:
        taken(wanted, got, "the controller")
    except Unsigned as error:
        return error
    return None


@target
def rotation_that_is_kept(data: bytes) -> None:
    rotation, anchors, number = map(text_of, parts_of(data, 3))
    found = {kept.ROTATION: rotation, ANCHORS: anchors, kept.NUMBER: number}
    metadata = Metadata(name="rotation", namespace="isthmus")
    with refusing(kept.Damaged):
        kept.read(ConfigMap(metadata=metadata, data=found))


@target
def issuer_and_anchors(data: bytes) -> None:
    certificate, key, anchors = parts_of(data, 3)
    metadata, name = Metadata(name="trust", namespace="isthmus"), Key("isthmus", "trust")
    secret = Secret(metadata=metadata, data={"tls.crt": certificate, "tls.key": key})
    for found in (
        read_issuer(secret, name, "west"),
        read_anchors(ConfigMap(metadata=metadata, data={ANCHORS: text_of(anchors)}), name),
    ):
        if isinstance(found, Unusable):
            check_readable(found)


@target
def grant_of_the_api(data: bytes) -> None:
    with refusing(errors.Garbled):
        grant = decoded(GRANTS, data, "get a grant")
        why = problem(grant)
        found = permit(grant, MESH_DOMAIN)
        assert (found is None) == (why is not None) or grant.metadata.deletion_timestamp
        assert why is None or len(why) <= 500
        if found is not None:
            domain = f"spiffe://{grant.spec.cluster}.{MESH_DOMAIN}/"
            for name in (*found.callers.exact, *found.callers.prefixes):
                assert name.startswith(domain)
                assert name.isascii()
                assert name.isprintable()


@target
def statistics_of_envoy(data: bytes) -> None:
    with refusing(NoAnswer):
        open_connections(text_of(data))
