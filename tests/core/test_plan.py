"""The plan for one name at a glance; the rules one by one are in the files beside this one."""

import pytest
from msgspec.structs import replace

from isthmus.core.plan import plan
from isthmus.core.world import Address, LinkView, World
from isthmus.model import names
from isthmus.model.actions import Action, Create, Delete, Report, Update
from isthmus.model.objects import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    Namespace,
    Service,
    ServicePort,
    ServiceSpec,
)
from tests.support.builders import (
    by_service,
    claimed,
    export,
    link,
    listeners,
    namespace,
    service,
    view,
)

KEY = Key("shop", "web-west")
WEST = link("west")
EXPORTED = view(WEST, export())
GONE = view(WEST)
LABELS = {names.MIRRORED: "true", names.CLUSTER: "west"}
ANNOTATIONS = {
    names.REMOTE_NAME: "web.shop.svc.west.cluster.local",
    names.LINK_UID: "link-west",
    names.REMOTE_UID: "uid-of-web",
}
WEB = Service(
    metadata=Metadata(
        namespace="shop",
        name="web-west",
        labels=LABELS,
        annotations=ANNOTATIONS | {names.REMOTE_VERSION: "7"},
    ),
    spec=ServiceSpec(ports=(ServicePort(port=80, name="http", target_port=8080),)),
)
WEB_SLICE = EndpointSlice(
    metadata=Metadata(
        namespace="shop",
        name="web-west-ipv4",
        labels=LABELS | {names.SERVICE_NAME: "web-west", names.MANAGED_BY: "isthmus.dev"},
        annotations=ANNOTATIONS,
    ),
    address_type="IPv4",
    endpoints=(Endpoint(addresses=("10.0.0.7",), conditions=EndpointConditions(ready=True)),),
    ports=(EndpointPort(name="http", port=24_478),),
)
THEIRS = service("web-west")
# As the API server gives them back.
STORED = replace(
    WEB,
    metadata=replace(WEB.metadata, uid="u", resource_version="41"),
    spec=replace(WEB.spec, cluster_ip="10.96.0.9", cluster_ips=("10.96.0.9",)),
)
STORED_SLICE = replace(
    WEB_SLICE, metadata=replace(WEB_SLICE.metadata, uid="v", resource_version="42")
)
EDITED = replace(STORED, spec=replace(STORED.spec, selector={"app": "mine"}))
NOT_READY = replace(
    STORED_SLICE,
    endpoints=(Endpoint(addresses=("10.0.0.7",), conditions=EndpointConditions(ready=False)),),
)


def seen(
    *views: LinkView, found: tuple[Service | EndpointSlice, ...] = (), space: str = "shop"
) -> World:
    slices = [one for one in found if isinstance(one, EndpointSlice)]
    return World(
        links={one.link.uid: one for one in views},
        claims=claimed(views),
        namespaces={space: namespace(space)},
        services={one.metadata.key: one for one in found if isinstance(one, Service)},
        slices=by_service(slices),
        egress=(Address("10.0.0.7"),),
        listeners=listeners(slices),
    )


def refused(reason: str, message: str) -> Report:
    return Report("link-west", Key("shop", "web"), reason, message)


@pytest.mark.parametrize(
    "world, expected",
    [
        pytest.param(seen(EXPORTED), [Create(WEB), Create(WEB_SLICE)], id="new"),
        pytest.param(seen(EXPORTED, found=(STORED, STORED_SLICE)), [], id="settled"),
        pytest.param(
            seen(EXPORTED, found=(STORED,)),
            [Create(WEB_SLICE)],
            id="crashed half way, or slice lost",
        ),
        pytest.param(
            seen(EXPORTED, found=(STORED_SLICE,)), [Create(WEB)], id="the mirror was deleted"
        ),
        pytest.param(
            seen(EXPORTED, found=(EDITED, STORED_SLICE)),
            [Update(STORED)],
            id="the mirror was edited",
        ),
        pytest.param(
            seen(EXPORTED, found=(STORED, NOT_READY)), [Update(STORED_SLICE)], id="alive again"
        ),
        pytest.param(
            seen(GONE, found=(STORED, STORED_SLICE)),
            [Delete(STORED_SLICE), Delete(STORED)],
            id="no longer exported",
        ),
        pytest.param(
            seen(GONE, found=(STORED_SLICE,)), [Delete(STORED_SLICE)], id="crashed while deleting"
        ),
        pytest.param(
            seen(view(WEST, synced=False), found=(STORED, STORED_SLICE)),
            [],
            id="the target is away",
        ),
        pytest.param(seen(found=(STORED, STORED_SLICE)), [], id="the link is unknown"),
        pytest.param(
            seen(EXPORTED, found=(THEIRS,)),
            [refused("NameTaken", "shop/web-west exists and is not the mirror of this export")],
            id="never touch what is not ours",
        ),
        pytest.param(seen(GONE, found=(THEIRS,)), [], id="nor delete it"),
        pytest.param(
            seen(EXPORTED, space="bank"),
            [refused("NamespaceMissing", "namespace shop does not exist here")],
            id="no namespace",
        ),
        pytest.param(
            seen(view(link("west", create_namespaces=True), export()), space="bank"),
            [
                Create(
                    Namespace(
                        metadata=Metadata(name="shop", labels={names.CREATED_NAMESPACE: "west"})
                    )
                ),
                Create(WEB),
                Create(WEB_SLICE),
            ],
            id="no namespace, and leave to create it",
        ),
        pytest.param(seen(), [], id="nothing at all"),
    ],
)
def test_plan(world: World, expected: list[Action]) -> None:
    assert plan(world, KEY) == expected
