"""Which mirror has a listener port, whoever says so."""

import pytest

from isthmus.apps.controller.mirroring.listeners import Listeners
from isthmus.model.objects import EndpointPort, EndpointSlice, Key, Metadata, Service, ServiceSpec
from isthmus.runtime.cache import Cache, Listed
from tests.support.builders import labelled

PORT = 20_000
TAKEN = EndpointPort(name="http", port=PORT)
WEB, DB, SET = (Key("shop", name) for name in ("web", "db", "set"))


@pytest.mark.parametrize(
    "slices, reserved, holder",
    [
        pytest.param((), None, None, id="nobody"),
        pytest.param((), WEB, WEB, id="whose plan has chosen it"),
        pytest.param(("web",), None, WEB, id="whose slice says so"),
        pytest.param(("web", "db"), None, DB, id="of two the first by name"),
        pytest.param(("set",), None, None, id="the ports of a headless mirror are its pods'"),
        pytest.param(("set", "web"), None, WEB, id="a headless one, and another"),
        pytest.param(("",), None, None, id="a slice that belongs to nobody"),
    ],
)
def test_a_port_has_at_most_one_holder(
    slices: tuple[str, ...], reserved: Key | None, holder: Key | None
) -> None:
    known: Cache[Key, EndpointSlice] = Cache(lambda one: one.metadata.key)
    services: Cache[Key, Service] = Cache(lambda one: one.metadata.key)
    headless = Metadata(namespace=SET.namespace, name=SET.name)
    services.fold(Listed((Service(metadata=headless, spec=ServiceSpec(cluster_ip="None")),)))
    known.fold(Listed(tuple(labelled(f"{name}-1", name, TAKEN) for name in slices)))
    listeners = Listeners(known, services)
    if reserved is not None:
        listeners.reserve(reserved, [labelled("new", reserved.name, TAKEN)])
    assert listeners.get(PORT) == holder
    assert (PORT in listeners) == (holder is not None)
    assert dict(listeners) == ({} if holder is None else {PORT: holder})
