"""What this cluster offers and lets in, as it changes: the target's half of a controller."""

from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from isthmus.apps.controller.carrying.exporting import Exporting
from isthmus.apps.controller.config import Config
from isthmus.catalogue.errors import Unavailable
from isthmus.core.contest import API_SERVER
from isthmus.model.grants import From, Grant, GrantSpec, To
from isthmus.model.names import EXPORTED, MIRRORED, SERVICE_NAME
from isthmus.model.objects import (
    EndpointPort,
    EndpointSlice,
    Key,
    Metadata,
    Service,
    ServicePort,
    ServiceSpec,
)
from isthmus.model.routes import Place
from isthmus.runtime.cache import Gone, Listed, Put
from tests.apps.clusters import (
    GRANTS,
    SERVICES,
    SLICES,
    controlling,
    endpoints,
    exported,
    furnish,
    place,
)
from tests.support.builders import EXPORT_LABEL, endpoint, service
from tests.support.waiting import eventually

WEB, DB = Key("shop", "web"), Key("shop", "db")
API = replace(
    service("kubernetes", "default"),
    spec=ServiceSpec(
        cluster_ip="10.96.0.1",
        cluster_ips=("10.96.0.1",),
        ports=(ServicePort(port=443, name="https"),),
    ),
)

HEADLESS = ServiceSpec(cluster_ip="None", selector={"app": "db"}, ports=(ServicePort(port=80),))


def slice_(
    name: str, *addresses: str, namespace: str = "shop", port: str = "", number: int = 8080
) -> EndpointSlice:
    return EndpointSlice(
        metadata=Metadata(
            name=f"{name}-1", namespace=namespace, labels={SERVICE_NAME: name}, resource_version="1"
        ),
        address_type="IPv4",
        endpoints=tuple(map(endpoint, addresses)),
        ports=(EndpointPort(name=port, port=number),),
    )


API_SLICE = slice_("kubernetes", "10.0.0.5", namespace="default", port="https", number=6443)
OURS = slice_("isthmus-controller", "10.2.9.9", namespace="isthmus", port="https", number=8443)


def marked(name: str) -> Service:
    return service(name, labels=EXPORT_LABEL)


def grant(name: str = "east", **spec: object) -> Grant:
    given = {"cluster": "east"} | spec
    return Grant(metadata=Metadata(name=name), spec=GrantSpec(**given))  # type: ignore[arg-type]  # the tests' own shorthand


class West:
    """The target's half, and what it has told since it was last asked."""

    def __init__(self, *services: Service, grants: Iterable[Grant] = (grant(),)) -> None:
        self.exporting = Exporting(Config(cluster_name="west", admin_port=None), lambda: "uid")
        self.told: list[frozenset[Key]] = []
        self.exporting.tell(self.told.append)
        self.exporting.fold_grants(Listed(tuple(grants)))
        self.exporting.fold_ours(Listed((OURS,)))
        self.exporting.fold_marked(Listed(()))
        found = tuple(slice_(one.metadata.name, "10.2.0.1") for one in services)
        self.exporting.fold_loose(Listed((API_SLICE, *found)))
        self.exporting.fold_services(Listed((API, *services)))

    @property
    def news(self) -> list[frozenset[Key]]:
        found = self.told.copy()
        self.told.clear()
        return found

    @property
    def served(self) -> dict[str, list[str]]:
        return {
            one.authority.partition(".")[0]: [place.address for place in one.places]
            for one in self.exporting.routes().inbound
        }


def test_nothing_is_said_before_everything_is_known() -> None:
    exporting = Exporting(Config(cluster_name="west", admin_port=None), lambda: "uid")
    folds: tuple[Callable[[], None], ...] = (
        lambda: exporting.fold_grants(Listed((grant(),))),
        lambda: exporting.fold_ours(Listed((OURS,))),
        lambda: exporting.fold_marked(Listed(())),
        lambda: exporting.fold_loose(Listed((API_SLICE,))),
        lambda: exporting.fold_services(Listed((API, marked("web")))),
    )
    for fold in folds:
        assert not exporting.ready.is_set()
        assert exporting.inbound == {}
        with pytest.raises(Unavailable):
            exporting.offers.open("east")
        fold()
    assert exporting.ready.is_set()
    assert list(exporting.inbound) == [WEB]
    exporting.offers.open("east")


