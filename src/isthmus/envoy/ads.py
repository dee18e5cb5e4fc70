"""The server that tells proxies what to carry: incremental xDS over mutually proven TLS.

A proxy is told what belongs to the role that its certificate entitles it to, from the moment on at
which something was published for that role, and never before.
"""

from __future__ import annotations  # gRPC's are loaded when they are needed, and not before

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from isthmus.model.addresses import bracketed
from isthmus.model.errors import Transient
from isthmus.model.identities import Identity
from isthmus.pki.verify import Untrusted, identify, pod_of, read_leaf
from isthmus.runtime.latest import Latest
from isthmus.runtime.lazily import lazily
from isthmus.xds.session import ORDER, Said, Session, TooManyNames
from isthmus.xds.snapshot import Snapshot

# Whoever starts a program of another process forks for a moment; there gRPC would wake its threads
# up, whose files are closed by then, and end that process before the program begins.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

if TYPE_CHECKING:
    import grpc
    from envoy.service.discovery.v3 import ads_pb2, discovery_pb2

    from isthmus.envoy import translation
else:
    grpc, ads_pb2, discovery_pb2, translation = map(
        lazily,
        (
            "grpc",
            "envoy.service.discovery.v3.ads_pb2",
            "envoy.service.discovery.v3.discovery_pb2",
            "isthmus.envoy.translation",
        ),
    )

log = logging.getLogger(__name__)

MIB = 1024 * 1024
STREAMS = 256  # of all proxies together
LONGEST_NAME = 253  # of a proxy, as it calls itself
OPTIONS = (
    ("grpc.max_receive_message_length", 16 * MIB),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 16 * 1024),
    ("grpc.max_concurrent_streams", 8),  # of one connection
    ("grpc.max_allowed_incoming_connections", 1024),  # proven or not
    ("grpc.server_handshake_timeout_ms", 10_000),
    # A proxy that comes again shows the certificate that it has by now, and finds other replicas.
    ("grpc.max_connection_age_ms", 600_000),
    ("grpc.max_connection_age_grace_ms", 5_000),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.so_reuseport", 0),  # two servers on one port would hide a mistake
)


class Papers(NamedTuple):
    """What the server shows and believes, in PEM: chain, key, anchors."""

    chain: bytes
    key: bytes
    anchors: bytes

    def __repr__(self) -> str:
        return "Papers(<hidden>)"


class CannotListen(Transient):
    """The port is taken, or not ours to use."""


@dataclass(slots=True, eq=False)
class Connected:
    """One proxy, for as long as its stream lives."""

    identity: Identity
    role: str
    name: str = ""  # of its pod, when it has said something
    address: str = ""  # where it listens, if it says so
    session: Session = field(default_factory=Session)
    heard: float = 0.0  # when it has said something last, by the clock of the event loop
    since: float = 0.0  # when it came, by the same clock
    pod: str = ""  # as its certificate has it, which counts more than what it calls itself


