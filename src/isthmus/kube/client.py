"""A typed client of one API server, as one user: every wait has an end, every answer a limit."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from copy import copy
from random import Random
from typing import TypeVar

from isthmus.kube import codec, requests
from isthmus.kube.codec import Page
from isthmus.kube.credentials import Anonymous, Credentials
from isthmus.kube.errors import Expired, Garbled
from isthmus.kube.exchange import Exchange, Limits
from isthmus.kube.requests import EVERYTHING, Call, Preconditions, Selection
from isthmus.kube.resources import Resource
from isthmus.kube.transport import Transport
from isthmus.model.objects import Key
from isthmus.model.reviews import TokenRequest
from isthmus.model.wire import JsonObject
from isthmus.runtime.clock import Clock, SystemClock

T = TypeVar("T")

MANAGER = "isthmus"  # the field manager of all our writes


class Client:
    """Reads and writes objects. Raises :mod:`isthmus.kube.errors` and nothing else."""

    def __init__(
        self,
        transport: Transport,
        credentials: Credentials | None = None,
        limits: Limits | None = None,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.exchange = Exchange(
            transport,
            credentials or Anonymous(),
            self.limits,
            clock or SystemClock(),
            random or Random(),
        )

    def apart(self) -> "Client":
        """Return a client that waits for no slot that others hold, and for no pause of theirs.

        A lease that is renewed behind slow writes is lost, and with it all that they would do.
        """
        other = copy(self)
        other.exchange = self.exchange.apart()
        return other

    @property
    def clock_skew(self) -> float | None:
        """Seconds by which the server's clock was ahead of ours in its last answer."""
        return self.exchange.clock_skew

    async def close(self) -> None:
        await self.exchange.close()

    async def get(self, resource: Resource[T], key: Key) -> T:
        return await self._object(requests.get(resource, key))

    async def list(self, resource: Resource[T], selection: Selection = EVERYTHING) -> Page[T]:
        """Return everything, as it was at one moment.

        A token that expires half way leaves pages of different moments, which are worth nothing
        together: all are read again, and in the end without pages.
        """
        for _ in range(3):
            try:
                return codec.joined([page async for page in self.pages(resource, selection)])
            except Expired:
                continue
        everything = self.pages(resource, selection, limit=0)
        return codec.joined([page async for page in everything])

    async def pages(
        self, resource: Resource[T], selection: Selection = EVERYTHING, limit: int | None = None
    ) -> AsyncIterator[Page[T]]:
        """Yield the pages of one list, all of one moment; an empty one is not the end."""
        limit = self.limits.page if limit is None else limit
        token, version = "", ""
        left = self.limits.list_bytes
        for _ in range(self.limits.pages):
            call = requests.list_page(resource, selection, limit=limit, token=token)
            cap = min(self.limits.page_bytes, left) if limit else left
            body = await self.exchange.fetch(call, cap)
            left -= len(body)
            page = codec.decoded_page(resource, body, call)
            if version not in ("", page.resource_version):
                raise Garbled(f"{call}: the pages of the list are of different moments")
            yield page
            token, version = page.token, page.resource_version
            if not token:
                return
        raise Garbled(f"list {resource.plural}: no end after {self.limits.pages} pages")

    async def create(self, resource: Resource[T], obj: T) -> T:
        return await self._object(requests.create(resource, obj, manager=MANAGER))

    async def replace(self, resource: Resource[T], obj: T, subresource: str = "") -> T:
        """Write the whole object, if its resource version is still the current one."""
        call = requests.replace(resource, obj, manager=MANAGER, subresource=subresource)
        return await self._object(call)

    async def apply(
        self, resource: Resource[T], obj: T, *, force: bool = False, subresource: str = ""
    ) -> T:
        """Server-side apply; raises ``Conflict`` where others own a field, unless forced."""
        call = requests.apply(resource, obj, manager=MANAGER, force=force, subresource=subresource)
        return await self._object(call)

    async def rehearse(self, resource: Resource[T], obj: T, *, force: bool = False) -> T:
        """Return what ``apply`` would make of the object; nothing is stored."""
        call = requests.apply(resource, obj, manager=MANAGER, force=force)
        return await self._object(requests.rehearsed(call))

    async def merge_patch(
        self, resource: Resource[T], key: Key, patch: JsonObject, subresource: str = ""
    ) -> T:
        call = requests.merge_patch(resource, key, patch, manager=MANAGER, subresource=subresource)
        return await self._object(call)

    async def delete(
        self,
        resource: Resource[T],
        key: Key,
        preconditions: Preconditions | None = None,
        propagation: str = "Background",
        grace: int | None = None,
    ) -> None:
        """Delete the object, if it is still the one that ``preconditions`` describe.

        ``grace`` is the seconds that a pod is given; its own wish, unless they are said.
        """
        call = requests.delete(resource, key, preconditions, propagation, grace)
        await self.exchange.fetch(call, self.limits.object_bytes)

    async def review(self, resource: Resource[T], obj: T, namespace: str = "") -> T:
        """Ask a question that is an object, and return it with its answer."""
        return await self._object(requests.review(resource, obj, namespace))

    async def request_token(self, account: Key, wanted: TokenRequest) -> TokenRequest:
        return await self._object(requests.request_token(account, wanted))

    def watch(self, call: Call[T]) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch (see :mod:`isthmus.kube.requests`) and hand out its bytes as they come."""
        return self.exchange.stream(call)

    async def _object(self, call: Call[T]) -> T:
        body = await self.exchange.fetch(call, self.limits.object_bytes)
        return codec.decoded(call.resource, body, call)
