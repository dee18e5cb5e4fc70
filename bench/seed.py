"""Fills a cluster, and gives it a history to replay."""

from bench.population import NAMESPACES, endpoint_slice, namespace, service
from bench.progress import Progress
from bench.requests import send, session, spread
from bench.target import Target


async def fill(target: Target) -> None:
    """Create the namespaces, ``target.objects`` Services and a slice for each."""
    async with session(target) as opened:
        for number in range(NAMESPACES):
            name = {"metadata": {"name": namespace(number)}}
            await send(opened, "POST", "/api/v1/namespaces", name)
        progress = Progress("Services and slices", target.objects)

        async def create(number: int) -> None:
            inside = f"namespaces/{namespace(number)}"
            made = await send(opened, "POST", f"/api/v1/{inside}/services", service(number))
            written = endpoint_slice(number, made["metadata"]["uid"])
            await send(
                opened, "POST", f"/apis/discovery.k8s.io/v1/{inside}/endpointslices", written
            )
            progress.step()

        await spread(range(target.objects), create)


async def update(target: Target) -> str:
    """Change Services ``target.events`` times; return the version before the first change."""
    async with session(target) as opened:
        before = await send(opened, "GET", "/api/v1/services?limit=1")
        progress = Progress("updates", target.events)

        async def change(number: int) -> None:
            changed = number % target.objects
            name = service(changed)["metadata"]["name"]
            patch = {"metadata": {"annotations": {"example.com/revision": str(number)}}}
            path = f"/api/v1/namespaces/{namespace(changed)}/services/{name}"
            await send(opened, "PATCH", path, patch)
            progress.step()

        await spread(range(target.events), change)
    return str(before["metadata"]["resourceVersion"])