def test_one_change_concerns_one_service() -> None:
    west = West(marked("web"), marked("db"), service("private"))
    assert west.news == [frozenset({WEB, DB})]
    assert west.served == {"web": ["10.2.0.1"], "db": ["10.2.0.1"]}
    west.exporting.fold_loose(Put(slice_("web", "10.2.0.1", "10.2.0.2")))
    assert west.news == [frozenset({WEB})]
    west.exporting.fold_services(Put(replace(marked("web"), metadata=service("web").metadata)))
    assert west.news == [frozenset({WEB})]
    assert west.served == {"db": ["10.2.0.1"]}
    west.exporting.fold_services(Gone(DB))
    assert west.news == [frozenset({DB})]
    assert west.served == {}


@pytest.mark.parametrize(
    "unfit",
    [
        pytest.param(service("web", labels=EXPORT_LABEL | {MIRRORED: "true"}), id="a mirror"),
        pytest.param(
            service("web", labels=EXPORT_LABEL, spec=ServiceSpec(type="ExternalName")), id="a name"
        ),
        pytest.param(
            service(
                "web",
                labels=EXPORT_LABEL,
                spec=ServiceSpec(ports=(ServicePort(port=53, protocol="UDP"),)),
            ),
            id="UDP only",
        ),
    ],
)
def test_what_cannot_be_exported_is_not_served(unfit: Service) -> None:
    west = West(unfit, marked("db"))
    assert west.served == {"db": ["10.2.0.1"]}


def test_a_headless_service_is_offered_once_its_pods_are_known() -> None:
    """Its slice is marked a moment after the Service is: until then it seems to have no pods, and
    its mirror would be of another shape. A slice that goes away later changes no shape."""
    west = West()
    west.exporting.fold_services(Put(service("db", labels=EXPORT_LABEL, spec=HEADLESS)))
    assert DB not in west.exporting.offers
    west.exporting.fold_marked(Put(slice_("db")))
    assert DB in west.exporting.offers
    west.exporting.fold_marked(Gone(Key("shop", "db-1")))
    assert DB in west.exporting.offers


def test_a_headless_service_that_was_there_before_us_is_not_withdrawn_for_want_of_slices() -> None:
    """Whoever follows the catalogue knows it from the controller before this one: left out, it
    would be taken for deleted, and with it its mirror, because of one list without slices."""
    exporting = Exporting(Config(cluster_name="west", admin_port=None), lambda: "uid")
    exporting.fold_grants(Listed((grant(),)))
    exporting.fold_ours(Listed((OURS,)))
    exporting.fold_marked(Listed(()))
    exporting.fold_loose(Listed((API_SLICE,)))
    exporting.fold_services(Listed((API, service("db", labels=EXPORT_LABEL, spec=HEADLESS))))
    assert DB in exporting.offers


def test_what_changes_nothing_is_no_news() -> None:
    west = West(marked("web"), service("private"))
    west.told.clear()
    noted = replace(marked("web"), metadata=replace(marked("web").metadata, annotations={"a": "b"}))
    west.exporting.fold_services(Put(noted))
    west.exporting.fold_loose(Put(slice_("private", "10.2.0.7")))
    west.exporting.fold_grants(Put(grant("again")))
    west.exporting.fold_grants(Gone(Key("", "again")))
    assert west.news == []


def test_grants_change_what_they_cover_and_nothing_else() -> None:
    west = West(marked("web"), marked("db"), grants=())
    assert west.news == []
    west.exporting.fold_grants(Put(grant(to=To(services=("shop/web",)))))
    assert west.news == [frozenset({WEB}), frozenset()]
    assert west.served == {"web": ["10.2.0.1"]}
    routes = west.exporting.routes()
    assert routes.catalogue_callers.exact == (
        "spiffe://east.isthmus/ns/isthmus/sa/isthmus-controller",
    )
    west.exporting.fold_grants(
        Put(grant(from_=From(namespaces=("a",)), to=To(services=("shop/web",))))
    )
    assert west.news == [frozenset({WEB})]
    west.exporting.fold_grants(Gone(Key("", "east")))
    assert west.news == [frozenset({WEB}), frozenset()]
    assert west.served == {}


