"""The story that every user of service mirroring knows, told to two embedded clusters."""

from isthmus.model.wire import JsonObject
from tests.apps.clusters import (
    SERVICES,
    SLICES,
    Place,
    controlling,
    endpoints,
    exported,
    join,
    place,
    settled,
    source,
)
from tests.support.waiting import until

EXPORTED = "mirror.linkerd.io/exported"


def pods(count: int) -> list[str]:
    return [f"nginx-set-{number}" for number in range(count)]


def mirrored(count: int) -> list[str]:
    return ["nginx-svc-west", *(f"{pod}-west" for pod in pods(count))]


async def scale(west: Place, count: int) -> None:
    slices = endpoints("nginx-svc", *pods(count))
    await west.edit(SLICES, "nginx-svc-abcde", {"endpoints": slices["endpoints"]})


async def label(west: Place, value: str | None) -> None:
    await west.edit(SERVICES, "nginx-svc", {"metadata": {"labels": {EXPORTED: value}}})


async def named_addresses(east: Place) -> dict[str, str]:
    """Hostname to address, of the headless mirror."""
    found = await east.all(SLICES, labels="kubernetes.io/service-name=nginx-svc-west")
    return {
        one["hostname"]: one["addresses"][0] for each in found for one in each["endpoints"] or ()
    }


async def addresses(east: Place, *names: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        service = await east.get(SERVICES, f"{name}-west")
        assert service is not None
        found[name] = service["spec"]["clusterIP"]
    return found


async def with_nginx(west: Place) -> None:
    service: JsonObject = exported("nginx-svc", headless=True)
    del service["metadata"]["labels"][EXPORTED]
    await west.create(SERVICES, service)
    await west.create(SLICES, endpoints("nginx-svc", *pods(3)))


async def mirrors_are(east: Place, count: int) -> dict[str, str]:
    """Wait for the mirrors of so many pods, each under its own name; return their addresses."""
    await settled(east, mirrored(count))
    own = await addresses(east, *pods(count))
    await until(lambda: named_addresses(east), lambda found: found == own)
    return own


async def tell(east: Place, west: Place) -> None:
    """Go through the story, from a linked and empty source to a source as empty as before."""
    await with_nginx(west)
    await until(lambda: east.condition("Ready"), lambda found: found[0] == "True")
    assert await east.mirrors() == []
    await label(west, "true")
    own = await mirrors_are(east, 3)
    headless = await east.get(SERVICES, "nginx-svc-west")
    assert headless is not None
    assert headless["spec"]["clusterIP"] == "None"
    assert headless["spec"]["ports"][0]["port"] == 80
    for count in (5, 1):
        await scale(west, count)
        own = await mirrors_are(east, count) | own
        assert await addresses(east, "nginx-set-0") == {"nginx-set-0": own["nginx-set-0"]}
    for count in (0, 3):
        await scale(west, count)
        await mirrors_are(east, count)
    await label(west, None)
    await settled(east, [])
    await label(west, "true")
    await mirrors_are(east, 3)
    await west.delete(SERVICES, "nginx-svc")
    await settled(east, [])
    ours = "endpointslice.kubernetes.io/managed-by=isthmus.dev"
    await until(lambda: east.all(SLICES, labels=ours), lambda found: found == [])


async def test_the_tutorial() -> None:
    east, west = await source(), place("west", 1)
    await join(east, west)
    async with controlling(east, [west]):
        await tell(east, west)
