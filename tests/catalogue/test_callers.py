"""Who is believed to ask for the catalogue."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.catalogue.callers import Site, source
from isthmus.catalogue.errors import Forbidden

SITE = Site(cluster="west", mesh_domain="isthmus", namespace="isthmus")
GATEWAY = "spiffe://west.isthmus/ns/isthmus/sa/isthmus-gateway"
EAST = "spiffe://east.isthmus/ns/isthmus/sa/isthmus-controller"
NORTH = "spiffe://north.isthmus/ns/isthmus/sa/isthmus-controller"
GOOD = f"By={GATEWAY};Hash=abc123;URI={EAST}"


def test_the_gateway_tells_which_cluster_asks() -> None:
    assert source(GATEWAY, [GOOD], SITE) == "east"
    assert source(GATEWAY, [f"URI={EAST}"], SITE) == "east"


@pytest.mark.parametrize(
    "peer",
    [
        None,
        "",
        EAST,
        "spiffe://east.isthmus/ns/isthmus/sa/isthmus-gateway",
        "spiffe://west.isthmus/ns/shop/sa/isthmus-gateway",
        "spiffe://west.isthmus/ns/isthmus/sa/isthmus-gateway2",
    ],
)
def test_nobody_but_our_own_gateway_is_asked(peer: str | None) -> None:
    with pytest.raises(Forbidden):
        source(peer, [GOOD], SITE)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([], id="no header"),
        pytest.param([GOOD, GOOD], id="two headers"),
        pytest.param([f"{GOOD},{GOOD}"], id="two elements"),
        pytest.param([f"URI={EAST},URI={NORTH}"], id="two elements, short"),
        pytest.param([f"Hash=abc,URI={NORTH};URI={EAST}"], id="two elements, one in a field"),
        pytest.param([f"{GOOD};URI={NORTH}"], id="two URIs"),
        pytest.param([f"By={GATEWAY};Hash=abc"], id="no URI"),
        pytest.param([f"By={GATEWAY};Hash=abc;URI="], id="an empty URI"),
        pytest.param([f'URI="{EAST}"'], id="quoted"),
        pytest.param([f"URI={EAST};Subject=CN=x"], id="a field that we did not ask for"),
        pytest.param([f"uri={EAST}"], id="another case"),
        pytest.param([f"URI={EAST} "], id="a space"),
        pytest.param([""], id="nothing"),
        pytest.param(["URI=spiffe://east.other/ns/isthmus/sa/isthmus-controller"], id="mesh"),
        pytest.param(["URI=spiffe://east.isthmus/ns/shop/sa/isthmus-controller"], id="namespace"),
        pytest.param(["URI=spiffe://east.isthmus/ns/isthmus/sa/default"], id="account"),
        pytest.param(["URI=spiffe://east.isthmus/ns/isthmus/sa/isthmus-gateway"], id="gateway"),
        pytest.param([f"URI={EAST}/more"], id="a longer path"),
        pytest.param(["URI=spiffe://EAST.isthmus/ns/isthmus/sa/isthmus-controller"], id="upper"),
    ],
)
def test_anything_unexpected_is_refused(headers: list[str]) -> None:
    with pytest.raises(Forbidden):
        source(GATEWAY, headers, SITE)


@given(st.text(max_size=60))
def test_a_name_in_a_certificate_cannot_pass_for_another_cluster(rest: str) -> None:
    """A cluster's issuer can put anything behind its own host, and Envoy copies it as it is."""
    header = f"By={GATEWAY};Hash=abc;URI=spiffe://east.isthmus/{rest}"
    with suppress(Forbidden):
        assert source(GATEWAY, [header], SITE) == "east"


@pytest.mark.parametrize(
    "injected", [f";URI={NORTH}", f",URI={NORTH}", f",By={GATEWAY};Hash=a;URI={NORTH}"]
)
def test_fields_hidden_in_a_name_are_refused(injected: str) -> None:
    with pytest.raises(Forbidden):
        source(GATEWAY, [GOOD + injected], SITE)
