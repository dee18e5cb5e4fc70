"""Who does not prove to be somebody at the real gateway; nothing reaches a pod."""

import asyncio
import ssl

import pytest

from isthmus.xds.tunnels import server_name
from tests.support import pki
from tests.xds import crossing
from tests.xds.crossing import Crossing, authority, pod
from tests.xds.knocking import (
    CLOSED_DOOR,
    DENIED,
    ECHO,
    KNOWN,
    WEB,
    greeting,
    nobody_came,
    requesting,
    told,
)

pytestmark = [pytest.mark.sockets, pytest.mark.usefixtures("both")]

# Made with the anchor's key, by which a proper issuer of any cluster could be made as well: such
# a certificate gains nothing. Our own verifier refuses it, Envoy has no means to.
NOTHING_GAINED = {"by the anchor itself", "unconstrained issuer"}

# Envoy's verifier has nothing against these; they are told from proper ones by their text.
IMPROPER = (
    "a leaf that is an authority",
    "a leaf that is an authority, uncritically",
    "for clients only",
    "for nothing in particular",
)


async def test_without_a_certificate_nobody_comes_in(both: Crossing) -> None:
    before = await both.west.count("listener.gateway.ssl.fail_verify_no_cert")
    async with nobody_came():
        assert await told(None) == ""
    assert await both.west.count("listener.gateway.ssl.fail_verify_no_cert") == before + 1


async def test_without_a_certificate_nobody_opens_a_tunnel(both: Crossing) -> None:
    before = await both.west.count("listener.gateway.ssl.fail_verify_no_cert")
    async with nobody_came():
        assert await greeting(None, server_name(ECHO)) == ""
    assert await both.west.count("listener.gateway.ssl.fail_verify_no_cert") == before + 1


async def test_older_tls_is_not_spoken() -> None:
    async with nobody_came():
        assert await told(KNOWN, maximum_version=ssl.TLSVersion.TLSv1_2) == ""


async def test_plain_text_is_not_answered() -> None:
    async with nobody_came():
        reader, writer = await asyncio.open_connection(crossing.GATEWAY, 4143)
        assert await crossing.Line(reader, writer).ask(requesting(WEB)) == ""
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("name", sorted(pki.HOSTILE.keys() - NOTHING_GAINED))
async def test_a_certificate_that_is_not_right_is_refused(name: str) -> None:
    async with nobody_came():
        assert (await told(pki.hostile(name))) in ("", "HTTP/1.1 403 Forbidden")


async def test_what_is_refused_in_the_handshake_does_not_come_to_speak() -> None:
    in_time = {name for name, one in pki.HOSTILE.items() if "envoy" in one.handshake}
    found = {name for name in in_time if await told(pki.hostile(name)) == ""}
    assert found == in_time


@pytest.mark.parametrize("name", IMPROPER)
async def test_a_certificate_that_no_controller_makes_is_refused_and_counted(
    both: Crossing, name: str
) -> None:
    """Whoever would be let in, if their certificate said the same properly."""
    counts = [await both.west.count(one) for one in (DENIED, CLOSED_DOOR)]
    async with nobody_came():
        for to in ("web", "open"):
            assert await told(pki.hostile(name), authority(to)) == "HTTP/1.1 403 Forbidden"
        for to in ("echo", "open-echo"):
            assert await greeting(pki.hostile(name), server_name(authority(to))) == ""
    denied, closed = [await both.west.count(one) for one in (DENIED, CLOSED_DOOR)]
    assert denied == counts[0] + 2
    assert closed > counts[1]


async def test_all_of_these_are_refused_for_what_is_wrong_with_them() -> None:
    """What they all differ from is let in, and so is what a controller gives to a pod."""
    for shown in (pki.Leaf().shown(pki.issuer()), pki.credentials(crossing.CURL_ID, "curl-1")):
        async with pod(crossing.show, 7002):
            assert await told(shown) == "HTTP/1.1 200 OK"
        async with pod(crossing.echo, 7001):
            assert await greeting(shown, server_name(ECHO)) == "welcome\n"


async def test_a_whole_namespace_is_let_in_one_name_at_a_time() -> None:
    """Two names of that namespace in one certificate are nobody's name."""
    namespace = authority("open")
    async with pod(crossing.show, 7002):
        for account in ("curl", "other"):
            shown = pki.credentials(pki.identity("east", account))
            assert await told(shown, namespace) == "HTTP/1.1 200 OK"
    elsewhere = pki.credentials(pki.identity("east", "curl", "elsewhere"))
    async with nobody_came():
        assert await told(elsewhere, namespace) == "HTTP/1.1 403 Forbidden"
        assert await told(pki.hostile("two URIs"), namespace) == "HTTP/1.1 403 Forbidden"


@pytest.mark.parametrize("name", sorted(pki.HOSTILE.keys() - NOTHING_GAINED))
async def test_a_certificate_that_is_not_right_opens_no_tunnel(name: str) -> None:
    async with nobody_came():
        assert await greeting(pki.hostile(name), server_name(ECHO)) == ""


async def test_a_tunnel_is_for_a_whole_namespace_one_name_at_a_time() -> None:
    namespace = server_name(authority("open-echo"))
    async with pod(crossing.echo, 7001):
        for account in ("curl", "other"):
            shown = pki.credentials(pki.identity("east", account))
            assert await greeting(shown, namespace) == "welcome\n"
    async with nobody_came():
        elsewhere = pki.credentials(pki.identity("east", "curl", "elsewhere"))
        assert await greeting(elsewhere, namespace) == ""
        assert await greeting(pki.hostile("two URIs"), namespace) == ""