def test_a_grant_that_becomes_malformed_gives_nothing_any_more() -> None:
    west = West(marked("web"))
    west.exporting.fold_grants(Put(grant(from_=From(namespaces=("a/b",)))))
    assert west.served == {}


def test_the_catalogue_is_where_our_own_controllers_are() -> None:
    west = West()
    routes = west.exporting.routes()
    assert routes.catalogue == (Place(address="10.2.9.9", port=8443),)
    assert routes.controller == "spiffe://west.isthmus/ns/isthmus/sa/isthmus-controller"
    west.told.clear()
    moved = replace(OURS, endpoints=(endpoint("10.2.9.8"), endpoint("10.2.9.7", ready=False)))
    west.exporting.fold_ours(Put(moved))
    assert west.news == [frozenset()]
    assert west.exporting.routes().catalogue == (Place(address="10.2.9.8", port=8443),)


@pytest.mark.parametrize(
    "address, number",
    [
        pytest.param("10.0.0.5", 6443, id="the API server"),
        pytest.param("10.96.0.1", 443, id="the API server's Service"),
        pytest.param("10.2.9.9", 9990, id="a controller, on any port"),
        pytest.param("169.254.169.254", 80, id="a cloud's metadata service"),
        pytest.param("127.0.0.1", 80, id="the node itself"),
    ],
)
def test_a_tenants_slice_leads_nowhere_that_it_should_not(address: str, number: int) -> None:
    west = West(marked("web"))
    west.exporting.fold_loose(Put(slice_("web", address, number=number)))
    assert west.served == {"web": []}


def test_who_moves_to_an_address_of_ours_is_closed_too() -> None:
    west = West(marked("web"))
    west.told.clear()
    west.exporting.fold_ours(Put(replace(OURS, endpoints=(endpoint("10.2.0.1"),))))
    assert west.news == [frozenset({WEB}), frozenset()]
    assert west.served == {"web": []}


def test_a_list_that_cannot_be_this_clusters_cuts_nobody_off() -> None:
    west = West(marked("web"))
    stream = west.exporting.offers.open("east")
    stream.take()
    west.told.clear()
    west.exporting.fold_services(Listed(()))
    west.exporting.fold_loose(Listed(()))
    assert west.news == []
    assert west.served == {"web": ["10.2.0.1"]}
    assert stream.take() == b""
    with pytest.raises(Unavailable):
        west.exporting.offers.open("east")
    west.exporting.fold_loose(Listed((API_SLICE, slice_("web", "10.2.0.9"))))
    assert west.served == {"web": ["10.2.0.1"]}
    west.exporting.fold_services(Listed((API, marked("web"))))
    assert west.news == [frozenset({WEB})]
    assert west.served == {"web": ["10.2.0.9"]}
    assert API_SERVER not in west.exporting.inbound


MANAGED = "endpointslice.kubernetes.io/managed-by"


async def test_slices_are_found_whoever_made_them() -> None:
    """Kubernetes copies a Service's labels to its slices; others need not."""
    west = place("west", 1)
    await furnish(west)
    await west.create(GRANTS, {"metadata": {"name": "east"}, "spec": {"cluster": "east"}})
    for name in ("made", "loose", "hidden"):
        await west.create(SERVICES, exported(name))
    by_kubernetes = {MANAGED: "endpointslice-controller.k8s.io", EXPORTED: "true"}
    for name, labels in (
        ("made", by_kubernetes),
        ("loose", {}),
        ("hidden", {MANAGED: "isthmus.dev", EXPORTED: "true"}),
    ):
        made = endpoints(name, "10.2.0.1")
        made["metadata"]["labels"] |= labels
        await west.create(SLICES, made)
    async with controlling(west) as running:
        exporting = running.controller.exporting

        def served() -> dict[str, int]:
            found = exporting.inbound.items()
            return {key.name: len(inbound[0].places) for key, inbound in found}

        await eventually(lambda: served() == {"made": 1, "loose": 1, "hidden": 0})
        await west.edit(SLICES, "made-abcde", {"metadata": {"labels": {EXPORTED: None}}})
        await eventually(lambda: served() == {"made": 0, "loose": 1, "hidden": 0})
        await west.edit(SLICES, "made-abcde", {"metadata": {"labels": {MANAGED: None}}})
        await eventually(lambda: served() == {"made": 1, "loose": 1, "hidden": 0})
