"""A proxy that has one address among others listens there, and is told nothing else differently."""

from envoy.config.listener.v3 import listener_pb2

from isthmus.model.routes import Outbound
from isthmus.xds import egress, identify
from isthmus.xds.placed import EVERYWHERE, placed

WEB = Outbound(
    listener=20_001,
    link="west",
    authority="web.shop.svc.west.cluster.local:80",
    namespace="shop",
    service="web-west",
    protocol="http",
)


def test_a_listener_is_placed_where_the_proxy_is_and_keeps_its_version() -> None:
    built = egress.outbound(WEB, EVERYWHERE)
    found = placed(built, "127.0.0.7")
    assert found.version == built.version
    listener = listener_pb2.Listener.FromString(found.value)
    assert listener.address.socket_address.address == "127.0.0.7"
    listener.address.socket_address.address = EVERYWHERE
    assert listener == listener_pb2.Listener.FromString(built.value)


def test_what_has_no_address_to_choose_stays_as_it_is() -> None:
    others = (
        identify.listener({"10.1.0.1": "shop/curl"}),
        identify.clusters()[0],
        egress.outbound(WEB, "127.0.0.9"),
    )
    for one in others:
        assert placed(one, "127.0.0.7") is one or placed(one, "127.0.0.7").value == one.value
    built = egress.outbound(WEB, EVERYWHERE)
    assert placed(built, "") is built
    assert placed(built, EVERYWHERE) is built
