"""A cluster with pods that want certificates, and the part of a controller that gives them out."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from isthmus.apps.controller.certifying.authority import Authority
from isthmus.apps.controller.certifying.signing import Signing
from isthmus.apps.controller.certifying.tokens import Tokens
from isthmus.apps.signed import Signed
from isthmus.kube.resources import untyped
from isthmus.kube.transport import Request, Response, Transport
from isthmus.model.names import audience
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from isthmus.pki.keys import csr, new_key
from isthmus.runtime.clock import Clock
from tests.apps.clusters import Place, VirtualClock

ACCOUNTS = untyped("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
PODS = untyped("v1", "Pod", "pods", namespaced=True)
CSR = csr(new_key())


@dataclass
class Bytes:
    """A body that is there already, or (in pieces) comes bit by bit."""

    pieces: list[bytes] = field(repr=False)

    async def read(self, n: int = -1) -> bytes:
        if not self.pieces:
            return b""
        first = self.pieces.pop(0)
        taken = first if n < 0 else first[:n]
        if len(taken) < len(first):
            self.pieces.insert(0, first[len(taken) :])
        return taken


@dataclass
class Slow:
    """A way to an API server that takes its time."""

    inner: Transport
    seconds: float

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        await asyncio.sleep(self.seconds)
        async with self.inner.send(request) as response:
            yield response

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Answered:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body


@dataclass
class Careless:
    """An API server that takes a token for anybody's, and says nothing of audiences."""

    username: str
    audiences: Sequence[str] = ()

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[Response]:
        asked = json.loads(request.body)
        extra = {f"authentication.kubernetes.io/pod-{part}": ["one"] for part in ("name", "uid")}
        user = {"username": self.username, "extra": extra}
        status = {"authenticated": True, "user": user, "audiences": list(self.audiences)}
        yield Answered(201, json.dumps({**asked, "status": status}).encode())

    async def close(self) -> None: ...


async def populate(place: Place, *accounts: str, namespace: str = "default") -> None:
    """Create service accounts, each with a pod of its name."""
    for name in accounts:
        here = {"name": name, "namespace": namespace}
        await place.create(ACCOUNTS, {"metadata": here})
        await place.create(PODS, pod(name, namespace))


def pod(name: str, namespace: str = "default") -> JsonObject:
    container = {"name": "app", "image": "example.org/app"}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"serviceAccountName": name, "containers": [container]},
    }


def token(
    place: Place, account: str, *, namespace: str = "default", bound: bool = True, meant: str = ""
) -> str:
    """Return a token as the kubelet would mount it."""
    spec: JsonObject = {"audiences": [meant or audience(place.name)]}
    if bound:
        spec["boundObjectRef"] = {"kind": "Pod", "apiVersion": "v1", "name": account}
    made = place.cluster.access.tokens.request(namespace, account, {"spec": spec})
    return str(made["status"]["token"])


@dataclass
class Office:
    """The signing part of a controller, and a way to ask it."""

    place: Place
    signing: Signing

    @classmethod
    def of(cls, place: Place, authority: Authority, clock: Clock | None = None) -> "Office":
        clock = clock or VirtualClock()
        tokens = Tokens(place.client, authority.identity, clock)
        return cls(place, Signing(authority, tokens, clock))

    async def ask(self, bearer: str, body: bytes = CSR, origin: str = "10.1.0.1") -> Signed:
        return await self.signing.sign(origin, [f"Bearer {bearer}"], Bytes([body]))

    async def delete_pod(self, name: str) -> None:
        await self.place.client.delete(PODS, Key("default", name), grace=0)
