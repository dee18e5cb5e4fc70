"""Coming to the gateway of a crossing without an egress, and being told something or nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support import pki
from tests.xds import crossing
from tests.xds.crossing import authority, knock, pod, tunnel

REQUEST = "GET / HTTP/1.1\nhost: shop.example"
KNOWN = pki.credentials(crossing.CURL_ID)
ECHO, WEB = authority("echo"), authority("web")

# What counts those whom no Grant names: requests, and connections.
DENIED = "http.gateway.rbac.denied"
CLOSED_DOOR = "listener.doors.no_filter_chain_match"


@asynccontextmanager
async def nobody_came() -> AsyncIterator[None]:
    """Run the pods, and see that they were left alone."""
    async with pod(crossing.echo, 7001) as one, pod(crossing.show, 7002) as other:
        yield
        assert (one.connections, other.connections) == (0, 0)


def requesting(destination: str, request: str = REQUEST) -> str:
    return f"{request}\nisthmus-destination: {destination}"


async def greeting(shown: pki.Credentials | None, asked: str) -> str:
    """Return the first line that is heard through a tunnel; nothing, if it is closed before."""
    try:
        async with tunnel(shown, asked) as line:
            return await line.hear()
    except OSError:
        return ""


async def told(shown: pki.Credentials | None, to: str = WEB, **options: object) -> str:
    """Return the first line that the gateway answers; nothing, where it hangs up instead."""
    try:
        async with knock(shown, **options) as line:
            return (await line.ask(requesting(to))).partition("\r\n")[0]
    except OSError:
        return ""
