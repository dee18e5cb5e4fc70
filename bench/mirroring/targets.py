"""Many targets on one machine: embedded clusters in a process of their own.

Fifty API servers would leave no room for what is measured. ``python -m bench.mirroring.targets
CLUSTERS SERVICES`` serves so many clusters with so many exports each, says how to reach them, and
ends with its input.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import msgspec

from bench import peers
from bench.mirroring.clusters import Linked
from bench.population import NAMESPACES, endpoint_slice, namespace, service
from bench.trial import Failed
from isthmus.embedded import seed
from isthmus.embedded.cluster import Cluster
from isthmus.embedded.fronts.server import serve


def furnished(name: str, services: int) -> Cluster:
    """Return a cluster that exports so many Services, each with a slice."""
    made = Cluster(name, domain=f"{name}.cluster.local")
    for number in range(NAMESPACES):
        body = {"metadata": {"name": namespace(number)}}
        seed.place(made.plane, "v1", "Namespace", body)
    for number in range(services):
        body = service(number, headless=False)
        address = f"10.96.{1 + number // 250}.{1 + number % 250}"
        spec = {**body["spec"], "type": "ClusterIP", "clusterIP": address, "clusterIPs": [address]}
        seed.place(made.plane, "v1", "Service", {**body, "spec": spec})
        written = endpoint_slice(number, f"{number:08x}-0000-4000-8000-000000000000")
        seed.place(made.plane, "discovery.k8s.io/v1", "EndpointSlice", written)
    return made


@contextmanager
def targets(clusters: int, services: int) -> Iterator[tuple[Linked, ...]]:
    """Run so many; end them when the context ends."""
    command = [sys.executable, "-m", "bench.mirroring.targets", str(clusters), str(services)]
    process = subprocess.Popen(
        command, cwd=peers.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        if not said:
            raise Failed("the targets have ended before they began")
        yield tuple(msgspec.json.decode(said, type=list[Linked]))
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


async def _serve(clusters: int, services: int) -> None:
    async with AsyncExitStack() as stack:
        found = []
        for number in range(clusters):
            name = f"west-{number:02}"
            served = await stack.enter_async_context(serve(furnished(name, services)))
            found.append(
                Linked(
                    name=name,
                    url=served.url,
                    domain=f"{name}.cluster.local",
                    kubeconfig=served.kubeconfig(),
                )
            )
        print(msgspec.json.encode(found).decode(), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    clusters, services = map(int, sys.argv[1:])
    asyncio.run(_serve(clusters, services))


if __name__ == "__main__":
    main()