class AdsServer:
    """``papers`` is asked at every handshake; ``entitled`` says which role an identity has."""

    def __init__(
        self,
        mesh_domain: str,
        papers: Callable[[], Papers],
        entitled: Callable[[Identity], str | None],
    ) -> None:
        self.connected: set[Connected] = set()
        self.sent: Counter[str] = Counter()  # resources and removals, by type
        self.acknowledged: Counter[str] = Counter()  # responses, by type
        self.refused: Counter[str] = Counter()  # responses, by type
        self.turned_away: Counter[str] = Counter()  # streams, by reason
        self._mesh_domain = mesh_domain
        self._papers = papers
        self._entitled = entitled
        self._wanted: dict[str, Latest[Snapshot]] = {}
        self._told: list[Callable[[], None]] = []
        self._talks: set[asyncio.Task[object]] = set()

    def tell(self, told: Callable[[], None]) -> None:
        """Have ``told`` called whenever a proxy comes, goes, or answers."""
        self._told.append(told)

    def publish(self, role: str, snapshot: Snapshot) -> None:
        """Let all proxies of ``role`` have this from now on."""
        self._of(role).publish(snapshot)

    @asynccontextmanager
    async def listening(self, address: str, port: int) -> AsyncIterator[int]:
        """Serve; hand out the port, which the system chooses if 0 was asked for."""
        server = grpc.aio.server(options=OPTIONS, maximum_concurrent_rpcs=STREAMS)
        server.add_generic_rpc_handlers((_service(self.converse),))
        try:
            bound = server.add_secure_port(f"{bracketed(address)}:{port}", self._credentials())
        except RuntimeError:
            bound = 0
        if not bound:
            raise CannotListen(f"{address}:{port}: cannot listen there; is the port taken?")
        await server.start()
        try:
            yield bound
        finally:
            await server.stop(grace=None)
            while self._talks:  # gRPC has cancelled them, and does not wait for them
                await asyncio.wait(self._talks)

    async def converse(self, context: grpc.aio.ServicerContext) -> None:
        """Talk to one proxy until its stream ends."""
        talk = asyncio.current_task()
        assert talk is not None
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)
        connected = await self._admitted(context)
        self.connected.add(connected)
        self._changed()
        try:
            await self._converse(context, connected)
        finally:
            self.connected.discard(connected)
            self._changed()

    async def _admitted(self, context: grpc.aio.ServicerContext) -> Connected:
        identity, pod = self._peer(context)
        role = self._entitled(identity) if identity is not None else None
        if identity is not None and role is not None:
            return Connected(identity, role, since=asyncio.get_running_loop().time(), pod=pod)
        self.turned_away["not a proxy of ours"] += 1
        log.warning("not a proxy of ours", extra={"identity": str(identity)})
        text = f"{identity} is not a proxy of this cluster"
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, text)
        raise AssertionError("abort raises")

    async def _converse(self, context: grpc.aio.ServicerContext, connected: Connected) -> None:
        # As long as answers are waited for, no more can be due. A proxy that guesses them, and
        # reads nothing, finds that it is not listened to, until its connection is too old.
        outbox: asyncio.Queue[Said] = asyncio.Queue(maxsize=len(ORDER))

        async def publish() -> None:
            async for snapshot in self._of(connected.role).follow():
                for said in connected.session.publish(snapshot):
                    await outbox.put(said)

        async def write() -> None:
            while True:
                said = await outbox.get()
                self.sent[said.type_url] += len(said.entries) + len(said.removed)
                await context.write(translation.response(said, connected.address))

        too_much: list[TooManyNames] = []
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(part()) for part in (publish, write)]
                while (request := await context.read()) is not grpc.aio.EOF:
                    for said in self._received(connected, request):
                        await outbox.put(said)
                for task in tasks:
                    task.cancel()
        except* grpc.aio.InternalError as errors:
            # The proxy went away while something was being said to it.
            log.debug("stream broken", extra={"proxy": connected.name, "error": str(errors)})
        except* TooManyNames as errors:
            too_much.extend(errors.exceptions)  # type: ignore[arg-type]  # there is one level
        for error in too_much:
            self.turned_away["names too much"] += 1
            log.warning("proxy turned away", extra={"proxy": connected.name, "error": str(error)})
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))

    def _received(
        self, connected: Connected, request: discovery_pb2.DeltaDiscoveryRequest
    ) -> list[Said]:
        if request.node.id and not connected.name:
            connected.name = connected.pod or request.node.id[:LONGEST_NAME]
            connected.address = translation.address_of(request.node)
        connected.heard = asyncio.get_running_loop().time()
        found = translation.asked(request)
        if found.error is not None:
            self.refused[found.type_url] += 1
            extra = {"proxy": connected.name, "type": found.type_url, "error": found.error}
            log.error("a proxy refuses what it was told", extra=extra)
        elif found.nonce:
            self.acknowledged[found.type_url] += 1
        said = connected.session.receive(found)
        self._changed()
        return said

    def _changed(self) -> None:
        for told in self._told:
            told()

    def _of(self, role: str) -> Latest[Snapshot]:
        return self._wanted.setdefault(role, Latest())

    def _peer(self, context: grpc.aio.ServicerContext) -> tuple[Identity | None, str]:
        """Return whom the verified certificate of the other side names, and of which pod it is."""
        shown = b"".join(context.auth_context().get("x509_pem_cert", ()))
        try:
            leaf = read_leaf(shown)
            return identify(leaf, self._mesh_domain), pod_of(leaf)
        except Untrusted:
            return None, ""

    def _credentials(self) -> grpc.ServerCredentials:
        shown = self._papers()

        def fresh() -> grpc.ServerCertificateConfiguration | None:
            """Called by a thread of gRPC at every handshake; None stands for no change."""
            nonlocal shown
            now = self._papers()
            if now == shown:
                return None
            shown = now
            return _configuration(now)

        return grpc.dynamic_ssl_server_credentials(
            _configuration(shown), fresh, require_client_authentication=True
        )


def _service(
    converse: Callable[[grpc.aio.ServicerContext], Awaitable[None]],
) -> grpc.GenericRpcHandler:
    """Offer the incremental kind of stream; gRPC refuses the other one as not implemented."""

    async def talk(_requests: object, context: grpc.aio.ServicerContext) -> None:
        await converse(context)

    handler = grpc.stream_stream_rpc_method_handler(
        talk,
        request_deserializer=discovery_pb2.DeltaDiscoveryRequest.FromString,
        response_serializer=discovery_pb2.DeltaDiscoveryResponse.SerializeToString,
    )
    name = ads_pb2.DESCRIPTOR.services_by_name["AggregatedDiscoveryService"].full_name
    return grpc.method_handlers_generic_handler(name, {"DeltaAggregatedResources": handler})


def _configuration(papers: Papers) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(papers.key, papers.chain)], root_certificates=papers.anchors
    )
