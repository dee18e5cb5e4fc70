"""Reads a page that a pod serves, through the API server: the way to a pod that users have.

Neither a route to the pod nor an open port is needed, but the right to ``get`` ``pods/proxy``.
"""

import asyncio
from dataclasses import replace

from isthmus.kube import resources
from isthmus.kube.client import Client
from isthmus.kube.errors import Forbidden, Rejected, Unavailable, Unreachable
from isthmus.kube.exchange import MIB
from isthmus.kube.requests import Call
from isthmus.kube.transport import Request
from isthmus.model.objects import Key, Pod

PATIENCE = 10.0  # seconds; a page of numbers takes a fraction of one
LARGEST = 64 * MIB  # of a page; an Envoy with thousands of ports has that much to tell

PODS_PROXY = replace(resources.PODS, plural="pods/proxy")  # as messages and counters name it

# What the API server says when the pod, and not itself, is the trouble.
_NO_ADDRESS = "address not allowed"
_NO_ANSWER = "error trying to reach service"
_KEPT_OUT = "does the pod run? Does every NetworkPolicy let the API server in?"


async def page(client: Client, pod: Key, port: int, path: str) -> str:
    """Return what ``pod`` answers to a GET of ``path``.

    Raises ``Unreachable`` where the pod has no address or does not answer, ``NotFound`` without
    such a pod or page, and ``Forbidden`` with the right that is missing.
    """
    call = request(pod, port, path)
    try:
        async with asyncio.timeout(PATIENCE):
            body = await client.exchange.fetch(call, LARGEST)
    except TimeoutError as error:
        raise Unreachable(f"{call}: not answered within {PATIENCE:g} s") from error
    except Forbidden as error:
        hint = f"it takes the verb get on pods/proxy in namespace {pod.namespace}"
        raise Forbidden(f"{error}; {hint}") from error
    except Rejected as error:
        if _NO_ADDRESS in str(error):
            raise Unreachable(f"{call}: the pod has no address yet") from error
        raise
    except Unavailable as error:
        if _NO_ANSWER in str(error):
            raise Unreachable(f"{error}; {_KEPT_OUT}") from error
        raise
    return body.decode("utf-8", "replace")


def request(pod: Key, port: int, path: str) -> Call[Pod]:
    """Return the request for a page; ``path`` is that at the pod, with or without a slash."""
    inner = path.removeprefix("/")
    asked = Request(
        method="GET",
        path=f"{resources.PODS.path(pod)}:{port}/proxy/{inner}",
        headers={"Accept": "text/plain, */*;q=0.5"},
    )
    return Call(verb="get", resource=PODS_PROXY, where=f"{pod}:{port}/{inner}", request=asked)
