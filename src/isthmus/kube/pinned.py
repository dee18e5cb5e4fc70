"""Asks a server who it is before believing what it lists.

An address can come to mean another cluster: a restored one, a rebuilt one, a wrong entry in a
load balancer. Everything it says would be well-formed, and acting on it would be a disaster. The
UID of a cluster's kube-system namespace is its identity, so it is asked for, with the same
credential and over the same connections, when each read has begun to be answered and before a
word of it is believed. Asked before, it could be told by a cluster that is gone by then.

What was read of one cluster says nothing about another, even one that may take its place: a watch
would go on from a version that means something else there. So a transport serves the first cluster
that it was let read, and for another one somebody has to begin anew.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from isthmus.kube import requests
from isthmus.kube.codec import decoded
from isthmus.kube.errors import Garbled
from isthmus.kube.failures import failure
from isthmus.kube.resources import NAMESPACES
from isthmus.kube.transport import Request, Response, Transport
from isthmus.model.errors import Transient
from isthmus.model.objects import Key

KUBE_SYSTEM = Key("", "kube-system")
LARGEST = 64 * 1024  # bytes of a namespace


class IdentityChanged(Transient):
    """Another cluster answers than the one that was pinned. Nothing it says is used."""


class Pinned:
    """A transport that lets ``check`` refuse the cluster it reaches, by raising an error.

    If ``check`` lets another cluster pass than the first, ``moved`` is called, once.
    """

    def __init__(
        self, inner: Transport, check: Callable[[str], None], moved: Callable[[], None]
    ) -> None:
        self._inner = inner
        self._check = check
        self._moved = moved
        self._uid = ""  # of the cluster that was let pass
        self._has_moved = False

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        async with self._inner.send(request) as response:
            if _needs_identity(request):
                self._meet(await self._identity(request.headers))
            yield response

    async def close(self) -> None:
        await self._inner.close()

    def _meet(self, uid: str) -> None:
        self._check(uid)
        if self._uid in ("", uid):
            self._uid = uid
            return
        if not self._has_moved:
            self._has_moved = True
            self._moved()
        raise IdentityChanged(f"{self._uid} was read, and {uid} answers: all is to be read anew")

    async def _identity(self, headers: Mapping[str, str]) -> str:
        call = requests.get(NAMESPACES, KUBE_SYSTEM)
        request = Request(method="GET", path=call.request.path, headers=headers)
        body = b""
        async with self._inner.send(request) as response:
            async for chunk in response.chunks():
                body += chunk
                if len(body) > LARGEST:
                    raise Garbled(f"{call}: the answer is larger than {LARGEST} bytes")
        if response.status != 200:
            # The server's own words are left out: it may quote the credential it was shown.
            raise failure(response.status, response.headers, b"", call)
        found = decoded(NAMESPACES, body, call).metadata
        if found.key != KUBE_SYSTEM or not found.uid:
            raise Garbled(f"{call}: the answer is another namespace, or has no UID")
        return found.uid


def _needs_identity(request: Request) -> bool:
    """Tell reads that must ask: not the identity itself, nor the later pages of a list."""
    if request.method != "GET" or request.path.endswith(f"/{NAMESPACES.plural}/kube-system"):
        return False
    return all(name != "continue" for name, _ in request.query)
