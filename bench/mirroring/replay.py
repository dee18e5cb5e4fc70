"""The requests that have made the mirrors of a cluster, so that others can send them again."""

from msgspec.structs import replace

from bench.mirroring.floor import Post
from isthmus.kube import requests
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.client import MANAGER, Client
from isthmus.kube.credentials import StaticToken
from isthmus.kube.http import HttpTransport
from isthmus.kube.requests import Call, Selection
from isthmus.kube.resources import ENDPOINT_SLICES, SERVICES
from isthmus.model.names import MIRRORED, SERVICE_NAME
from isthmus.model.objects import EndpointSlice, Key, Metadata, Service
from lab.controlplane import ControlPlane

HEADLESS = "None"


async def written(east: ControlPlane) -> tuple[tuple[Post, ...], ...]:
    """Return them as the controller has sent them: each Service, then its slices."""
    address = ApiServer(url=east.url, ca_pem=east.papers.ca_pem.encode())
    client = Client(HttpTransport(address), StaticToken(east.admin_token))
    ours = Selection(labels=MIRRORED)
    try:
        services = (await client.list(SERVICES, ours)).objects
        slices = (await client.list(ENDPOINT_SLICES, ours)).objects
    finally:
        await client.close()
    return replay(services, slices)


def replay(
    services: tuple[Service, ...], slices: tuple[EndpointSlice, ...]
) -> tuple[tuple[Post, ...], ...]:
    """Take away what the server has added, and put the rest into requests."""
    of: dict[Key, list[EndpointSlice]] = {}
    for one in slices:
        key = Key(one.metadata.namespace, one.metadata.labels[SERVICE_NAME])
        of.setdefault(key, []).append(replace(one, metadata=_given(one.metadata)))
    return tuple(
        (
            _post(requests.create(SERVICES, _unassigned(one), manager=MANAGER)),
            *(
                _post(requests.create(ENDPOINT_SLICES, its, manager=MANAGER))
                for its in of.get(one.metadata.key, ())
            ),
        )
        for one in services
    )


def _unassigned(service: Service) -> Service:
    if service.spec.cluster_ip == HEADLESS:  # which is not assigned, but asked for
        spec = replace(service.spec, ip_families=(), ip_family_policy=None)
        return Service(metadata=_given(service.metadata), spec=spec)
    spec = replace(
        service.spec, cluster_ip="", cluster_ips=(), ip_families=(), ip_family_policy=None
    )
    return Service(metadata=_given(service.metadata), spec=spec)


def _given(metadata: Metadata) -> Metadata:
    return Metadata(
        namespace=metadata.namespace,
        name=metadata.name,
        labels=metadata.labels,
        annotations=metadata.annotations,
    )


def _post(call: Call[Service] | Call[EndpointSlice]) -> Post:
    query = "&".join(f"{name}={value}" for name, value in call.request.query)
    return Post(f"{call.request.path}?{query}", call.request.body)
