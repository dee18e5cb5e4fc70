"""Passes requests on to pods: the subresource ``proxy``, for pages that are read.

The real server takes every method and streams. Here it is GET only, and a page is read to its
end before it is passed on. Pods of an embedded cluster run on this machine or nowhere, so that
no request ever leaves it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_address
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from isthmus.embedded.api.answers import Answer
from isthmus.embedded.api.calls import Call
from isthmus.embedded.kinds.refusals import bad_request, not_found
from isthmus.embedded.state.plane import Plane
from isthmus.embedded.status import Refusal
from isthmus.model.wire import JsonObject

LARGEST = 64 * 1024 * 1024  # bytes of a page
PATIENCE = 30.0  # seconds, until all of it is there
_PASSED_ON = ("accept", "user-agent")  # never the caller's credential
_PASSED_BACK = ("content-type", "location")
_MACHINE = IPv4Network("127.0.0.0/8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A page of a pod."""

    address: str
    port: int
    path: str  # percent-encoded, with its query
    headers: Mapping[str, str]


def destination(plane: Plane, call: Call, pods: IPv4Network) -> Destination:
    """Return where ``call`` leads; ``pods`` has the addresses of this cluster's own."""
    name, port = _named(call.route.name)
    pod = plane.find("", "pods", call.route.namespace, name)
    if pod is None:
        raise not_found(call.kind, name)
    address = pod.get("status", {}).get("podIP", "")
    if not _is_within(address, pods):
        raise bad_request("address not allowed")
    query = urlencode(call.query)
    return Destination(
        address=address,
        port=port or _first_port(pod),
        path=f"/{call.route.beneath}" + (f"?{query}" if query else ""),
        headers={key: call.headers[key] for key in _PASSED_ON if key in call.headers},
    )


def _named(text: str) -> tuple[str, int]:
    """Split ``name:port``; the real server also takes a scheme before it, and names of ports."""
    name, _, port = text.removeprefix("http:").partition(":")
    if not name or not (port or "1").isascii() or not (port or "1").isdigit() or len(port) > 5:
        raise bad_request(f'invalid pod request "{text}"')
    return name, int(port or "0")


def _is_within(address: str, pods: IPv4Network) -> bool:
    try:
        return ip_address(address) in pods
    except ValueError:
        return False


def _first_port(pod: JsonObject) -> int:
    declared = (
        port["containerPort"]
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or ()
    )
    return next(declared, 80)


async def fetched(wanted: Destination) -> Answer:
    """Ask the pod; whatever it answers is passed back, and if it does not, that is said."""
    if IPv4Address(wanted.address) not in _MACHINE:
        raise _unreached("no machine runs this cluster's pods")
    url = URL(f"http://{wanted.address}:{wanted.port}{wanted.path}", encoded=True)
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE)) as session,
            session.get(url, headers=wanted.headers, allow_redirects=False) as answer,
        ):
            body = b""
            async for chunk in answer.content.iter_any():
                body += chunk
                if len(body) > LARGEST:
                    raise _unreached(f"the answer is larger than {LARGEST} bytes")
            headers = {key: answer.headers[key] for key in _PASSED_BACK if key in answer.headers}
            return Answer(status=answer.status, headers=headers, body=body)
    except TimeoutError:
        raise _unreached(f"not answered within {PATIENCE:g} s") from None
    except aiohttp.ClientConnectorError as error:
        where = f"{wanted.address}:{wanted.port}"
        why = os.strerror(error.errno or 0).lower()
        raise _unreached(f"dial tcp {where}: connect: {why}") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise _unreached(str(error) or type(error).__name__) from None


def _unreached(why: str) -> Refusal:
    message = f"error trying to reach service: {why}"
    return Refusal(503, "ServiceUnavailable", message)
